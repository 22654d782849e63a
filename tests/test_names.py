"""Functions are named by verbs, and neither they nor locals by a past participle alone."""

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "surefoot"

# Participles that do not end in -ed, and are not the verb itself as "cut", "read" and "run" are.
IRREGULAR = (
    "bent|broken|built|chosen|drawn|found|given|held|kept|known|laid|left|made|met|said|seen|sent|"
    "shown|spent|stood|taken|told|worn|written"
)
VERBS = "embed|exceed|feed|need|proceed|seed|shed|speed"
# With one of these behind it a participle still has no noun: pulled_into, played_instead.
SMALL = "and|at|back|by|down|for|from|in|instead|into|of|off|on|or|out|to|up"
PARTICIPLE = re.compile(rf"_*(?!({VERBS})(_|$))([a-z]{{2,}}ed|{IRREGULAR})(_({SMALL}))*")

# Modules that are named by the class they hold, a wrapper or the pair itself.
BY_CLASS = frozenset({"averaged", "certified", "compiled", "delayed"})

# What is left to be named; this list only becomes shorter.
LEFT: dict[str, set[str]] = {
    "core": set(),
    "sets": set(),
    "knowledge": set(),
    "proposers": set(),
    "guarantees": set(),
    "rules": set(),
    "problems": set(),
    "games": set(),
    "experiments": {"damaged", "related"},
    "cli": set(),
    "adapters": set(),
}

# Words that say nothing of what a local holds, and how many of 1,000 assigned names may be such.
BARE = re.compile(
    "found|known|seen|told|own|far|kept|wanted|given|lost|made|meant|asked|risen|drawn|alone|here|"
    "there|said|such|rest|left|gone|held|put|taken|shown"
)
MOST_BARE = 10
# Packages whose locals are nouns; the list only becomes longer.
NOUNS = ("core", "sets", "knowledge", "proposers", "guarantees", "rules")


def is_participle(name):
    """Return whether a name is a past participle, and small words, alone."""
    return PARTICIPLE.fullmatch(name) is not None


def bad_names(room):
    """Return the participles that name a module, a function or a method of a room."""
    for path in (PACKAGE / room).rglob("*.py"):
        if is_participle(path.stem) and path.stem not in BY_CLASS:
            yield path.stem
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and is_participle(node.name):
                marks = " ".join(map(ast.unparse, node.decorator_list))
                # A property is a noun or an adjective, and a tuning the adjective of a rule.
                if not re.search(r"property|tuning", marks):
                    yield node.name


def assigned_names(tree):
    """Return the names that functions bind.

    Fields of classes are not among them: those of records are names of the kernel and in journals.
    """
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def test_locals_are_nouns():
    for package in NOUNS:
        names = [
            name
            for path in (PACKAGE / package).rglob("*.py")
            for name in assigned_names(ast.parse(path.read_text(encoding="utf-8")))
        ]
        bare = sorted(name for name in names if BARE.fullmatch(name))
        assert 1000 * len(bare) <= MOST_BARE * len(names), (package, bare)


def test_the_bar_counts_locals_and_no_fields():
    text = "class Row:\n    left: int = 0\n    def f(self):\n        found, x = 1, 2\n"
    assert list(assigned_names(ast.parse(text))) == ["found", "x"]


def test_no_function_or_module_is_named_by_a_participle_alone():
    for room, left in LEFT.items():
        assert set(bad_names(room)) <= left, room


def test_the_rule_finds_what_it_is_about():
    assert all(map(is_participle, ["told", "_settled", "pulled_into", "played_instead", "_known"]))
    assert not any(map(is_participle, ["read", "cut_off", "seed", "bounded_diameter", "find"]))
