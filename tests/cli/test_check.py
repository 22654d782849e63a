"""``surefoot check``: exit codes and words."""

from surefoot import PFS, Ball, CertifiedPFS, Controller
from surefoot.controller import Fleet


def played(path, player):
    with Controller(player, [0.2, 0.2], journal=path) as controller:
        for _ in range(15):
            x = controller.ask()
            controller.tell(
                cost_gradient=[-1.0, -1.0],
                constraint_value=float(x[0] + x[1]) / 2 - 0.5,
                constraint_subgradient=[0.5, 0.5],
            )
    return path


def test_a_certified_run_ends_with_0_and_a_forged_one_with_1(desk):
    path = played(desk.folder / "j.jsonl", CertifiedPFS(G_g=1.0, domain=Ball(1.5), rho=0.2))
    ended = desk.do("check j.jsonl")
    assert (ended.code, ended.err) == (0, "")
    said, constants, trusted = ended.out.splitlines()
    assert said == "certified: 14 of 15 rounds; the first is the start"
    assert constants.startswith("constants: from round 1: CertifiedPFS(knowledge=CertifiedLength(")
    assert trusted.startswith("taken on trust: what was read ")
    path.write_text(path.read_text().replace('"round":5', '"round":6', 1))
    ended = desk.do("check j.jsonl")
    assert ended.code == 1
    assert "NOT CERTIFIED: round 5: " in ended.out


def test_rounds_that_are_not_judged_are_counted_and_end_with_3(desk):
    played(desk.folder / "j.jsonl", PFS(eta=0.1, rho=0.1, domain=Ball(1.5)))
    ended = desk.do("check j.jsonl")
    assert ended.code == 3
    assert "not checked: round 2: " in ended.out
    assert "and 5 rounds more were not checked" in ended.out
    assert '"is_right": true' in desk.do("check j.jsonl --json").out


def test_a_fleet_is_checked_and_a_long_list_is_short(desk):
    players = {"north": CertifiedPFS(G_g=1.0, domain=Ball(1.5), rho=0.2)}
    for i in range(12):
        players[f"old {i}"] = PFS(eta=0.1, rho=0.1, domain=Ball(1.5))
    starts = {name: [0.2, 0.2] for name in players}
    path, slopes = desk.folder / "fleet.jsonl", [[0.5, 0.5]] * 13
    with Fleet(players, starts, journal=path, on_contradiction="hold") as fleet:
        for _ in range(3):
            g = fleet.ask().sum(axis=1) / 2 - 0.5
            told = {"constraint_value": g, "constraint_subgradient": slopes}
            fleet.tell(cost_gradient=[[-1.0, -1.0]] * 13, **told)
    ended = desk.do("check fleet.jsonl")
    assert (ended.code, ended.err) == (3, "")
    lines = ended.out.splitlines()
    assert lines[0].startswith("certified: 2 of 39 rounds of 13 members; the first of each ")
    assert lines[1].startswith("not checked: member 'old 0', rounds 2 to 4: ")
    assert lines[10] == "not checked: 9 rounds more, of 3 members"
    assert lines[11].startswith("constants: member 'north': from round 1: CertifiedPFS(")
    assert lines[12].startswith("constants: members 'old 0', 'old 1', 'old 2' and 9 more: ")
    path.write_text(path.read_text().replace('"round":2,', '"round":3,', 1))
    ended = desk.do("check fleet.jsonl")
    assert ended.code == 1
    assert "NOT CERTIFIED: a line of " in ended.out


def test_what_is_no_journal_is_one_sentence(desk):
    ended = desk.do("check nothing")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    (desk.folder / "text").write_text("hello")
    ended = desk.do("check text")
    assert ended.code == 1
    assert "is not a journal" in ended.out
