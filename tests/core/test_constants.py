import copy
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import Constants
from surefoot.core.constants import polyak_rate

NAN, INF = float("nan"), float("inf")
FULL = {
    "R": 1.5,
    "G_f": 14.5,
    "G_g": 2.0,
    "sigma": 0.75,
    "epsilon": 0.25,
    "start_slack": 0.5,
    "start_reach": 1.75,
}
POSITIVE = [name for name in FULL if name != "start_slack"]


def refused(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as error:
        call()
    assert str(error.value) == sentence


def test_only_the_radius_must_be_known():
    assert Constants(R=1.0).origins == {"R": "given"}
    assert Constants(R=1.0).sigma is None
    with pytest.raises(TypeError, match="R"):
        Constants()


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize("value", [0.0, -1.0, NAN, INF, "1", True])
def test_a_constant_out_of_range_is_named(name, value):
    refused(
        lambda: Constants(**FULL | {name: value}),
        f"{name} must be a finite number > 0, got {value!r}",
    )


@pytest.mark.parametrize("value", [NAN, INF, -INF, "1"])
def test_a_slack_may_be_negative_but_must_be_finite(value):
    assert Constants(**FULL | {"start_slack": -0.25}).start_slack == -0.25
    assert Constants(**FULL | {"start_slack": 0}).start_slack == 0.0
    refused(
        lambda: Constants(**FULL | {"start_slack": value}),
        f"start_slack must be a finite number, got {value!r}",
    )


def test_sigma_above_the_largest_subgradient_is_refused():
    assert Constants(**FULL | {"sigma": 2.0}).xi == 1.0
    refused(lambda: Constants(**FULL | {"sigma": 2.5}), "sigma must be at most G_g = 2, got 2.5")
    refused(lambda: polyak_rate(1.5, 1.0), "sigma must be > 0 and at most G_g = 1, got 1.5")


def test_sigma_without_its_level_is_refused():
    refused(
        lambda: Constants(R=1.0, sigma=0.5),
        "sigma must come with the level epsilon at which it holds, got sigma = 0.5 without it",
    )


def test_origins_must_be_words_about_constants():
    refused(
        lambda: Constants(R=1.0, origins={"R": "derived", "Z": "given"}),
        "origins must name constants, got ['Z']",
    )
    refused(
        lambda: Constants(R=1.0, origins={"R": "guessed"}),
        "origin must be one of 'given', 'derived', 'slater', 'local', 'conformal', 'estimated', "
        "got 'guessed'",
    )


def test_a_column_is_no_constant():
    with pytest.raises(ValueError, match="G_f must be one number, got array"):
        Constants(R=1.0, G_f=np.array([[1.0], [2.0]]))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.array, int])
def test_constants_are_python_floats(kind):
    # Otherwise an eta made from them would not be one either.
    known = Constants(R=kind(2), G_f=kind(3), start_slack=kind(1))
    assert type(known.R) is type(known.G_f) is type(known.start_slack) is float
    assert (known.R, known.G_f, known.start_slack) == (2.0, 3.0, 1.0)


def test_constants_cannot_be_changed():
    known = Constants(**FULL)
    with pytest.raises(AttributeError):
        known.R = 2.0
    with pytest.raises(TypeError):
        known.origins["R"] = "derived"


def test_each_number_keeps_its_own_origin():
    known = Constants(R=1.0, G_f=2.0)
    more = known.with_origin("derived", G_g=1.0).with_origin("local", sigma=0.5, epsilon=0.25)
    assert dict(more.origins) == {
        "R": "given",
        "G_f": "given",
        "G_g": "derived",
        "sigma": "local",
        "epsilon": "local",
    }
    assert dict(known.origins) == {"R": "given", "G_f": "given"}
    again = more.with_origin("estimated", G_f=3.0, sigma=None)
    assert again.origins["G_f"] == "estimated"
    assert again.sigma is None
    assert "sigma" not in again.origins


def test_shown_in_order_with_origins():
    known = Constants(R=1.5, start_slack=-0.5, G_g=1e-7, origins={"G_g": "derived"})
    assert str(known) == "R = 1.5 (given), G_g = 1e-07 (derived), start_slack = -0.5 (given)"


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_copies_are_equal_and_read_only(again):
    known = Constants(**FULL, origins={"sigma": "local"})
    other = again(known)
    assert other == known
    assert hash(other) == hash(known)
    assert str(other) == str(known)
    with pytest.raises(TypeError):
        other.origins["R"] = "derived"


def test_another_origin_makes_other_constants():
    assert Constants(R=1.0) != Constants(R=1.0, origins={"R": "derived"})
    assert len({Constants(R=1.0), Constants(R=1.0), Constants(R=2.0)}) == 2


def test_missing_constants_are_named_with_who_needs_them():
    known = Constants(R=1.0, G_g=2.0)
    assert known.require("R", "G_g", by="a test") == (1.0, 2.0)
    refused(
        lambda: known.require("R", "G_f", by="Corollary 1"),
        "Corollary 1 needs G_f, which is unknown: give it",
    )
    refused(
        lambda: known.require("G_f", "sigma", by="Corollary 1"),
        "Corollary 1 needs G_f and sigma, which are unknown: give them",
    )
    refused(lambda: known.xi, "xi needs sigma, which is unknown: give it")
    refused(lambda: known.gamma, "gamma needs sigma, which is unknown: give it")
    refused(
        lambda: known.local_sigma(0.1),
        "the local form (*) needs start_slack, which is unknown: give it",
    )


def exact_rate(sigma, G_g):
    """xi to thirty digits, in whole numbers: 1 - sqrt(1 - r) with r a fraction."""
    scale = 10**60
    r = (Fraction(sigma) / Fraction(G_g)) ** 2
    root = Fraction(math.isqrt(int((1 - r) * scale * scale)), scale)
    return 1 - root


@given(st.floats(1e-12, 1.0, allow_subnormal=False), st.sampled_from([1.0, 3.0, 1e-5, 7e8]))
def test_xi_keeps_its_digits_everywhere(share, G_g):
    sigma = min(share * G_g, G_g)
    exact = exact_rate(sigma, G_g)
    # Seven roundings or so of u = 2^-53 each; the root halves those below it.
    assert abs(Fraction(polyak_rate(sigma, G_g)) - exact) <= 10 * Fraction(2) ** -53 * exact


def test_xi_close_to_one_keeps_its_digits():
    sigma = 1.0 - 2.0**-50
    exact = exact_rate(sigma, 1.0)
    assert abs(Fraction(polyak_rate(sigma, 1.0)) - exact) <= 10 * Fraction(2) ** -53 * exact


@pytest.mark.parametrize(("sigma", "xi", "gamma"), [(1.0, 1.0, 0.0), (0.6, 0.2, 0.64)])
def test_xi_and_gamma_by_hand(sigma, xi, gamma):
    known = Constants(R=1.0, G_g=1.0, sigma=sigma, epsilon=0.1)
    assert known.xi == pytest.approx(xi, rel=4e-16)
    assert known.gamma == pytest.approx(gamma, rel=4e-16)
    assert known.xi == pytest.approx(1 - math.sqrt(known.gamma), abs=2e-16)


def test_slater_by_hand():
    # zeta = 0.8, c = 1/4: epsilon = 0.2 and sigma = 0.75 * 0.8 / (2 * 3) = 0.1.
    known = Constants.from_slater(0.8, R=3.0, G_g=2.0, share=0.25)
    assert known.epsilon == pytest.approx(0.2, rel=1e-15)
    assert known.sigma == pytest.approx(0.1, rel=1e-15)
    assert dict(known.origins) == {
        "R": "given",
        "G_g": "given",
        "sigma": "slater",
        "epsilon": "slater",
    }


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 1.5, NAN])
def test_slaters_share_is_strictly_between_0_and_1(share):
    refused(
        lambda: Constants.from_slater(0.5, R=1.0, share=share),
        f"share must be strictly between 0 and 1, got {share!r}",
    )


@pytest.mark.parametrize("slack", [0.0, -0.5, NAN])
def test_slaters_slack_must_be_positive(slack):
    refused(
        lambda: Constants.from_slater(slack, R=1.0),
        f"slack must be a finite number > 0, got {slack!r}",
    )


def test_local_sigma_by_hand():
    known = Constants(R=1.0, start_slack=0.5, start_reach=1.25)
    assert known.local_sigma(0.0) == 0.4
    assert known.local_sigma(0.3) == pytest.approx(0.16, rel=1e-15)


@pytest.mark.parametrize("rho", [-0.1, 0.5, 0.75, NAN])
def test_local_sigma_is_for_tightenings_below_the_slack(rho):
    known = Constants(R=1.0, start_slack=0.5, start_reach=1.25)
    refused(
        lambda: known.local_sigma(rho),
        f"rho must be >= 0 and below start_slack = 0.5, got {rho!r}",
    )


@given(st.floats(0.01, 5.0), st.floats(0.0, 0.99), st.floats(0.1, 5.0), st.floats(0.0, 1.0))
def test_the_local_form_is_never_worse_than_slater(slack, share, R, offset):
    # From the same point, at the same level, with D_0 = R + |x_1| <= 2R.
    slater = Constants.from_slater(slack, R=R, share=max(share, 1e-3))
    local = Constants(R=R, start_slack=slack, start_reach=R * (1 + offset))
    assert local.local_sigma(slater.epsilon) >= slater.sigma * (1 - 1e-12)
