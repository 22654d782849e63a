"""The transformation for Optax: jitted, around a chain, with pytrees, in both precisions."""

from dataclasses import replace

import numpy as np
import pytest

from surefoot import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import PremiseWarning
from surefoot.knowledge import Curvature, CurvatureRows, Errors, LipschitzHull
from surefoot.rules import RegionFilter, SafetyFilter

optax = pytest.importorskip("optax")
jax = pytest.importorskip("jax")
jnp = jax.numpy
pytestmark = pytest.mark.hosts

from surefoot.adapters.optax import _find_response, keep_feasible  # noqa: E402

# g = |x|^2 - 1 on the unit ball; evaluated in float32 it is off by this much at most.
ERROR = 1e-6
COARSE = Errors(evaluation=ERROR)
FILTERS = {
    "safety": SafetyFilter.default(
        Constants(R=1.0, G_g=2.0, start_slack=1.0, evaluation_error=ERROR)
    ),
    "hull": RegionFilter(knowledge=LipschitzHull(G_g=2.0, reach=1.0, errors=COARSE)),
    "curvature": RegionFilter(knowledge=Curvature(beta=2.0, reach=1.0, errors=COARSE)),
}


@pytest.fixture(params=["float32", "float64"])
def precision(request):
    before = jax.config.jax_enable_x64  # a callback may run in a thread with no context of its own
    jax.config.update("jax_enable_x64", request.param == "float64")
    yield request.param
    jax.config.update("jax_enable_x64", before)


def start():
    return {"w": jnp.zeros((2, 2)), "b": (jnp.zeros(1),)}


def length(p):
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(p)) - 1.0


def loss(p, pull):
    return sum(jnp.sum((leaf - pull) ** 2) for leaf in jax.tree.leaves(p))


def exact(p):
    return sum(float((np.asarray(leaf, np.float64) ** 2).sum()) for leaf in jax.tree.leaves(p)) - 1


def step_of(tx):
    @jax.jit
    def step(p, state, pull):
        g, s = jax.value_and_grad(length)(p)
        grads = jax.grad(loss)(p, pull)
        updates, state = tx.update(grads, state, p, constraint_value=g, constraint_grad=s)
        return optax.apply_updates(p, updates), state

    return step


@pytest.mark.parametrize("name", FILTERS)
def test_the_constraint_holds_after_every_jitted_step(name, precision):
    tx = keep_feasible(optax.chain(optax.clip_by_global_norm(50.0), optax.adam(0.2)), FILTERS[name])
    p, step, deepest = start(), step_of(tx), -1.0
    state = tx.init(p)
    for t in range(80):
        p, state = step(p, state, 3.0 if t < 40 else -3.0)
        g = exact(p)
        assert g <= 0
        deepest = max(deepest, g)
    assert deepest > -0.5  # it went where it was pulled
    assert jax.tree.leaves(p)[0].dtype == precision


def test_both_precisions_take_the_same_way():
    found = {}
    for wide in (False, True):
        with jax.enable_x64(wide):
            tx = keep_feasible(optax.sgd(0.05), FILTERS["safety"])
            p, step = start(), step_of(tx)
            state = tx.init(p)
            for _ in range(20):
                p, state = step(p, state, 1.0)
            found[wide] = np.asarray(p["w"], np.float64)
    np.testing.assert_allclose(found[False], found[True], atol=1e-4)


def test_accumulated_gradients_move_in_every_third_step_only(precision):
    inner = keep_feasible(optax.adam(0.2), FILTERS["safety"])
    tx = optax.MultiSteps(inner, every_k_schedule=3)
    p, step = start(), step_of(tx)
    state = tx.init(p)
    for t in range(1, 31):
        before = p
        p, state = step(p, state, 3.0)
        assert exact(p) <= 0
        moved = any((a != b).any() for a, b in zip(*map(jax.tree.leaves, (p, before)), strict=True))
        assert bool(moved) == (t % 3 == 0)
    assert exact(p) > -0.9


def test_a_whole_run_may_be_one_scan(precision):
    tx = keep_feasible(optax.sgd(0.1), FILTERS["hull"])
    p, step = start(), step_of(tx)

    def body(carry, _):
        p, state = step(*carry, 2.0)
        return (p, state), length(p)

    _, values = jax.lax.scan(body, (p, tx.init(p)), None, length=50)
    assert float(values.max()) <= ERROR
    assert float(values[-1]) > -0.2


def test_rows_apart_keep_every_row(precision):
    rows = CurvatureRows(beta=(0.0, 0.0), reach=3.0, errors=COARSE)
    tx = keep_feasible(optax.adam(0.1), RegionFilter(knowledge=rows))
    A = np.array([[1.0, 1.0, 0.0], [0.0, -1.0, 2.0]])

    def limits(p):
        return jnp.asarray(A, p["w"].dtype) @ p["w"] - 0.5

    p = {"w": jnp.zeros(3)}
    state = tx.init(p)

    @jax.jit
    def step(p, state):
        slopes = jax.jacrev(limits)(p)
        grads = jax.grad(loss)(p, 1.0)
        updates, state = tx.update(
            grads, state, p, constraint_value=limits(p), constraint_grad=slopes
        )
        return optax.apply_updates(p, updates), state

    for _ in range(60):
        p, state = step(p, state)
        assert (A @ np.asarray(p["w"], np.float64) <= 0.5).all()
    np.testing.assert_allclose(A @ np.asarray(p["w"]), 0.5, atol=1e-3)


def test_states_are_arrays_that_a_checkpoint_can_store(precision):
    tx = keep_feasible(optax.sgd(0.1), FILTERS["safety"])
    p, step = start(), step_of(tx)
    state = tx.init(p)
    for _ in range(5):
        p, state = step(p, state, 2.0)
    leaves, form = jax.tree.flatten((p, state))
    again = jax.tree.unflatten(form, [jnp.asarray(np.array(leaf)) for leaf in leaves])
    one, other = step(p, state, 2.0), step(*again, 2.0)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_mistakes_are_one_sentence_each(precision):
    tx, p = keep_feasible(optax.sgd(0.1), FILTERS["safety"]), start()
    state = tx.init(p)
    with pytest.raises(InvalidValueError, match="update must be given params"):
        tx.update(p, state)
    with pytest.raises(InvalidValueError, match="constraint_value and constraint_grad"):
        tx.update(p, state, p)
    with pytest.raises(InvalidValueError, match="filter must be"):
        keep_feasible(optax.sgd(0.1), lambda x: x)
    for base, words in (
        (FILTERS["safety"], "SafetyFilter"),
        (optax.MultiSteps(optax.sgd(1), 2), "MultiSteps around"),
    ):
        with pytest.raises(InvalidValueError, match=f"base must be an optax .*{words}"):
            keep_feasible(base, FILTERS["safety"])
    half = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), p)
    with pytest.raises(InvalidValueError, match="float32 or float64, got bfloat16"):
        tx.update(half, state, half, constraint_value=-1.0, constraint_grad=half)
    with pytest.raises(InvalidValueError, match="outside of jit"):
        jax.jit(tx.init)(p)


def test_a_start_outside_is_an_error(precision):
    tx, p = keep_feasible(optax.sgd(0.1), FILTERS["curvature"]), {"w": jnp.ones(3)}
    seen = {"constraint_value": jnp.asarray(2.0), "constraint_grad": {"w": 2 * p["w"]}}
    state = tx.init(p)
    with pytest.raises(Exception, match="the start must be strictly feasible"):
        jax.block_until_ready(tx.update(p, state, p, **seen))


def test_a_contradiction_is_warned_of_once_and_logged_each_time(precision, caplog):
    known = Constants(R=1.0, G_g=0.5, start_slack=1.0, evaluation_error=ERROR)  # 2 is the truth
    tx = keep_feasible(optax.sgd(0.2), SafetyFilter.default(known))
    step = step_of(tx)

    def run(p, rounds):
        state = tx.init(p)
        for _ in range(rounds):
            p, state = jax.block_until_ready(step(p, state, 3.0))

    with pytest.warns(PremiseWarning, match="G_g") as warned:
        run(start(), 6)
    assert len(warned) == 1
    assert len(caplog.records) > 1


WITH_DRIFT = {
    "safety drift": SafetyFilter.default(
        Constants(R=1.0, G_g=2.0, start_slack=1.0, evaluation_error=ERROR, drift=1e-4)
    ),
    "hull drift": RegionFilter(
        knowledge=LipschitzHull(G_g=2.0, reach=1.0, errors=replace(COARSE, drift=1e-4))
    ),
}


# By step: what is added to the value, to the gradient and to the update.
SPOILED = {0: (np.nan, 0, 0), 3: (0, np.inf, 0), 4: (0, 0, np.nan), 5: (-np.inf, 0, 0)}


@pytest.mark.parametrize("name", [*FILTERS, *WITH_DRIFT])
def test_a_step_without_a_number_is_refused_and_the_next_goes_on(name, precision):
    tx = keep_feasible(optax.sgd(0.1), {**FILTERS, **WITH_DRIFT}[name])

    @jax.jit
    def step(p, state, spoiled):
        g, s = jax.value_and_grad(length)(p)
        s = jax.tree.map(lambda leaf: leaf + spoiled[1], s)
        updates = jax.tree.map(lambda leaf: leaf + spoiled[2], jax.grad(loss)(p, 3.0))
        updates, state = tx.update(
            updates, state, p, constraint_value=g + spoiled[0], constraint_grad=s
        )
        return optax.apply_updates(p, updates), state

    p = start()
    state = tx.init(p)
    for t in range(12):
        if t in SPOILED:
            with pytest.raises(Exception, match=r"(constraint_value|constraint_grad|updates) must"):
                jax.block_until_ready(step(p, state, jnp.array(SPOILED[t])))
            continue
        p, state = step(p, state, jnp.zeros(3))
        assert exact(p) <= 0
    assert exact(p) > -0.5


def test_after_a_gap_under_drift_the_filter_begins_anew():
    v, horizon = 0.01, 70
    safe = SafetyFilter.default(Constants(R=2.0, G_g=1.0, start_slack=1.0, drift=v))
    with jax.enable_x64(True):
        tx = keep_feasible(optax.identity(), safe)

        @jax.jit
        def step(x, state, level, wanted, spoiled):
            size = jnp.linalg.norm(x)
            updates, state = tx.update(
                wanted - x,
                state,
                x,
                constraint_value=size - level + spoiled,
                constraint_grad=x / jnp.maximum(size, 1e-300),
            )
            return x + updates, state

        x = jnp.zeros(2)
        state, level = tx.init(x), 1.5
        for t in range(horizon):
            gap = 20 <= t < 50
            wanted = np.array([0.3, 0.0]) if 10 < t < 50 else np.array([-3.0, 3.0 * (-1) ** t])
            try:
                x, state = jax.block_until_ready(
                    step(x, state, level, wanted, np.nan if gap else 0.0)
                )
            except (ValueError, jax.errors.JaxRuntimeError):
                state = tx.init(x)
            level -= v if t > 10 else 0.0
            assert np.linalg.norm(np.asarray(x)) <= level
        assert np.linalg.norm(np.asarray(x)) > 0.4  # it went on


# --- the metric of the base -----------------------------------------------------------------------

BEST = np.array([4.0, 1.0]) / np.sqrt(17)  # of -(4a + b) on the unit disc
PARTS = ({"a": "slow", "b": "fast"}, {"slow": 0.002, "fast": 0.02})


def on_disc(base, steps=600, **options):
    """Where a run ends that minimises -(4a + b) on the unit disc."""
    tx = keep_feasible(base, FILTERS["curvature"], **options)
    p = {"a": jnp.zeros(()), "b": jnp.zeros(())}

    def step(carry, _):
        p, state = carry
        g, s = jax.value_and_grad(length)(p)
        grads = jax.grad(lambda p: -(4 * p["a"] + p["b"]))(p)
        updates, state = tx.update(grads, state, p, constraint_value=g, constraint_grad=s)
        p = optax.apply_updates(p, updates)
        return (p, state), length(p)

    (p, _), values = jax.lax.scan(step, (p, tx.init(p)), None, length=steps)
    assert float(values.max()) <= ERROR
    return np.array([float(p["a"]), float(p["b"])])


BASES = {
    "adam": lambda: optax.adam(0.01),
    "adam with a large epsilon": lambda: optax.adam(0.02, eps=0.5),
    "adam with nesterov": lambda: optax.nadam(0.01),
    "adamw without decay": lambda: optax.adamw(0.01, weight_decay=0.0),
    "adamax": lambda: optax.adamax(0.01),
    "amsgrad": lambda: optax.amsgrad(0.01),
    "yogi": lambda: optax.yogi(0.01),
    "rmsprop": lambda: optax.rmsprop(0.01, momentum=0.5),
    "adagrad": lambda: optax.adagrad(0.1),
    "momentum": lambda: optax.sgd(0.01, momentum=0.9, nesterov=True),
    "a schedule": lambda: optax.adam(optax.linear_schedule(0.02, 0.005, 300)),
    "a chain": lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.01)),
    "injected": lambda: optax.inject_hyperparams(optax.adam)(learning_rate=0.01),
    "finite": lambda: optax.apply_if_finite(optax.adam(0.01), 3),
    "adam by parts": lambda: optax.partition(
        {name: optax.adam(rate) for name, rate in PARTS[1].items()}, PARTS[0]
    ),
    "sgd by parts": lambda: optax.partition(
        {name: optax.sgd(rate) for name, rate in PARTS[1].items()}, PARTS[0]
    ),
}


@pytest.mark.parametrize("name", BASES)
def test_every_base_comes_to_rest_at_the_best_point(name):
    steps = 2_000 if "parts" in name else 600
    np.testing.assert_allclose(on_disc(BASES[name](), steps), BEST, atol=3e-3)


def test_in_euclids_metric_adam_rests_at_another_point(precision):
    end = on_disc(optax.adam(0.01), metric=lambda state: 1.0)
    np.testing.assert_allclose(end, np.sqrt(0.5), atol=1e-4)


def test_a_metric_may_be_given_as_a_pytree_of_the_base_state(precision):
    def metric(state):
        nu = optax.tree_utils.tree_get(state, "nu")
        return jax.tree.map(lambda v: jnp.sqrt(v) + 1e-8, nu)

    np.testing.assert_allclose(on_disc(optax.adam(0.01), metric=metric), BEST, atol=3e-3)


def test_the_answer_of_the_base_is_the_scale_of_adam(precision):
    # -lr (1 - b1)/(1 - b1^2) over sqrt(b2 nu/(1 - b2^2)) + eps, at the second step.
    base, p = optax.adam(0.1, eps=0.25), {"w": jnp.zeros(3)}
    grads = {"w": jnp.array([2.0, -0.5, 0.0])}
    state = base.update(grads, base.init(p), p)[1]
    found = _find_response(lambda grads: base.update(grads, state, p)[0], p)["w"]
    nu = np.asarray(optax.tree_utils.tree_get(state, "nu")["w"], np.float64)
    by_hand = 0.1 * (1 - 0.9) / (1 - 0.9**2) / (np.sqrt(0.999 * nu / (1 - 0.999**2)) + 0.25)
    np.testing.assert_allclose(found, by_hand, rtol=1e-4)


def test_a_base_that_does_not_answer_is_euclids_with_one_warning(precision):
    with pytest.warns(UserWarning, match="updates do not answer to a small gradient") as found:
        end = on_disc(optax.lion(0.01))
    assert len(found) == 1
    np.testing.assert_allclose(end, np.sqrt(0.5), atol=1e-3)


def test_parameters_that_a_base_does_not_move_are_left_where_a_limit_allows(precision):
    base = optax.partition(
        {"slow": optax.adam(0.01), "fast": optax.set_to_zero()}, {"a": "slow", "b": "fast"}
    )
    np.testing.assert_allclose(on_disc(base), [1.0, 0.0], atol=1e-3)


def test_entries_without_a_gradient_do_not_stop_the_others(precision):
    tx = keep_feasible(optax.adam(0.01), FILTERS["curvature"])
    p = {"w": jnp.zeros(3)}
    state = tx.init(p)

    @jax.jit
    def step(p, state):
        g, s = jax.value_and_grad(length)(p)
        grads = {"w": jnp.array([-4.0, -1.0, 0.0])}
        updates, state = tx.update(grads, state, p, constraint_value=g, constraint_grad=s)
        return optax.apply_updates(p, updates), state

    for _ in range(600):
        p, state = step(p, state)
    np.testing.assert_allclose(p["w"], [*BEST, 0.0], atol=3e-3)


def test_a_refused_step_leaves_the_base_where_it_was(precision):
    tx, p = keep_feasible(optax.adam(0.1), FILTERS["curvature"]), start()
    state = tx.init(p)
    ones = jax.tree.map(jnp.ones_like, p)
    bad = {"constraint_value": jnp.asarray(jnp.nan), "constraint_grad": ones}
    with pytest.raises(Exception, match="constraint_value must"):
        jax.block_until_ready(tx.update(ones, state, p, **bad))
    assert int(optax.tree_utils.tree_get(state, "count")) == 0
