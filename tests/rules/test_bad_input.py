"""Bad input to any algorithm: one sentence with name, rule and value, at the call that got it."""

import re

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball, Constants, Feedback
from surefoot.sets import Box

NAN, INF = float("nan"), float("inf")
X = np.array([0.25, -0.5])
GRAD, G, S = np.array([-3.0, 1.0]), -0.1, np.array([0.0, -2.0])
PLAYERS = {
    "pfs": PFS(eta=0.1, rho=0.05, domain=Ball(1.0)),
    "pfs around a centre": PFS(eta=0.1, rho=0.05, domain=Ball(1.0, centre=[0.25, 0.0])),
    "ogd on a box": OGD(eta=0.1, domain=Box([-1.0, -1.0], [1.0, 1.0])),
    "ogd on a ball": OGD(eta=0.1, domain=Ball(1.0)),
}
# NumPy says so too where it meets inf - inf or 0 inf on the way.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


@pytest.fixture(params=PLAYERS, ids=PLAYERS)
def player(request):
    return PLAYERS[request.param]


@pytest.fixture
def pfs():
    return PLAYERS["pfs"]


def refused_once(player, seen, sentence, x=X):
    """A refused update leaves the state as it was, good for another round."""
    state, before = player.init(x), x.copy()
    with pytest.raises(ValueError, match=sentence) as error:
        player.update(state, seen)
    assert "\n" not in str(error.value)
    assert np.array_equal(state.x, before)
    good = Feedback(GRAD, G, S)
    if x.ndim == 1:
        assert np.array_equal(
            player.update(state, good).x, player.update(player.init(before), good).x
        )


def spoilt(array, i, bad):
    changed = array.copy()
    changed[i] = bad
    return changed


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("i", [0, 1])
def test_a_gradient_that_is_not_finite(player, bad, i):
    seen = Feedback(spoilt(GRAD, i, bad), G, S)
    refused_once(player, seen, rf"to project.* must be finite, got .* at index {i}$")


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_a_constraint_value_that_is_not_finite(pfs, bad):
    refused_once(
        pfs, Feedback(GRAD, bad, S), rf"^constraint_value must be finite, got an excess of {bad}$"
    )


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("i", [0, 1])
def test_a_subgradient_that_is_not_finite(pfs, bad, i):
    sentence = rf"^constraint_subgradient must be finite, got {bad} at index {i}$"
    refused_once(pfs, Feedback(GRAD, G, spoilt(S, i, bad)), sentence)


SHAPES = [np.zeros(3), np.zeros(1), np.zeros((1, 2)), np.float64(1.0)]


@pytest.mark.parametrize("wrong", SHAPES, ids=str)
def test_a_gradient_of_another_shape(player, wrong):
    shape = re.escape(str(np.shape(wrong)))
    sentence = rf"^cost_gradient.shape must be \(2,\), that of the action, got {shape}$"
    refused_once(player, Feedback(wrong, G, S), sentence)


@pytest.mark.parametrize("wrong", SHAPES, ids=str)
def test_a_subgradient_of_another_shape(pfs, wrong):
    shape = re.escape(str(np.shape(wrong)))
    sentence = rf"^constraint_subgradient.shape must be \(2,\), that of the action, got {shape}$"
    refused_once(pfs, Feedback(GRAD, G, wrong), sentence)


def test_feedback_that_is_none(player):
    refused_once(
        player, Feedback(None, G, S), "^cost_gradient must be an array of shape .* got None$"
    )
    refused_once(player, None, "^feedback must be a Feedback, got None$")


@pytest.mark.parametrize("wrong", [np.zeros(2), np.zeros((1, 1))], ids=str)
def test_a_constraint_value_of_another_shape(pfs, wrong):
    shape = re.escape(str(wrong.shape))
    refused_once(
        pfs,
        Feedback(GRAD, wrong, S),
        rf"^constraint_value.shape must be \(\), that of one number, got {shape}$",
    )


def test_a_batch_refuses_values_that_are_no_column(pfs):
    x = np.array([X, X, X])
    seen = Feedback(np.array([GRAD] * 3), np.full(3, G), np.array([S] * 3))
    refused_once(pfs, seen, r"^constraint_value.shape must be \(3, 1\), got \(3,\)$", x)


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("what", ["gradient", "value", "subgradient"])
def test_in_a_batch_a_bad_number_costs_one_run_only(pfs, what, bad):
    grad, g, s = np.array([GRAD] * 3), np.full((3, 1), G), np.array([S] * 3)
    state = pfs.init(np.array([X, X, X]))
    expected = pfs.update(state, Feedback(grad, g, s)).x
    {"gradient": grad, "value": g, "subgradient": s}[what][1, 0] = bad
    after = pfs.update(state, Feedback(grad, g, s))
    assert np.array_equal(after.x[[0, 2]], expected[[0, 2]])
    assert np.isnan(after.x[1]).any()
    again = pfs.update(after, Feedback(np.array([GRAD] * 3), np.full((3, 1), G), np.array([S] * 3)))
    assert np.isnan(again.x[1]).any()
    assert np.isfinite(again.x[[0, 2]]).all()


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_in_a_batch_a_bad_gradient_costs_one_run_only(player, bad):
    grad = np.array([GRAD] * 3)
    grad[1, 0] = bad
    seen = Feedback(grad, np.full((3, 1), G), np.array([S] * 3))
    x = player.update(player.init(np.array([X, X, X])), seen).x
    assert np.isnan(x[1]).any()
    assert np.isfinite(x[[0, 2]]).all()


@pytest.mark.parametrize(
    ("x1", "sentence"),
    [
        ([0.0, NAN], "x1 must be finite, got nan at index 1"),
        ([INF, 0.0], "x1 must be finite, got inf at index 0"),
        ([[0.0, 0.0], [0.0, -INF]], "x1 must be finite, got -inf at index (1, 1)"),
        ([], "x1.shape must be (d,) or (B, d) with no empty axis, got (0,)"),
        (np.zeros((2, 2, 2)), "x1.shape must be (d,) or (B, d) with no empty axis, got (2, 2, 2)"),
        (0.5, "x1 must be an array of shape (d,) or (B, d), got 0.5"),
        (None, "x1 must be an array of shape (d,) or (B, d), got None"),
        ("00", "x1 must be an array of shape (d,) or (B, d), got '00'"),
    ],
)
def test_a_first_action_that_is_none(player, x1, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        player.init(x1)


def test_a_first_action_outside_the_domain(player):
    sentence = (
        rf"^x1 must be in the domain {re.escape(repr(player.domain))}, got array\(\[3., 4.\]\)$"
    )
    with pytest.raises(ValueError, match=sentence):
        player.init([3.0, 4.0])
    with pytest.raises(ValueError, match=sentence):
        player.init([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]])


@pytest.mark.parametrize("name", ["pfs around a centre", "ogd on a box"])
@pytest.mark.parametrize("x1", [[0.5], [0.0, 0.0, 0.0], [[0.5], [0.5]]])
def test_a_first_action_of_another_dimension(name, x1):
    shape = re.escape(str(np.shape(x1)))
    with pytest.raises(
        ValueError, match=rf"^x1.shape must end in 2, as the domain's, got {shape}$"
    ):
        PLAYERS[name].init(x1)


@pytest.mark.parametrize("eta", [0.0, -0.1, NAN, INF, None, "0.1", True, [0.1]])
def test_a_step_size_out_of_range(eta):
    sentence = f"^eta must be a finite number > 0, got {re.escape(repr(eta))}$"
    for make in (
        lambda: PFS(eta=eta, rho=0.0, domain=Ball(1.0)),
        lambda: OGD(eta=eta, domain=Ball(1.0)),
    ):
        with pytest.raises(ValueError, match=sentence):
            make()


@pytest.mark.parametrize("rho", [-0.1, NAN, INF, None, "0.1", True])
def test_a_tightening_out_of_range(rho):
    sentence = f"^rho must be a finite number >= 0, got {re.escape(repr(rho))}$"
    with pytest.raises(ValueError, match=sentence):
        PFS(eta=0.1, rho=rho, domain=Ball(1.0))


def test_one_bad_number_in_a_column_is_named():
    with pytest.raises(ValueError, match=r"^eta must be a finite number > 0, got -0.2$"):
        PFS(eta=np.array([[0.1], [-0.2]]), rho=0.0, domain=Ball(1.0))
    with pytest.raises(ValueError, match=r"^eta.shape must be \(\) or \(B, 1\).*, got \(2,\)$"):
        PFS(eta=np.array([0.1, 0.2]), rho=0.0, domain=Ball(1.0))


@pytest.mark.parametrize("domain", [None, 1.0, Ball, "ball"])
def test_a_domain_without_a_projection(domain):
    sentence = f"^domain must be a set with a projection, got {re.escape(repr(domain))}(: Ball.*)?$"
    for make in (
        lambda: PFS(eta=0.1, rho=0.0, domain=domain),
        lambda: OGD(eta=0.1, domain=domain),
    ):
        with pytest.raises(ValueError, match=sentence):
            make()


FULL = {
    "R": 1.5,
    "G_f": 7.0,
    "G_g": 2.5,
    "sigma": 1.5,
    "epsilon": 0.4,
    "start_slack": 0.3,
    "start_reach": 2.0,
}


@pytest.mark.parametrize("make", [PFS.anytime, PFS.eventually, PFS.nearly, PFS.tuned])
@pytest.mark.parametrize("horizon", [0, -5, 10.0, None])
def test_a_horizon_below_one(make, horizon):
    sentence = f"^horizon must be a whole number of rounds >= 1, got {horizon!r}$"
    with pytest.raises(ValueError, match=sentence):
        make(Constants(**FULL), horizon)


@pytest.mark.parametrize("slack", [0.0, -0.2])
@pytest.mark.parametrize(
    ("make", "name"), [(PFS.anytime, "Corollary 1"), (PFS.tuned, "the tuned Theorem 1")]
)
def test_a_start_that_is_not_strictly_feasible(make, name, slack):
    sentence = (
        f"{name} needs a strictly feasible start: start_slack = -g(x_1) must be > 0, got {slack:g}"
    )
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make(Constants(**FULL | {"start_slack": slack}), 100)


@pytest.mark.parametrize("make", [PFS.anytime, PFS.eventually, PFS.nearly, PFS.tuned])
def test_a_missing_constant(make):
    with pytest.raises(ValueError, match=r" needs .*G_f.*known"):
        make(Constants(**{k: v for k, v in FULL.items() if k != "G_f"}), 100)


def test_tuning_needs_a_start():
    known = Constants(R=1.5, G_f=7.0, G_g=2.5)
    sentence = "the tuned Theorem 1 needs start_slack, which is unknown"
    with pytest.raises(ValueError, match=sentence):
        PFS.tuned(known, 100)
