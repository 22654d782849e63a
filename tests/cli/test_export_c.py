import json
import textwrap

import pytest

from surefoot import Ball, Controller, kernel
from surefoot.cli.export_c import export_c
from surefoot.controller import Fleet
from surefoot.rules import CertifiedPFS

# The file of the command's own help, which begins elsewhere.
PLAYER = textwrap.dedent(export_c.__doc__.split("such as\n\n")[1].split("\n\n    A ")[0]).replace(
    "start = [0.0, 0.0]", "start = [0.0, 0.25]"
)


@pytest.fixture
def player(desk):
    path = desk.folder / "player.toml"
    path.write_text(PLAYER)
    return path


def test_a_described_player_goes_to_standard_output(desk, player):
    code, out, err = desk.do("export-c", "player.toml")
    assert (code, err) == (0, "")
    assert out.startswith("/*\n * Certified steps in C99")
    assert "static inline int surefoot_step(const surefoot_rule *rule, double *state" in out
    assert "#define SUREFOOT_START_ACTION {0x0.0p+0, 0x1.0000000000000p-2}" in out
    assert out.endswith("#endif /* SUREFOOT_H */\n")


def test_a_header_has_the_names_of_its_file_and_is_replaced_by_the_next(desk, player):
    for _ in range(2):
        code, out, err = desk.do("export-c", "player.toml", "--out", "my-limit.h")
        assert (code, err) == (0, "")
        assert out.startswith("wrote my-limit.h; compile with -std=c99 -ffp-contract=off")
    text = (desk.folder / "my-limit.h").read_text()
    assert "int my_limit_init(const my_limit_rule *rule, double *state" in text


@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
def test_vectors_are_written_beside_it(desk, player):
    code, _, err = desk.do("export-c", "player.toml", "--out", "gate.h", "--vectors", "bits.h")
    assert (code, err) == (0, "")
    text = (desk.folder / "bits.h").read_text()
    assert "static inline int gate_test_vectors(void)" in text
    assert desk.do("export-c", "player.toml", "--vectors", "bits.h").code == 0


def test_json_describes_the_player_too_and_is_printed_on_request(desk):
    table = {
        "start": [0.0, 0.0, 0.0],
        "player": {
            "class": "SafetyFilter",
            "G_g": 1.0,
            "rho": 0.1,
            "domain": {"class": "Ball", "radius": 1.0},
        },
    }
    (desk.folder / "filter.json").write_text(json.dumps(table))
    found = desk.do("export-c", "filter.json", "--json", "--name", "gate").data
    assert (found["name"], found["dimension"], found["path"]) == ("gate", 3, None)
    assert "static const gate_rule gate_player = {" in found["text"]


def test_a_journal_has_player_and_start_also_while_it_is_written(desk):
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
    with Controller(player, [0.0, 0.125], journal=desk.folder / "plant.journal"):
        code, out, err = desk.do("export-c", "plant.journal")
    assert (code, err) == (0, "")
    assert "{0x0.0p+0, 0x1.0000000000000p-3}" in out
    assert "Player: CertifiedPFS.of(Descent(radius=1.0" in out


def test_a_member_of_a_fleet_is_exported_by_its_name(desk):
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
    other = CertifiedPFS(G_g=2.0, domain=Ball(1.0), rho=0.5)
    starts = {"north": [0.0, 0.125], "south": [0.0, 0.0]}
    with Fleet(player, starts, journal=desk.folder / "fleet.jsonl") as fleet:
        fleet.add("west", other, [0.25, 0.0], "built")
        code, out, err = desk.do("export-c fleet.jsonl --member north")
        assert (code, err) == (0, "")
        assert "{0x0.0p+0, 0x1.0000000000000p-3}" in out
        out = desk.do("export-c fleet.jsonl --member west").out
        assert "{0x1.0000000000000p-2, 0x0.0p+0}" in out
        assert "G_g=2.0" in out
    assert "name one of its members" in desk.do("export-c fleet.jsonl").err
    assert "did you mean 'north'?" in desk.refusal("export-c fleet.jsonl --member nort")
    text = PLAYER.replace("start = [0.0, 0.25]", "members = { north = [0.0, 0.25] }")
    (desk.folder / "fleet.toml").write_text(text)
    assert "0x1.0000000000000p-2" in desk.do("export-c fleet.toml --member north").out
    assert "did you mean 'north'?" in desk.refusal("export-c fleet.toml --member nort")
    assert "with --member NAME" in desk.refusal("export-c fleet.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start = [", "cannot be read"),
        ("start = [0.0]", "must have player"),
        (PLAYER + "\nrho = 1.0", "player must have the fields of LeaderFollower"),
        (PLAYER.replace("start = [0.0, 0.25]", "x1 = 3"), "has 'x1'"),
        (PLAYER.replace("start = [0.0, 0.25]", ""), "must have start"),
        (PLAYER.replace("0.25", "nan"), "start must"),
        (PLAYER.replace("0.25", "1.25"), "x1 must be in the domain"),
        (PLAYER.replace("G_g = 1.0", "G_g = 1.0\ncuts = 1"), "cuts must be"),
    ],
)
def test_a_mistake_is_one_sentence(desk, text, said):
    (desk.folder / "player.toml").write_text(text)
    code, out, err = desk.do("export-c", "player.toml")
    assert code in (1, 2)
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_file_that_is_something_else_is_kept(desk, player):
    before = desk.spec.read_text()
    code, _, err = desk.do("export-c", "player.toml", "--out", "limits.toml")
    assert (code, err) == (
        2,
        "surefoot: 'limits.toml' is not a header of this command and is not overwritten\n",
    )
    assert desk.spec.read_text() == before
    assert desk.do("export-c", "nowhere.toml").code == 1
    assert desk.do("export-c", "player.toml", "--out", "some/where.h").code == 0
    assert (
        desk.do("export-c", "player.toml", "--out", "some").err
        == "surefoot: 'some': is a directory\n"
    )
