import pytest

from surefoot import Ball, Controller, kernel
from surefoot.controller import Fleet, Plant
from surefoot.controller.export import plant_header
from surefoot.problems.plant import read_plant
from surefoot.rules import CertifiedPFS

PUMPS = """
surefoot = 1
name = "pumps"
round = "1 min"

[actuator.speed]
unit = "Hz"
range = [25, 50]
start = 50

[limit.pressure]
unit = "bar"
at_least = 2.5
meter_error = 0.02
start_margin = 0.5
steepness = { speed = 0.12 }
"""

MEMBERS = """
[member.north]

[member.south]
limit.pressure.steepness.speed = 0.5
"""


@pytest.fixture
def pumps(desk):
    path = desk.folder / "pumps.toml"
    path.write_text(PUMPS)
    return path


def test_a_plant_goes_to_standard_output_in_its_units(desk, pumps):
    code, out, err = desk.do("export-c", "pumps.toml")
    assert (code, err) == (0, "")
    assert out.startswith("/*\n * Certified steps in C99")
    assert "static inline int surefoot_plant_step(double *state, const double *readings" in out
    assert "Set points: speed [Hz]" in out
    assert "Readings: pressure [bar]" in out
    assert "surefoot_per_unit[] = {0x1.0000000000000p-2};" in out
    assert out.endswith("#endif /* SUREFOOT_H */\n")


def test_a_header_has_the_names_of_its_file_and_is_replaced_by_the_next(desk, pumps):
    for _ in range(2):
        code, out, err = desk.do("export-c", "pumps.toml", "--out", "my-limit.h")
        assert (code, err) == (0, "")
        assert out.startswith("wrote my-limit.h; compile with -std=c99 -ffp-contract=off")
    text = (desk.folder / "my-limit.h").read_text()
    assert "int my_limit_init(const my_limit_rule *rule, double *state" in text


@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
def test_vectors_are_written_beside_it(desk, pumps):
    code, _, err = desk.do("export-c", "pumps.toml", "--out", "gate.h", "--vectors", "bits.h")
    assert (code, err) == (0, "")
    text = (desk.folder / "bits.h").read_text()
    assert "static inline int gate_test_vectors(void)" in text
    assert desk.do("export-c", "pumps.toml", "--vectors", "bits.h").code == 0


def test_json_is_printed_on_request(desk, pumps):
    found = desk.do("export-c", "pumps.toml", "--json", "--name", "gate").data
    assert (found["name"], found["dimension"], found["path"]) == ("gate", 1, None)
    assert "static const gate_rule gate_player = {" in found["text"]


def test_a_journal_has_player_and_start_also_while_it_is_written(desk):
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
    with Controller(player, [0.0, 0.125], journal=desk.folder / "machine.journal"):
        code, out, err = desk.do("export-c", "machine.journal")
    assert (code, err) == (0, "")
    assert "{0x0.0p+0, 0x1.0000000000000p-3}" in out
    assert "Player: CertifiedPFS.of(Descent(radius=1.0" in out
    assert "plant_step" not in out


def test_the_journal_of_a_plant_is_exported_in_its_units(desk, pumps):
    with Plant.of(read_plant(pumps), journal=desk.folder / "pumps.jsonl"):
        from_journal = desk.do("export-c", "pumps.jsonl").out
    assert from_journal == desk.do("export-c", "pumps.toml").out


def test_of_a_plant_that_was_amended_what_counts_is_what_is_played_now(desk, pumps):
    steeper = PUMPS.replace("speed = 0.12", "speed = 0.2")
    assert steeper != PUMPS
    (desk.folder / "steeper.toml").write_text(steeper)
    with Plant.of(read_plant(pumps), journal=desk.folder / "pumps.jsonl") as plant:
        plant.ask()
        plant.amend(read_plant(desk.folder / "steeper.toml"), by="E. Meier", reason="a new log")
    now = desk.do("export-c pumps.jsonl --name p").out
    assert now == desk.do("export-c steeper.toml --name p").out
    assert now != desk.do("export-c pumps.toml --name p").out


@pytest.mark.parametrize("policy", ["recover", "retreat"])
def test_constants_that_a_reading_refuted_are_not_exported(desk, pumps, policy):
    text = PUMPS.replace("speed = 0.12", 'speed = { value = 0.05, origin = "estimated" }')
    text += f'[policy]\non_contradiction = "{policy}"\n'
    (desk.folder / "flat.toml").write_text(text)
    description = read_plant(desk.folder / "flat.toml")
    with Plant.of(description, journal=desk.folder / "pumps.jsonl") as plant:
        for _ in range(3):
            speed = plant.ask()["speed"]
            plant.tell(readings={"pressure": 0.12 * speed - 2.9}, wanted={"speed": 25.0})
        factor = plant.factor
    if policy == "retreat":
        said = desk.refusal("export-c pumps.jsonl")
        assert "must not contradict its own constants, got round 2: pressure = " in said
        return
    assert factor > 2.0
    now = desk.do("export-c pumps.jsonl --name p").out
    assert now.strip() == plant_header(description, name="p", factor=factor).strip()
    assert now != desk.do("export-c flat.toml --name p").out


def test_of_a_controller_that_was_resumed_the_last_player_counts(desk):
    first, second = (CertifiedPFS(G_g=g, domain=Ball(1.0), rho=0.5) for g in (1.0, 2.0))
    with Controller(first, [0.0, 0.125], journal=desk.folder / "machine.jsonl") as controller:
        controller.ask()
        controller.resume(second, reason="a larger constant")
    assert "G_g=2.0" in desk.do("export-c machine.jsonl").out
    with Fleet(first, {"a": [0.0, 0.0], "b": [0.0, 0.0]}, journal=desk.folder / "f.jsonl") as fleet:
        fleet.resume("a larger constant", ["b"], second)
    one, two = (desk.do(f"export-c f.jsonl --member {name}").out for name in "ab")
    assert "G_g=1.0" in one
    assert "G_g=2.0" in two


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


def test_a_member_of_a_plant_file_is_exported_by_its_name(desk, pumps):
    one_journal = PUMPS.replace("[actuator", 'journal = "fleet.jsonl"\n\n[actuator', 1)
    (desk.folder / "fleet.toml").write_text(one_journal + MEMBERS)
    north, south = (desk.do(f"export-c fleet.toml --member {n}").out for n in ("north", "south"))
    assert north == desk.do("export-c", "pumps.toml").out
    assert north != south
    assert "--member must be one of north, south" in desk.refusal("export-c fleet.toml")
    assert "did you mean 'north'?" in desk.refusal("export-c fleet.toml --member nort")
    assert "the file has no members" in desk.refusal("export-c pumps.toml --member north")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("surefoot = [", "pumps.toml"),
        (PUMPS.replace("start = 50", "start = 130"), "must be in its range 25 to 50 Hz, got 130"),
        (PUMPS.replace("start = 50", "start = 50\nramp = 1"), "without a ramp"),
        (PUMPS.replace("start = 50", "start = 50\nstep = 1"), "as the domain"),
    ],
)
def test_a_mistake_is_one_sentence(desk, text, said):
    (desk.folder / "pumps.toml").write_text(text)
    code, out, err = desk.do("export-c", "pumps.toml")
    assert code in (1, 2)
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_file_that_is_something_else_is_kept(desk, pumps):
    before = desk.spec.read_text()
    code, _, err = desk.do("export-c", "pumps.toml", "--out", "limits.toml")
    assert (code, err) == (
        2,
        "surefoot: 'limits.toml' is not a header of this command and is not overwritten\n",
    )
    assert desk.spec.read_text() == before
    assert desk.do("export-c", "nowhere.toml").code in (1, 2)
    assert desk.do("export-c", "pumps.toml", "--out", "some/where.h").code == 0
    assert (
        desk.do("export-c", "pumps.toml", "--out", "some").err
        == "surefoot: 'some': is a directory\n"
    )
