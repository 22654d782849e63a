"""Magnitudes, number types and aliased buffers that must not lead a rule outside."""

import numpy as np
import pytest
from tests._tuned import tuned_cases

from surefoot import PFS, Ball, Feedback
from surefoot.problems.constraints import Affine
from surefoot.rules import ALGORITHMS, DPP, CertifiedPFS, LeaderFollower, SafetyFilter

WEDGE = Affine(
    np.vstack([np.array([[0.2, 1.0], [0.2, -1.0]]) / np.hypot(0.2, 1.0), [[-1.0, 0.0]]]),
    [0.06, 0.06, 0.5],
)
CERTIFIED = CertifiedPFS(
    G_g=1.0 + 1e-12, domain=Ball(2.0), rho=0.02, decreasing=False, eta=10.0, ratchet=False
)
X = np.array([0.2, 0.4])


def ways_of(size):
    return np.array([[-1.0, 0.0], [-size, 0.0], [0.0, -1.0], [-size, size]])


@pytest.mark.parametrize("size", [1e150, 1e155, 1e200, 1e300])
def test_huge_gradients_never_lead_a_batch_outside(size):
    batch, ways = CERTIFIED.init(np.zeros((3, 2))), ways_of(size)
    for t in range(120):
        assert (WEDGE.value(batch.x) <= 0).all()
        gradients = np.array([ways[t % 4], -ways[t % 4], ways[0]])
        batch = CERTIFIED.update(batch, Feedback(gradients, *WEDGE.query(batch.x)))


def test_huge_gradients_never_lead_one_run_outside_and_are_refused_where_squares_overflow():
    state, ways = CERTIFIED.init(np.zeros(2)), ways_of(1e150)
    for t in range(120):
        seen = WEDGE.query(state.x)
        assert seen[0] <= 0
        with pytest.raises(ValueError, match="cost_gradient must have a finite square"):
            CERTIFIED.step(state, Feedback(1e5 * ways[1], *seen))
        state, info = CERTIFIED.step(state, Feedback(ways[t % 4], *seen))
        assert info.certificate.bound <= 0
        assert state.memory.distance >= 0


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_every_state_owns_its_arrays(kind):
    for algorithm, start in tuned_cases(kind):
        buffer = np.array(start)
        state = algorithm.init(buffer)
        buffer[:] = 9.0
        assert state.x.tolist() == start
        assert not state.x.flags.writeable


def test_the_actions_of_safe_rules_are_read_only():
    told = Feedback(np.array([1.0, -2.0]), -0.1, np.array([0.0, 1.0]))
    leading = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    for player in (PFS(eta=0.1, rho=0.05, domain=Ball(1.0)), CERTIFIED, leading):
        assert not player.update(player.init(X), told).x.flags.writeable


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8, np.int64])
def test_whole_numbers_are_taken_as_float64(dtype):
    player = PFS(eta=0.1, rho=0.05, domain=Ball(300.0))
    small = Feedback(np.array([100, 100]), -0.1, np.array([100, 100]))
    wanted = player.update(player.init(X), Feedback(*(np.float64(v) for v in small[:3])))
    told = small._replace(
        cost_gradient=small.cost_gradient.astype(dtype),
        constraint_subgradient=small.constraint_subgradient.astype(dtype),
    )
    assert player.update(player.init(X), told).x.tolist() == wanted.x.tolist()


@pytest.mark.parametrize(
    ("s", "sentence"),
    [
        (np.array([0.0, 1.0], dtype=np.float32), "dtype must be float64, got float32"),
        (np.array([0.0, 1.0 + 1.0j]), "must be an array of numbers"),
        (np.ma.array([0.0, 1.0], mask=[False, True]), "none of them masked"),
    ],
)
def test_other_subgradients_are_refused(s, sentence):
    player = PFS(eta=0.1, rho=0.05, domain=Ball(1.0))
    with pytest.raises(ValueError, match=f"^constraint_subgradient.*{sentence}"):
        player.update(player.init(X), Feedback(np.ones(2), -0.1, s))
    rows = DPP(V=1.0, alpha=2.0, rows=1, domain=Ball(1.0))
    with pytest.raises(ValueError, match=f"^constraint_subgradient.*{sentence}"):
        rows.update(rows.init(X), Feedback(np.ones(2), np.array([-0.1]), s[None]))


def test_a_gradient_of_lower_precision_is_taken_as_float64():
    player = PFS(eta=0.1, rho=0.05, domain=Ball(1.0))
    told = Feedback(np.array([0.5, -0.25], dtype=np.float32), -0.1, np.array([0.0, 1.0]))
    after = player.update(player.init(X), told)
    assert after.x.dtype == np.float64
    assert (
        after.x.tolist()
        == player.update(
            player.init(X), told._replace(cost_gradient=np.array([0.5, -0.25]))
        ).x.tolist()
    )


@pytest.mark.parametrize("change", [{"G_g": 1e-130}, {"domain": Ball(1e-130)}, {"G_g": 1e200}])
@pytest.mark.parametrize("kind", [CertifiedPFS, SafetyFilter])
def test_scales_whose_squares_are_no_floats_are_refused(kind, change):
    with pytest.raises(ValueError, match="where squares are floats"):
        kind(**{"G_g": 1.0, "domain": Ball(1.0), "rho": 0.1} | change)
