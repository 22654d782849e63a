"""The hash of what an object computes."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from surefoot import PFS, Ball, problems
from surefoot.experiments.comparison.content import content_hash

SIZE = 3.0


def made(code, **names):
    """What a text defines, in a module of its own."""
    space = {"__name__": "someone", "np": np, "dataclass": dataclass, "Any": Any, **names}
    exec(code, space)
    return space["it"]


def differ(first, second):
    return content_hash(first) != content_hash(second)


BASE = "def it(x):\n    return np.sum(x * size) - 1\n"


@pytest.mark.parametrize(
    "code",
    [
        BASE.replace("- 1", "- 2"),
        BASE.replace("np.sum", "np.max"),
        BASE.replace("(x)", "(x, y=1)"),
        BASE.replace("x * size", "x / size"),
        "def it(x):\n    if x is None:\n        return 0\n    return np.sum(x * size) - 1\n",
    ],
)
def test_other_code_is_another_content(code):
    assert differ(made(BASE, size=3.0), made(code, size=3.0))


def test_words_and_layout_are_not():
    told = 'def it(x):\n    """Say it."""\n    # why\n\n    return np.sum(x * size)   - 1\n'
    assert not differ(made(BASE, size=3.0), made(told, size=3.0))


def test_globals_closures_defaults_and_helpers_enter():
    assert differ(made(BASE, size=3.0), made(BASE, size=4.0))

    def scaled(by):
        return lambda x: x * by

    assert not differ(scaled(2.0), scaled(2.0))
    assert differ(scaled(2.0), scaled(3.0))
    assert differ(scaled(np.ones(3)), scaled(np.zeros(3)))
    helper = "def help(x):\n    return x + {}\ndef it(x):\n    return help(x)\n"
    assert differ(made(helper.format(1)), made(helper.format(2)))
    assert not differ(made(helper.format(1)), made(helper.format(1)))
    assert differ(partial(scaled(1.0), 1), partial(scaled(1.0), 2))


RULE = """
@dataclass(frozen=True)
class it:
    eta: float = 0.1
    def init(self, x1):
        return x1
    def update(self, state, feedback):
        return state - self.eta * feedback
"""


def test_a_class_is_its_methods_and_an_instance_its_fields():
    rule, same = made(RULE), made(RULE)
    assert not differ(rule(0.1), same(0.1))
    assert differ(rule(0.1), rule(0.2))
    assert differ(rule(0.1), made(RULE.replace("- self.eta", "+ self.eta"))(0.1))
    assert differ(
        rule(0.1), made(RULE.replace("eta: float", "eta: float", 1) + "    more = 1\n")(0.1)
    )


def test_arrays_by_value_type_and_shape():
    assert differ(np.zeros(4), np.zeros((2, 2)))
    assert differ(np.zeros(4), np.zeros(4, dtype=np.float32))
    assert not differ(np.arange(4.0)[::2], np.array([0.0, 2.0]))
    assert differ([1, 2], (1, 2))
    assert differ({"a": 1}, {"a": 2})
    assert not differ({1, 2, 3}, {3, 2, 1})
    assert differ(1, 1.0)
    assert differ(0.0, -0.0)


def test_problems_of_the_library_by_what_they_hold():
    toy = problems.paper_toy(20, trials=2)
    assert not differ(toy, problems.paper_toy(20, trials=2))
    toy.best(5)  # what is computed from it is no part of it
    assert not differ(toy, problems.paper_toy(20, trials=2))
    assert differ(toy, problems.paper_toy(21, trials=2))
    assert differ(PFS(eta=0.1, rho=0.0, domain=Ball(1.0)), PFS(eta=0.1, rho=0.0, domain=Ball(2.0)))


def test_what_refers_to_itself_ends():
    class Ring:
        def __init__(self):
            self.me = self

    assert len(content_hash(Ring())) == 64


def test_a_content_that_cannot_be_told_is_refused(tmp_path):
    class Holder(NamedTuple):
        it: Any

    with pytest.raises(ValueError, match="content that can be told again, got <"):
        content_hash(Holder(iter([1, 2])))
