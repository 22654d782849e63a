"""Forged journals of fleets: in columns, records, states and first lines; each is one sentence."""

import copy
import hashlib

import pytest

from surefoot.controller.check import check

from ._columns import column, numbers
from ._fleets import HULLS, fleet_of
from ._lines import forge, records
from ._live import FILTERS
from .test_check import JUDGED, played


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A fleet of hulls whose members are all there from the first to the last round."""
    return fleet_of(tmp_path_factory.mktemp("plain"), HULLS)


def blamed(path, whole, edit, sentence):
    """Forge a journal; the checker must name the sentence, and nothing may be raised."""
    path.write_bytes(whole.read_bytes())
    assert check(str(path)).code == 0
    forge(path, edit)
    report = check(str(path))
    assert report.code == 1, report.said
    assert len(report.said) == 1
    assert report.said[0].startswith("NOT CERTIFIED: ")
    assert sentence in report.said[0], report.said[0]


def steps_of(found, has=lambda steps: True):
    """The first steps of two members or more, from the third line on, of a kind."""
    lines = [r for r in found if r["kind"] == "rounds"]
    return next(
        s
        for line in lines[2:]
        for s in line["steps"]
        if s["round"]["shape"][0] == 3 and isinstance(s["certificates"], dict) and has(s)
    )


def nudge(table, name, by=1e-3):
    """Change the last number of a column."""
    entries = numbers(table[name])
    entries.reshape(-1)[-1] += by
    table[name] = column(entries, table[name]["type"])


def in_columns(found):
    """All certificates that are in columns."""
    certificates = (s["certificates"] for r in found for s in r.get("steps", ()))
    return [c for c in certificates if isinstance(c, dict) and "value" in c["columns"]]


def of_certificates(name, part="columns"):
    return lambda steps: name in steps["certificates"][part]


def in_certificate(name, by=1e-3):
    def edit(found):
        nudge(steps_of(found, of_certificates(name))["certificates"]["columns"], name, by)

    return edit


def in_same(name, to):
    def edit(found):
        steps_of(found, of_certificates(name, "same"))["certificates"]["same"][name] = to

    return edit


def in_player(**changes):
    return lambda found: found[0]["players"][0]["player"]["knowledge"].update(changes)


def move_start(found):
    nudge(found[0]["members"], "starts", 1e-9)


NO_ERRORS = {"class": "Errors", "value": 0.5, "slope": 0.0, "drift": 0.0, "evaluation": 0.0}
FORGERIES = {
    "next": lambda found: nudge(steps_of(found), "next", 0.5),
    "a value": lambda found: nudge(steps_of(found), "constraint_value", 0.5),
    "a round": lambda found: nudge(steps_of(found), "round", 1),
    "a bound": in_certificate("bound"),
    "an anchor's value": in_certificate("anchor_value"),
    "a level": lambda found: [nudge(c["columns"], "value", -0.05) for c in in_columns(found)],
    "a share": in_certificate("share", 1.5),
    "an anchor": in_certificate("anchor_round", 99),
    "errors in same": in_same("errors", NO_ERRORS),
    "G_g in same": in_same("G_g", 1.0),
    "G_g of a player": in_player(G_g=1.0),
    "errors of a player": in_player(errors=NO_ERRORS),
    "a start": move_start,
}


@pytest.mark.parametrize("what", FORGERIES)
def test_what_a_certificate_is_recomputed_from_is_found_in_columns(what, plain, tmp_path):
    blamed(tmp_path / "forged", plain, FORGERIES[what], "NOT CERTIFIED: member '")


def test_the_player_of_a_member_is_its_own(tmp_path):
    whole = fleet_of(tmp_path, {"north": HULLS["north"], "rows": FILTERS["rows in a box"]}, 3)
    exchange = members(players=[1, 0])
    blamed(tmp_path / "forged", whole, exchange, "NOT CERTIFIED: member '")


def test_what_is_wrong_names_the_member_and_its_round(plain, tmp_path):
    rounds = []

    def edit(found):
        steps = steps_of(found)
        rounds.append(int(numbers(steps["round"])[-1]) + 1)
        nudge(steps, "next", 5.0)

    where = "round {}: its action is not certified"
    path = tmp_path / "forged"
    blamed(path, plain, edit, "its action is not certified")
    assert where.format(rounds[0]) in check(str(path)).said[0]
    assert check(str(path)).said[0].startswith("NOT CERTIFIED: member 'west', round ")


# Of each certificate here, the numbers that must be what the journal says.
STATED = {
    "rows": (FILTERS["rows in a box"], ("value", "bound", "slope", "length", "beta")),
    "steps": (JUDGED["certified, fixed"], ("slack", "bound", "G_g")),
    "hull": (JUDGED["hull filter"], ("anchor_value", "value", "bound", "G_g")),
    "a log": (JUDGED["a log"], ("bound",)),
    "relative": (JUDGED["relative"], ("value", "bound", "slope", "length", "beta")),
    "an average": (JUDGED["an average"], ("budget", "bound")),
}


@pytest.mark.parametrize("name", STATED)
def test_every_number_that_a_certificate_states_is_compared(name, tmp_path):
    player, fields = STATED[name]
    whole = fleet_of(tmp_path, {"one": player, "two": player}, 6)
    assert check(str(whole)).code == 0
    data = whole.read_bytes()
    for field in fields:
        whole.write_bytes(data)

        def edit(found, field=field):
            for certificate in certificates_of(found):
                if field in certificate.get("columns", {}):
                    return nudge(certificate["columns"], field, -0.01)
                table = certificate.get("same", certificate)
                if field in table:
                    table[field] -= 0.01
                    return None
            raise AssertionError("no such field")

        forge(whole, edit)
        assert check(str(whole)).code == 1, field


def certificates_of(found):
    """Every table of certificates in the later lines."""
    for line in [r for r in found if r["kind"] == "rounds"][3:]:
        for steps in line["steps"]:
            certificates = steps["certificates"]
            yield from certificates if isinstance(certificates, list) else [certificates]
        yield from (r["certificate"] for r in line["records"] if r.get("certificate"))


def put(where, to):
    """Put something at a path of keys: in the first steps, or in a line."""

    def edit(found):
        table = steps_of(found)
        for key in where[:-1]:
            table = table[key]
        table[where[-1]] = to

    return edit


def drop(name):
    return lambda found: steps_of(found).pop(name)


def twice(found):
    line = next(r for r in found if r["kind"] == "rounds" and len(r["steps"]) == 1)
    line["steps"] *= 2


def twice_in_records(found):
    found.insert(1, {"kind": "orders", "time": "now", "records": [hold("west"), hold("west")]})


def hold(name, **changes):
    """An order in the first round."""
    order = {"round": 1, "reason": "a look", "next": [0.2, 0.2], "certificate": None}
    return {"kind": "hold", "member": name, **order, **changes}


def orders(*each):
    line = {"kind": "orders", "time": "now", "records": list(each)}
    return lambda found: found.insert(1, line)


def rounds(**changes):
    line = {"kind": "rounds", "time": "now", "steps": [], "records": [], **changes}
    return lambda found: found.insert(1, line)


def insert(**line):
    return lambda found: found.insert(1, line)


def joins(name="east", **changes):
    def edit(found):
        player = {**found[0]["players"][0], "start": [0.2, 0.2], "reason": "new", "time": "now"}
        found.insert(1, {"kind": "joined", "member": name, "round": 1, **player, **changes})

    return edit


def head(**changes):
    return lambda found: found[0].update(changes)


def members(**changes):
    return lambda found: found[0]["members"].update(changes)


FLOATS = column([0.5, 0.5])
BIG = {"bytes": "AAAA", "type": "float64", "shape": [2**62, 2**62]}
WRONG = {
    # A column.
    "no column": (put(("next",), [0.1]), "next must be a column"),
    "no bytes": (put(("next",), {"type": "float64", "shape": [3, 2]}), "next must be a column"),
    "a key more": (put(("round", "unit"), "m"), "round must be a column"),
    "another type": (put(("next", "type"), "int64"), "next must be of the type float64"),
    "no type": (put(("next", "type"), ["float64"]), "next must be of the type float64"),
    "floats as rounds": (put(("round", "type"), "float64"), "round must be of the type int64"),
    "a shape too long": (put(("round", "shape"), [4]), "round must have the shape"),
    "a shape with an axis more": (put(("next", "shape"), [3, 1, 2]), "next must be a column of"),
    "a shape of truth": (put(("next", "shape"), [3, True]), "next must be a column of"),
    "a huge shape": (put(("next",), BIG), "next must have the shape"),
    "a huge width": (put(("next", "shape", 1), 2**62), "next must have the bytes of"),
    "no width": (put(("next", "shape", 1), 0), "next must be a column of"),
    "a shape below 0": (put(("next", "shape", 1), -2), "next must be a column of"),
    "bytes as numbers": (put(("next", "bytes"), 7), "next must have the bytes of"),
    "fewer bytes": (put(("next", "bytes"), "AAAA"), "next must have the bytes of"),
    "no base64": (lambda found: spoil(found, "!"), "next must be in base64"),
    "base64 in another alphabet": (lambda found: spoil(found, "é"), "next must be in base64"),
    "a byte less": (lambda found: spoil(found, "=", -1), "next must have the bytes of"),
    "padding too early": (lambda found: spoil(found, "=", -2), "next must "),
    # Steps.
    "no steps": (rounds(steps=None), "must be lists"),
    "no record": (rounds(), "must have one"),
    "no next": (drop("next"), "steps must have 'next'"),
    "no certificates": (drop("certificates"), "steps must have 'certificates'"),
    "no members": (drop("members"), "steps must have 'members'"),
    "a field that columns never have": (put(("played",), FLOATS), "must not have a key 'played'"),
    "a field of another shape": (
        put(("proposal",), column([[1.0]] * 3)),
        "proposal must have the shape of next",
    ),
    "a position too far": (put(("members",), [0, 1, 3]), "must be from 0 to 2"),
    "a position below 0": (put(("members",), [-1, 0, 1]), "must be from 0 to 2"),
    "a position twice": (put(("members",), [0, 1, 1]), "must rise"),
    "positions that fall": (put(("members",), [2, 1, 0]), "must rise"),
    "positions in words": (put(("members",), ["north"]), "a list of whole numbers"),
    "a truth value as a position": (put(("members",), [False, True, 2]), "whole numbers"),
    "steps of all as of some": (put(("members",), [0, 1]), "must "),
    "a table as steps": (rounds(steps=[[]]), "steps must be a table"),
    # Certificates.
    "a certificate less": (put(("certificates",), [{}]), "certificates must be"),
    "a number as a certificate": (put(("certificates",), [1, 2, 3]), "certificates must be"),
    "certificates in words": (put(("certificates",), "all"), "certificates must be a list"),
    "no same": (lambda f: steps_of(f)["certificates"].pop("same"), "must be a list, or have"),
    "columns as a list": (put(("certificates", "columns"), []), "must be tables"),
    "a column too short": (
        put(("certificates", "columns", "bound"), column([1.0])),
        "'bound' must have the shape",
    ),
    "many fields": (
        put(("certificates", "same"), {f"field {i}": 0.0 for i in range(64)}),
        "certificates must have at most 64 fields",
    ),
    "a field twice": (put(("certificates", "same", "bound"), 0.0), "must be there once"),
    "a class twice": (put(("certificates", "same", "class"), "Mine"), "must be there once"),
    "a class in columns": (put(("certificates", "columns", "class"), FLOATS), "there once"),
    "a column of texts": (
        put(("certificates", "columns", "bound", "type"), "str"),
        "'bound' must be of the type",
    ),
    "a truth value of 2": (
        put(("certificates", "columns", "odd"), {"bytes": "AgAA", "type": "bool", "shape": [3]}),
        "'odd' must be 0 or 1",
    ),
    # Calls.
    "a member twice in columns": (twice, "must have a member once, got"),
    "a member twice in records": (twice_in_records, "must have a member once, got 'west' twice"),
    "two refusals": (
        rounds(records=[{"kind": "refused", "member": "west", "round": 1, "breaches": []}] * 2),
        "must have a member once",
    ),
    "an absent member": (orders(hold("east")), "a member 'east', which is not there"),
    "a member that is a number": (orders(hold(3)), "a member 3, which is not there"),
    "a member that is a list": (orders(hold([3])), "a member [3], which is not there"),
    "no member": (orders({"kind": "hold", "round": 1}), "must have 'member'"),
    "no round": (orders({"kind": "hold", "member": "west"}), "must have 'round'"),
    "a round of the future": (orders(hold("west", round=7)), "member 'west', round 1: its record"),
    "a round in an order": (orders({"kind": "round", "member": "west", "round": 1}), "where it is"),
    "an order in a round": (rounds(records=[hold("west")]), "where it is"),
    "a time in a record": (orders(hold("west", time="now")), "must not have a key 'time'"),
    "a digest in a record": (orders(hold("west", digest="")), "must not have a key 'digest'"),
    "a key that is unknown": (orders(hold("west", fresh=True)), "must not have a key 'fresh'"),
    "a text as a record": (orders("hold"), "a record must be a table"),
    "no records": (orders(), "of at least one"),
    "a note of an absent member": (insert(kind="note", member="east", text=""), "not there"),
    "an order to nobody": (insert(**{**hold("west"), "member": None}), "not there"),
    "an order of a controller": (insert(kind="hold", round=1, reason=""), "must have 'member'"),
    "a round as of a controller": (insert(kind="round", round=1), "must have 'member'"),
    # What is reserved.
    "a line that amends nobody": (insert(kind="amend", time="now"), "must have 'member'"),
    "a line of the plant": (insert(kind="plant", time="now"), "the kind 'plant' is reserved"),
    "a record that amends nobody": (orders({"kind": "amend"}), "must have 'member'"),
    "a record of the plant": (rounds(records=[{"kind": "plant"}]), "the kind 'plant' is reserved"),
    "a kind that is unknown": (insert(kind="rename"), "of the kind 'rename' must not be"),
    "a kind that is a list": (insert(kind=["hold"]), "of the kind ['hold'] must not be"),
    "a first line in the middle": (
        lambda found: found.insert(1, copy.deepcopy(found[0])),
        "of the kind 'journal' must not be where it is",
    ),
    # Members.
    "a member joins twice": (joins("west"), "a member 'west' joined that is there"),
    "a member without a name": (joins(None), "a member None joined"),
    "a member of a later round": (joins(round=2), "must begin in its round 1, got 2"),
    "a new member without a start": (
        insert(kind="joined", member="east", round=1, player=None),
        "a new member must have 'guarantee'",
    ),
    "a member leaves in another round": (
        insert(kind="left", member="west", round=2),
        "member 'west', round 1: its record is missing, got that of 2",
    ),
    "an absent member leaves": (insert(kind="left", member="east", round=1), "not there"),
    "a member leaves in no round": (insert(kind="left", member="west"), "must have 'round'"),
    "a member that has left": (
        lambda found: found.insert(1, {"kind": "left", "member": "west", "round": 1}),
        "line 3 of ",
    ),
    # The first line.
    "a player too": (head(player={}), "must not have a key 'player'"),
    "a loop too": (head(loop={}), "must not have a key 'loop'"),
    "no players": (lambda found: found[0].pop("players"), "must have 'players'"),
    "no state": (lambda found: found[0].pop("state"), "must have 'state'"),
    "a state": (head(state={"rows": [], "loops": {}}), "must have no state"),
    "players in words": (head(players="all"), "must be a list"),
    "members in words": (head(members="all"), "must be a table"),
    "a player without policies": (
        lambda found: found[0]["players"][0].pop("on_missing"),
        "a player of a fleet must have 'on_missing'",
    ),
    "a player with a start": (
        lambda found: found[0]["players"][0].update(start=[0.2, 0.2]),
        "a player of a fleet must not have a key 'start'",
    ),
    "a player of nobody": (
        lambda found: found[0]["players"].append(found[0]["players"][0]),
        "each member must have one of the players, and each player a member",
    ),
    "a player that there is not": (members(players=[0, 1, 3]), "each member must have one of"),
    "a player less": (members(players=[0, 1]), "each member must have one of the players"),
    "a player in words": (members(players=["a", "b", "c"]), "must be whole numbers"),
    "the same name": (members(names=["north", "north", "west"]), "must be there once"),
    "a name less": (members(names=["north", "west"]), "each member must have one of"),
    "a name that is a number": (members(names=["north", "south", 3]), "a list of texts"),
    "names in words": (members(names="all"), "a list of texts"),
    "no starts": (lambda found: found[0]["members"].pop("starts"), "must have 'starts'"),
    "starts in plain numbers": (members(starts=[[0.2, 0.2]] * 3), "starts must be a column of 3"),
    "a start less": (members(starts=column([[0.2, 0.2]] * 2)), "starts must have the shape"),
    "starts of another dimension": (members(starts=column([[0.2]] * 3)), "a list of 1 numbers"),
}


def spoil(found, sign, at=4):
    """Put another sign into base64."""
    text = steps_of(found)["next"]["bytes"]
    at %= len(text)
    steps_of(found)["next"]["bytes"] = text[:at] + sign + text[at + 1 :]


@pytest.mark.parametrize("what", WRONG)
def test_every_line_that_is_wrong_is_one_sentence(what, plain, tmp_path):
    blamed(tmp_path / "forged", plain, *WRONG[what])


@pytest.mark.parametrize("kind", ["plant"])
def test_reserved_kinds_are_refused_of_a_controller_too(kind, tmp_path):
    whole = played(tmp_path / "whole", HULLS["north"], 3)
    sentence = f"the kind '{kind}' is reserved: no line of format 2 may have it"
    blamed(tmp_path / "forged", whole, insert(kind=kind), sentence)


def test_what_is_wrong_with_a_line_names_the_line(plain, tmp_path):
    path = tmp_path / "forged"
    blamed(path, plain, orders(hold("east")), f"NOT CERTIFIED: line 2 of '{path}': a record")


def test_a_sentence_is_one_line_whatever_a_name_has_in_it(plain, tmp_path):
    strange = "\n\ud800\u202e"

    def edit(found):
        found[0]["members"]["names"][2] = strange
        found[0]["players"][0]["player"]["class"] = strange

    path = tmp_path / "fleet"
    path.write_bytes(plain.read_bytes())
    forge(path, edit)
    words = str(check(str(path)))
    assert len(words.splitlines()) == len(words.split("\n"))
    words.encode()
    assert "\\n\\ud800\\u202e" in words


def test_a_player_that_is_nested_too_deep_is_no_traceback(plain, tmp_path):
    deep = {}
    for _ in range(480):
        deep = {"class": "PFS", "inner": deep}

    path = tmp_path / "fleet"
    path.write_bytes(plain.read_bytes())
    forge(path, lambda found: found[0]["players"][0].update(player=deep))
    assert "nested too deep to be shown" in "".join(check(str(path)).constants)


# --- states --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A fleet with snapshots and several files, of which the second begins with rows and loops."""
    folder = tmp_path_factory.mktemp("stored")
    path = fleet_of(folder, HULLS, rotate=14)
    later = records(path.with_name("fleet.jsonl.2"))[0]["state"]
    assert later["rows"]
    assert later["loops"]
    return path


def copied(stored, folder):
    """The files of a journal, in another folder."""
    for file in stored.parent.glob("fleet.jsonl*"):
        (folder / file.name).write_bytes(file.read_bytes())
    return folder / stored.name


def state_of(found):
    """The first state of a file with rows."""
    states = (r.get("state") for r in found)
    return next(state for state in states if state and state["rows"])


def loops_of(found):
    states = (r.get("state") for r in found)
    return next(state["loops"] for state in states if state and state["loops"])


def in_rows(name, by=1e-9):
    return lambda found: nudge(state_of(found)["rows"][0], name, by)


def move_block(found):
    rows = state_of(found)["rows"][0]
    blocks = numbers(rows["blocks"])
    blocks[0, 1] += 1e-9  # behind the one number of the first part
    rows["blocks"] = column(blocks)


def move_loop(found):
    loop = next(iter(loops_of(found).values()))
    loop["state"]["x"] = [0.9, 0.0]


def halt_loop(found):
    next(iter(loops_of(found).values()))["halt"] = {"class": "Halt"}


def both(found):
    state = state_of(found)
    state["loops"]["north"] = state["loops"]["south"] = state["loops"]["west"] = {}


def rows_put(name, to):
    return lambda found: state_of(found)["rows"][0].update({name: to})


STATES = {
    "an action in a block": (move_block, "has another action than the one at hand"),
    "a round in a row": (in_rows("rounds", 1), "a stored state is that of round"),
    "an action in a loop": (move_loop, "has another action than the one at hand"),
    "a halt in a loop": (halt_loop, "is halted and the player is not"),
    "a member in rows and loops": (both, "must have a member once, got"),
    "an absent member": (
        lambda found: loops_of(found).update(east={}),
        "a member 'east', which is not there",
    ),
    "a state that is null": (lambda f: f[0].update(state=None), "is that of round 1"),
    "no loops": (lambda f: state_of(f).pop("loops"), "must have 'loops'"),
    "loops as a list": (lambda f: state_of(f).update(loops=[]), "its loops a table"),
    "a key more": (lambda f: state_of(f).update(round=3), "must not have a key 'round'"),
    "rows as a table": (lambda f: state_of(f).update(rows={}), "the rows of a state must be"),
    "no action in the layout": (rows_put("layout", [["y", [7]]]), "one must be the action 'x'"),
    "a layout too short": (rows_put("layout", [["x", [2]]]), "must fill a block"),
    "a layout too long": (rows_put("layout", [["x", [2]], ["y", [2]] * 2]), "a name and a shape"),
    "a part twice": (rows_put("layout", [["x", [2]], ["x", [2]]]), "must be there once, got 'x'"),
    "a part of a huge shape": (rows_put("layout", [["x", [2**62]]]), "must be whole numbers"),
    "a part of many axes": (rows_put("layout", [["x", [1] * 99]]), "must have at most 8 axes"),
    "a layout in words": (rows_put("layout", "x"), "must be a list"),
    "a layout of an action too short": (
        rows_put("layout", [["x", [1]], ["y", [6]]]),
        "the action of a stored state must be a list of 2 numbers",
    ),
    "values too short": (rows_put("values", column([])), "values must have the shape"),
    "anchors too short": (rows_put("anchors", {}), "the anchors of rows must have 'x'"),
    "anchors in words": (
        lambda f: state_of(f)["rows"][0]["anchors"].update(value="none"),
        "the value of anchors must be a column",
    ),
    "certificates too short": (rows_put("certificates", []), "certificates must be"),
    "no blocks": (rows_put("blocks", None), "blocks must be a column of"),
    "a position twice": (rows_put("members", [0, 0]), "must rise"),
}


@pytest.mark.parametrize("what", STATES)
def test_every_stored_state_that_is_wrong_is_one_sentence(what, stored, tmp_path):
    """In the first line of the second file; the files behind it are not read any more."""
    edit, sentence = STATES[what]
    path = copied(stored, tmp_path)
    assert check(str(path)).code == 0
    forge(path.with_name("fleet.jsonl.2"), edit)
    report = check(str(path))
    assert report.code == 1
    assert sentence in report.said[0], report.said[0]


LATER = {
    "a member less": (
        lambda head: head["members"].update(names=["north", "south"]),
        "a later file has other members than are there",
    ),
    "members in another order": (
        lambda head: head["members"].update(names=["south", "north", "west"]),
        "a later file has other members than are there",
    ),
    "a state of some": (
        lambda head: head["state"].update(loops={}),
        "the state of a later file lacks the member",
    ),
    "another player": (
        lambda head: head["players"][0]["player"]["knowledge"].update(G_g=0.5),
        "another player must come with a fresh start, by a resume",
    ),
    "another start": (
        lambda head: nudge(head["members"], "starts"),
        "another player must come with a fresh start, by a resume",
    ),
    "a player that has gone": (
        lambda head: head["players"].append(head["players"][0]),
        "each player a member",
    ),
    "a file of a controller": (
        lambda head: head.update(loop={}),
        "a line of the kind 'journal' must not have a key 'loop'",
    ),
}


@pytest.mark.parametrize("what", LATER)
def test_a_later_file_has_all_members_and_their_players(what, stored, tmp_path):
    edit, sentence = LATER[what]
    path = copied(stored, tmp_path)
    forge(path.with_name("fleet.jsonl.2"), lambda found: edit(found[0]))
    report = check(str(path))
    assert report.code == 1
    assert sentence in report.said[0], report.said[0]


@pytest.mark.parametrize("kind", ["snapshot", "engine", "rebuilt"])
def test_a_state_between_two_rounds_is_compared(kind, plain, tmp_path):
    loop = {"round": 1, "state": {"x": [0.2, 0.2]}, "halt": None}
    state = {"rows": [], "loops": {"south": loop}}
    path = tmp_path / "fleet"
    path.write_bytes(plain.read_bytes())
    forge(path, insert(kind=kind, state=state))
    assert check(str(path)).code == 0
    loop["state"]["x"] = [0.2, 0.3]
    sentence = "member 'south', round 1: a stored state has another action than the one at hand"
    blamed(path, plain, insert(kind=kind, state=state), sentence)
    blamed(path, plain, insert(kind=kind), "must have 'state'")


# --- files ---------------------------------------------------------------------------------------


def test_the_files_of_a_run_follow_each_other(stored, tmp_path):
    path = copied(stored, tmp_path)
    later = path.with_name("fleet.jsonl.2")
    assert "continues another file: check the first of the run" in check(str(later)).said[0]
    forge(later, lambda found: found[0].update(part=3))
    assert "a file must be part 2, got 3" in check(str(path)).said[0]
    forge(path, lambda found: found.append({"kind": "note", "text": "more"}))
    assert "goes on after the line that it ends with" in check(str(path)).said[0]


def test_a_number_of_json_is_finite(plain, tmp_path):
    path = tmp_path / "forged"
    body = plain.read_bytes().splitlines()[0].partition(b',"digest":')[0]
    body = body.replace(b'"durable_every":1', b'"durable_every":NaN')
    digest = hashlib.sha256(body).hexdigest()
    path.write_bytes(body + f',"digest":"{digest}"}}\n'.encode())
    assert check(str(path)).said == ["NOT CERTIFIED: a number must be finite, got NaN"]
