"""``surefoot check``: exit codes and words."""

from surefoot import PFS, Ball, CertifiedPFS, Controller


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


def test_what_is_no_journal_is_one_sentence(desk):
    ended = desk.do("check nothing")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    (desk.folder / "text").write_text("hello")
    ended = desk.do("check text")
    assert ended.code == 1
    assert "is not a journal" in ended.out
