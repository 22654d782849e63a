import math
import re

import numpy as np
import pytest

from surefoot import Constants
from surefoot.theory import Zinkevich

KNOWN = Constants(R=1.5, G_f=7.0)


@pytest.mark.parametrize("T", [1, 16, 20_000])
def test_the_bound_is_its_printed_formula(T):
    found = Zinkevich(KNOWN, T, diameter=1.25)
    assert found.eta == pytest.approx(1.25 / (7.0 * math.sqrt(T)), rel=1e-15)
    assert found.regret_bound(T) == pytest.approx(1.25 * 7.0 * math.sqrt(T), rel=1e-14)
    t = np.array([1, 3])
    assert found.regret_bound(t) == pytest.approx(
        1.25**2 / (2 * found.eta) + found.eta / 2 * 49 * t
    )


def test_every_action_is_promised_to_be_feasible():
    found = Zinkevich(KNOWN, 10, diameter=1.25)
    assert found.kind == "every round"
    assert found.violation_bound(np.arange(1, 4)).tolist() == [0.0, 0.0, 0.0]
    assert {p.quantity: p.limit for p in found.premises} == {"cost gradient": 7.0, "horizon": 10}
    assert str(found) == "Zinkevich 2003, fixed step for T = 10 (every round)"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((KNOWN, 0, 1.0), "horizon must be a whole number of rounds >= 1, got 0"),
        ((KNOWN, 10, 0.0), "diameter must be a finite number > 0, got 0.0"),
        ((KNOWN, 10, math.inf), "diameter must be a finite number > 0, got inf"),
        (
            (Constants(R=1.0), 10, 1.0),
            "Zinkevich 2003, fixed step needs G_f, which is not known: give it",
        ),
    ],
)
def test_bad_arguments_are_named(arguments, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Zinkevich(*arguments)
