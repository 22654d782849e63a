"""Honest journals of controllers as one journal of a fleet, in columns and in records.

A small writer of format 2 for tests of the checker, which shares no line with the library's.
"""

import base64
import copy

import numpy as np

from surefoot.controller.journal import seal

from ._lines import records

FIELDS = ("cost_gradient", "proposal", "constraint_value", "constraint_subgradient")
PLAYER = ("player", "guarantee", "on_contradiction", "on_missing")
USUAL = {"kind", "round", "time", "next", "certificate", *FIELDS}
TYPES = {float: "float64", int: "int64", bool: "bool"}


def column(entries, kind="float64"):
    """Numbers as a column."""
    array = np.array(entries, dtype=np.dtype(kind).newbyteorder("<"))
    packed = base64.b64encode(array.tobytes()).decode()
    return {"bytes": packed, "type": kind, "shape": list(array.shape)}


def numbers(table):
    """The numbers of a column, to be changed; :func:`column` writes them again."""
    kind = np.dtype(table["type"]).newbyteorder("<")
    array = np.frombuffer(base64.b64decode(table["bytes"]), kind)
    return array.reshape(table["shape"]).copy()


def run_of(path):
    """The records of a controller's journal, of all its files; later first lines as snapshots."""
    part, found = 1, []
    while (file := path if part == 1 else path.with_name(f"{path.name}.{part}")).exists():
        for record in records(file):
            del record["digest"]
            if record["kind"] in ("torn", "continued", "closed"):
                continue
            if part > 1 and record["kind"] == "journal":
                record = {"kind": "snapshot", "round": record["rounds"] + 1, "loop": record["loop"]}
            found.append(record)
        part += 1
    context = found[0]["loop"]["state"].get("memory", {}).get("context")
    if context is not None:  # which a member of a fleet is told after its first line
        told = {"context": context, "next": found[0]["start"], "certificate": None}
        found.insert(1, {"kind": "announce", "round": 1, "time": "now", **told})
    return found


def certificates(tables, rng):
    """Certificates in columns where they can be, and as a list at random."""
    names = {tuple(table) for table in tables}
    if len(names) != 1 or len({table["class"] for table in tables}) != 1 or rng.random() < 0.2:
        return tables
    columns, same = {}, {}
    for name in tables[0]:
        entries = [table[name] for table in tables]
        plain = [float(e["number"]) if is_infinite(e) else e for e in entries]
        if all(entry == entries[0] and type(entry) is type(entries[0]) for entry in entries):
            same[name] = entries[0]
        elif len({type(e) for e in plain}) == 1 and type(plain[0]) in TYPES:
            columns[name] = column(plain, TYPES[type(plain[0])])
        else:
            return tables
    return {"class": same.pop("class"), "columns": columns, "same": same}


def is_infinite(entry):
    return isinstance(entry, dict) and entry.get("number") in ("inf", "-inf", "nan")


class Member:
    """A member of the fleet, as far as the writer needs it.

    Args:
        name: in the fleet.
        run: its records as a controller.
    """

    def __init__(self, name, run):
        self.name, self.left = name, run[1:]
        self.player = {part: run[0][part] for part in PLAYER}
        self.start = self.x = run[0]["start"]
        self.round, self.is_halted = 1, False

    def follow(self, record):
        """Take a record that was written."""
        kind = record["kind"]
        why = record.get("why") or {}
        if kind == "round":
            self.round += 1
            causes = record.get("breaches") or why.get("causes")
            is_ordered = why.get("policy") in ("hold", "retreat") and "missing" not in record
            self.is_halted = self.is_halted or bool(is_ordered and causes)
        if kind in ("hold", "retreat", "resume"):
            self.is_halted = kind != "resume"
        if kind == "resume" and record.get("fresh"):
            self.start = record["start"]
        self.player = {part: record.get(part, self.player[part]) for part in PLAYER}
        self.x = record.get("next", self.x)

    @property
    def loop(self):
        """Its state, as far as a checker compares it."""
        halt = {"class": "Halt"} if self.is_halted else None
        return {"round": self.round, "state": {"x": self.x}, "halt": halt}


class Writer:
    """Writes a fleet's journal from the runs of controllers.

    Args:
        path: of the journal.
        rng: of all that is random.
        rotate: after how many lines another file begins; None for never.
        in_columns: whether steps are in columns.
    """

    def __init__(self, path, rng, rotate=None, in_columns=True):
        self.path, self.rng, self.rotate, self.in_columns = path, rng, rotate, in_columns
        self.members, self.digest, self.part, self.lines = [], "", 1, []
        self.kinds = set()

    def write(self, runs, first, leaving=0.0):
        """Write all runs; the first members are there at once, and the others join."""
        waiting = [Member(name, run) for name, run in runs.items()]
        self.members, waiting = waiting[:first], waiting[first:]
        self.put(self.head() | {"state": None})
        while waiting or any(member.left for member in self.members):
            if waiting and (self.rng.random() < 0.3 or not any(m.left for m in self.members)):
                self.join(waiting.pop(0))
            self.leave(leaving)
            drawn = [m for m in self.members if m.left and self.rng.random() < 0.7]
            self.call([m for m in drawn if m.left[0]["kind"] == "round"])
            for m in drawn:
                if m.left and m.left[0]["kind"] != "round":
                    self.event(m)
            if self.rotate and len(self.lines) >= self.rotate:
                self.turn()
        self.put({"kind": "closed", "time": "now"})
        self.flush()
        return self.path

    def head(self):
        players = []
        for member in self.members:
            if member.player not in players:
                players.append(member.player)
        starts = [member.start for member in self.members]
        members = {
            "names": [member.name for member in self.members],
            "players": [players.index(member.player) for member in self.members],
            "starts": column(starts),
        }
        writing = {"surefoot": "0", "created": "now", "engine": "python", "rotate": None}
        more = {"durable_every": 1, "players": players, "members": members}
        return {"kind": "journal", "format": 2, **writing, **more}

    def put(self, record):
        record = copy.deepcopy(record)
        line, self.digest = seal(self.digest, record)
        self.lines.append(line)
        self.kinds.add(record["kind"])

    def flush(self):
        file = self.path if self.part == 1 else self.path.with_name(f"{self.path.name}.{self.part}")
        file.write_bytes(b"".join(self.lines))

    def turn(self):
        """Go on in another file, with the state of all."""
        self.put({"kind": "continued", "time": "now", "file": "the next"})
        self.flush()
        self.lines, self.part = [], self.part + 1
        more = {"rounds": 0, "state": self.state(self.members)}
        self.put(self.head() | more | {"part": self.part, "after": self.digest})

    def state(self, members):
        """The state of some members: usual ones in rows, the others as loops."""
        usual = [m for m in members if not m.is_halted and self.rng.random() < 0.7]
        rows = [self.rows(part) for part in (usual[::2], usual[1::2]) if part]
        others = [m for m in members if m not in usual]
        return {"rows": rows, "loops": {m.name: m.loop for m in others}}

    def rows(self, members):
        k, d = len(members), len(members[0].x)
        anchors = {"x": column(np.zeros((k, d))), "value": column([np.nan] * k)}
        return {
            "members": [self.members.index(m) for m in members],
            "rounds": column([m.round for m in members], "int64"),
            "layout": [["memory.round", []], ["x", [d]], ["memory.seen", [2, d]]],
            "blocks": column([[1.0, *m.x, *[0.5] * (2 * d)] for m in members]),
            "values": column([np.nan] * k),
            "anchors": anchors | {"round": column([1.0] * k)},
            "certificates": None,
        }

    def join(self, member):
        self.members.append(member)
        more = {"reason": "a new one", "start": member.start, **member.player}
        self.put({"kind": "joined", "member": member.name, "round": 1, "time": "now", **more})

    def leave(self, chance):
        for member in [m for m in self.members if not m.left and self.rng.random() < chance]:
            more = {"round": member.round, "time": "now", "reason": "done"}
            self.put({"kind": "left", "member": member.name, **more})
            self.members.remove(member)

    def call(self, members):
        """Write one call for several members."""
        steps, others = {}, []
        for member in members:
            record = member.left.pop(0)
            if self.in_columns and set(record) <= USUAL and self.is_flat(record):
                key = tuple(sorted(record))
                steps.setdefault(key, []).append((member, record))
            else:
                others.append((member, record))
        if not members:
            return
        records = [record_of(member, record) for member, record in others]
        line = {"steps": [self.steps(part) for part in steps.values()], "records": records}
        self.put({"kind": "rounds", "time": "now", **line})
        for member, record in (*others, *(pair for part in steps.values() for pair in part)):
            member.follow(record)

    def is_flat(self, record):
        """Whether the numbers of a round are one row of columns."""
        value, slope = record.get("constraint_value"), record.get("constraint_subgradient")
        is_one = slope is None or not isinstance(slope[0], list)
        return isinstance(value, float) and is_one and record["certificate"] is not None

    def steps(self, pairs):
        pairs = sorted(pairs, key=lambda pair: self.members.index(pair[0]))
        members, found = zip(*pairs, strict=True)
        places = [self.members.index(m) for m in members]
        is_all = len(places) == len(self.members)
        fields = {n: column([r[n] for r in found]) for n in (*FIELDS, "next") if n in found[0]}
        return {
            "members": None if is_all and self.rng.random() < 0.5 else places,
            "round": column([r["round"] for r in found], "int64"),
            **fields,
            "certificates": certificates([r["certificate"] for r in found], self.rng),
        }

    def event(self, member):
        """Write what is no round of a member."""
        record = member.left.pop(0)
        kind = record["kind"]
        if "loop" in record and kind != "resume":
            assert (record["loop"]["halt"] is not None) == member.is_halted
            state = self.state([member])
            if member.is_halted or self.rng.random() < 0.3:
                state = {"rows": [], "loops": {member.name: record["loop"]}}
            more = {} if kind == "snapshot" else {"time": "now", "sentence": "words"}
            more |= {"engine": "C"} if kind == "engine" else {}
            self.put({"kind": kind, **more, "state": state})
            return
        if kind in ("refused", "note") or self.rng.random() < 0.5:
            self.put(record_of(member, record) | {"time": "now"})
        else:
            self.put({"kind": "orders", "time": "now", "records": [record_of(member, record)]})
        member.follow(record)


def record_of(member, record):
    """A record of one member in a line of several."""
    parts = {n: part for n, part in record.items() if n not in ("kind", "time")}
    return {"kind": record["kind"], "member": member.name, **parts}
