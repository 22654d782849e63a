"""The optimiser around an optimiser: a real torch optimiser, and feasible after every step."""

import copy
import io

import numpy as np
import pytest
from tests._scripts import script

from surefoot import Constants
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.guarantees import PremiseError, PremiseWarning
from surefoot.knowledge import Choices, Curvature, CurvatureRows, LipschitzHull
from surefoot.rules import RegionFilter, SafetyFilter

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.hosts

from surefoot.adapters.torch import KeepFeasible  # noqa: E402

BALL = Constants(R=1.0, G_g=1.0, start_slack=1.0)


@pytest.fixture(autouse=True)
def one_thread():
    """Tensors of a few numbers gain nothing by threads, and wait for them on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def length(*params):
    return torch.cat([p.reshape(-1) for p in params]).norm() - 1.0


class Setting:
    """Two limited parameters and one that is free, pulled away from 0."""

    def __init__(self, dtype=torch.float32, safe=None, base=torch.optim.Adam, lr=0.05):
        self.w = torch.nn.Parameter(torch.zeros(2, 2, dtype=dtype))
        self.b = torch.nn.Parameter(torch.zeros(3, dtype=dtype))
        self.free = torch.nn.Parameter(torch.zeros(2, dtype=dtype))
        safe = SafetyFilter.default(BALL) if safe is None else safe
        self.base = base([self.w, self.b, self.free], lr=lr)
        self.opt = KeepFeasible(self.base, safe, [self.w, self.b])

    def loss(self):
        pull = torch.linspace(-2.0, 3.0, 4).reshape(2, 2)
        return (
            ((self.w - pull) ** 2).sum() + ((self.b - 2) ** 2).sum() + (self.free - 5).pow(2).sum()
        )

    def run(self, steps, constraint=length):
        for _ in range(steps):
            self.opt.zero_grad()
            self.loss().backward()
            self.opt.step(constraint=constraint)
            assert self.g() <= 0
        return self

    def g(self):
        parts = [p.detach().double().reshape(-1) for p in (self.w, self.b)]
        return float(torch.cat(parts).norm()) - 1.0

    def numbers(self):
        return torch.cat([p.detach().reshape(-1) for p in (self.w, self.b, self.free)]).numpy()


@pytest.mark.parametrize(
    "safe",
    [SafetyFilter.default(BALL), RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))],
    ids=["safety", "region"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("base", [torch.optim.Adam, torch.optim.SGD], ids=["adam", "sgd"])
def test_the_constraint_holds_after_every_step(dtype, safe, base):
    done = Setting(dtype, safe, base).run(120)
    assert done.g() > -0.2  # it went where it was pulled
    assert done.w.dtype == dtype
    assert done.opt.contradictions == ()


def test_parameters_that_are_not_limited_are_those_of_the_base_alone():
    kept = Setting().run(30)
    alone = Setting()
    for _ in range(30):
        alone.base.zero_grad()
        alone.loss().backward()
        alone.base.step()
    np.testing.assert_array_equal(kept.free.detach(), alone.free.detach())


def test_groups_and_state_are_those_of_the_base_and_schedulers_work():
    one = Setting()
    assert one.opt.param_groups is one.base.param_groups
    assert one.opt.state is one.base.state
    schedule = torch.optim.lr_scheduler.StepLR(one.opt, step_size=5, gamma=0.5)
    for _ in range(10):
        one.run(1)
        schedule.step()
    assert one.base.param_groups[0]["lr"] == 0.0125
    more = torch.nn.Parameter(torch.zeros(1))
    one.opt.add_param_group({"params": [more]})
    assert one.base.param_groups[-1]["params"] == [more]
    assert one.opt.param_groups is one.base.param_groups


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_stored_run_continues_bit_by_bit_and_needs_no_pickle(dtype):
    one = Setting(dtype).run(25)
    stored = io.BytesIO()
    torch.save([one.opt.state_dict(), [one.w, one.b, one.free]], stored)
    stored.seek(0)
    state, values = torch.load(stored, weights_only=True)
    other = Setting(dtype)
    with torch.no_grad():
        for p, value in zip((other.w, other.b, other.free), values, strict=True):
            p.copy_(value)
    other.opt.load_state_dict(state)
    assert other.opt.param_groups is other.base.param_groups
    np.testing.assert_array_equal(one.run(25).numbers(), other.run(25).numbers())


def test_a_deep_copy_goes_its_own_way():
    one = Setting().run(5)
    other = copy.deepcopy(one)
    assert other.opt.param_groups is other.base.param_groups
    before = one.numbers()
    np.testing.assert_array_equal(other.run(5).numbers(), copy.deepcopy(one).run(5).numbers())
    np.testing.assert_array_equal(one.numbers(), before)


def test_steps_in_place_do_not_reach_what_the_filter_remembers():
    # The first program of a new user: the filter's memory must not be the optimiser's tensor.
    one = Setting().run(3)
    remembered = one.opt.state_dict()["surefoot"][0].clone()
    with torch.no_grad():
        one.w.add_(5.0)
    np.testing.assert_array_equal(one.opt.state_dict()["surefoot"][0], remembered)
    one.opt.state_dict()["surefoot"][0].zero_()
    np.testing.assert_array_equal(one.opt.state_dict()["surefoot"][0], remembered)
    with pytest.raises(InvalidValueError, match="as the last step left them: call restart"):
        one.opt.step(constraint=length)
    with torch.no_grad():
        one.w.zero_()
        one.b.zero_()
    one.opt.restart()
    one.run(10)


def test_every_way_to_state_a_constraint_gives_the_same_steps():
    def gradient(one):
        x = torch.cat([one.w.reshape(-1), one.b]).detach().double()
        n = x.norm()
        return float(n) - 1.0, x / n if n > 0 else 0 * x

    runs = [Setting(torch.float64) for _ in range(4)]
    for _ in range(20):
        for way, one in enumerate(runs):
            ways = (
                length,
                length(one.w, one.b),
                gradient(one),
                (gradient(one)[0], [gradient(one)[1][:4].reshape(2, 2), gradient(one)[1][4:]]),
            )
            one.run(1, ways[way])
    for other in runs[1:]:
        np.testing.assert_allclose(other.numbers(), runs[0].numbers(), rtol=1e-12)


def test_rows_apart_and_a_constraint_that_leaves_out_a_parameter():
    rows = CurvatureRows(beta=(0.0, 0.0), reach=6.0)
    one = Setting(safe=RegionFilter(knowledge=rows))
    for _ in range(100):
        one.opt.zero_grad()
        one.loss().backward()
        one.opt.step(constraint=lambda w, b: torch.stack([w.sum(), w[0, 0] - w[1, 1]]) - 0.5)
        w = one.w.detach().double()
        assert float(w.sum()) <= 0.5
        assert float(w[0, 0] - w[1, 1]) <= 0.5
    np.testing.assert_allclose(one.b.detach(), 2.0, atol=0.05)  # no constraint depends on it


def test_several_filters_each_with_parameters_of_its_own():
    one = Setting()
    safe = SafetyFilter.default(BALL)
    opt = KeepFeasible(one.base, [safe, safe], [[one.w], [one.b]])
    for _ in range(50):
        opt.zero_grad()
        one.loss().backward()
        opt.step(constraint=[length, length])
        assert max(float(p.detach().double().norm()) for p in (one.w, one.b)) <= 1
    assert [c.round for c in opt.certificates] == [50, 50]


def test_an_estimate_of_g_is_safe_with_its_error_told_and_not_without():
    def worst(told):
        random, found = torch.Generator().manual_seed(0), -1.0
        one = Setting(safe=RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.2)), lr=0.1)
        for _ in range(150):
            one.opt.zero_grad()
            one.loss().backward()
            off = 0.05 * (2 * torch.rand((), generator=random) - 1)  # as a mini-batch might be
            one.opt.step(constraint=lambda *p, off=off: length(*p) + off, value_error=told)
            found = max(found, one.g())
        return found

    assert worst(0.05) <= 0
    with pytest.warns(PremiseWarning, match="above its certified bound"):
        assert worst(None) > 0


def test_the_loss_of_a_closure_is_returned():
    one = Setting(base=torch.optim.SGD, lr=0.01)

    def closure():
        one.opt.zero_grad()
        loss = one.loss()
        loss.backward()
        return loss

    first, second = (one.opt.step(closure, constraint=length).item() for _ in range(2))
    assert second < first


def test_a_refused_step_leaves_the_limited_parameters_as_they_were():
    one = Setting().run(3)
    before = one.numbers()
    one.loss().backward()
    with pytest.raises(InvalidValueError, match="must be finite"):
        one.opt.step(constraint=(float("nan"), torch.zeros(7).double()))
    np.testing.assert_array_equal(one.numbers()[:7], before[:7])
    one.run(3)


def test_where_one_of_two_filters_refuses_neither_moves():
    one, safe = Setting(), SafetyFilter.default(BALL)
    opt = KeepFeasible(one.base, [safe, safe], [[one.w], [one.b]])

    def step(second=length):
        opt.zero_grad()
        one.loss().backward()
        opt.step(constraint=[length, second])

    step()
    before, stored, said = one.numbers(), opt.state_dict()["surefoot"], opt.certificates
    steep, short = np.full(3, np.inf), np.ones(2)
    for bad in (lambda b: b.norm() * np.nan, (-1.0, steep), (-1.0, short)):
        with pytest.raises(InvalidValueError):
            step(bad)
        np.testing.assert_array_equal(one.numbers()[:7], before[:7])
        for now, then in zip(opt.state_dict()["surefoot"], stored, strict=True):
            np.testing.assert_array_equal(now, then)
        assert opt.certificates == said
    step()
    assert [c.round for c in opt.certificates] == [2, 2]


def test_a_stored_state_that_is_refused_changes_nothing():
    one, safe = Setting(), SafetyFilter.default(BALL)
    opt = KeepFeasible(one.base, [safe, safe], [[one.w], [one.b]])
    other = copy.deepcopy(opt.state_dict())
    other["param_groups"][0]["lr"] = 9.0
    first, second = other["surefoot"]
    mine = opt.state_dict()["surefoot"]
    for bad in ([first + 1, second[:4]], [first[:4], second]):
        with pytest.raises(InvalidValueError, match="stored state must have"):
            opt.load_state_dict({**other, "surefoot": bad})
        assert opt.param_groups[0]["lr"] == 0.05
        for now, then in zip(opt.state_dict()["surefoot"], mine, strict=True):
            np.testing.assert_array_equal(now, then)
    with pytest.raises(ValueError, match="parameter group"):
        opt.load_state_dict({**other, "param_groups": [], "surefoot": [first + 1, second]})
    np.testing.assert_array_equal(opt.state_dict()["surefoot"][0], mine[0])


def test_certificates_are_those_of_the_parameters_as_they_are():
    one = Setting().run(2)
    state = one.opt.state_dict()
    one.opt.restart()
    assert one.opt.certificates == (None,)
    one.run(1).opt.load_state_dict(state)
    assert one.opt.certificates == (None,)


WRONG = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))  # G_g is 10


def steep(*params):
    return 10 * length(*params) + 5.0


def test_constants_that_are_contradicted_are_warned_of_once_and_logged_always(caplog):
    one, outside = Setting(torch.float64, WRONG, torch.optim.SGD), 0
    one.loss().backward()
    one.opt.step(constraint=steep)  # the slope of the norm at 0 is 0, to torch
    one.loss().backward()
    with pytest.warns(PremiseWarning, match=r"\|s\| = 10 exceeds G_g = 1.*only logged") as found:
        one.opt.step(constraint=steep)
    assert len(found) == 1
    for _ in range(48):  # a warning would be an error
        one.loss().backward()
        one.opt.step(constraint=steep)
        assert one.opt.contradictions
        outside += one.g() > -0.5
    assert outside > 40
    logged = [entry for entry in caplog.records if entry.name == "surefoot"]
    assert len({entry.message.partition(":")[0] for entry in logged}) == 49  # rounds
    assert {entry.levelname for entry in logged} == {"WARNING"}


def test_constants_that_are_contradicted_raise_on_request_and_nothing_moves(caplog):
    w = torch.nn.Parameter(torch.tensor([0.25, 0.0]))
    opt = KeepFeasible(torch.optim.SGD([w], lr=0.1), WRONG, on_contradiction="raise")
    for _ in range(2):
        (-w.sum()).backward()
        with pytest.raises(PremiseError, match=r"\|s\| = 10 exceeds G_g = 1"):
            opt.step(constraint=steep)
        assert w.tolist() == [0.25, 0.0]
    assert len(caplog.records) == 2
    with pytest.raises(InvalidValueError, match="on_contradiction must be one of 'warn', 'raise'"):
        KeepFeasible(torch.optim.SGD([w]), WRONG, on_contradiction="record")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s: s.opt.step(), "constraint must be given in every step"),
        (lambda s: s.opt.step(constraint=torch.tensor(1.0)), "got a constant"),
        (
            lambda s: s.opt.step(constraint=lambda *w: w[0].norm().item() - 2.0),
            r"must return a tensor with a graph, got the float -2: leave out \.item\(\)",
        ),
        (lambda s: s.opt.step(constraint=torch.zeros(2, 2)), "one number or one per row"),
        (lambda s: s.opt.load_state_dict(s.base.state_dict()), "must have 'surefoot'"),
        (lambda s: KeepFeasible(s.base, SafetyFilter.default(BALL), [s.w, s.w]), "one filter each"),
        (
            lambda s: KeepFeasible(s.base, SafetyFilter.default(BALL), [torch.zeros(1)]),
            "parameters of the base",
        ),
        (lambda s: KeepFeasible(s.base, [SafetyFilter.default(BALL)] * 2), "2 sequences"),
        (lambda s: KeepFeasible(s.base, SafetyFilter.default(BALL), []), "float32 or all float64"),
    ],
)
def test_mistakes_are_one_sentence_each(call, sentence):
    with pytest.raises(InvalidValueError, match=sentence):
        call(Setting())


def test_a_base_that_is_no_optimiser_is_refused():
    with pytest.raises(InvalidTypeError, match="base must be a torch optimiser"):
        KeepFeasible("adam", SafetyFilter.default(BALL))


def test_the_example_keeps_singular_values_below_one():
    example = script("examples/torch_limits.py")
    assert example.train(safe=True, steps=60)[0] == 0
    assert example.train(safe=False, steps=60)[0] > 20


@pytest.mark.parametrize("task", ["spectral", "fairness"])
def test_beside_the_rivals_no_step_is_outside(task):
    limits = script("benchmarks/alternatives/torch_limits.py")
    kept = limits.train(getattr(limits, task), "KeepFeasible", 0.0, 60)
    alone = limits.train(getattr(limits, task), "Adam alone", 0.0, 60)
    assert (kept.outside, kept.worst <= 0) == (0, True)
    assert alone.outside > 20
    assert kept.accuracy > 0.5


# --- the metric of the base -----------------------------------------------------------------------

DISC = RegionFilter(knowledge=Curvature(beta=2.0, reach=1.0))
BEST = np.array([4.0, 1.0]) / np.sqrt(17)  # of -(4a + b) on the unit disc


def on_disc(make, metric=None, safe=DISC, steps=600, dtype=torch.float32):
    """Where a run ends that minimises -(4a + b) on the unit disc, by two parameters."""
    a, b = (torch.nn.Parameter(torch.zeros((), dtype=dtype)) for _ in range(2))
    opt = KeepFeasible(make([a, b]), safe, metric=metric)
    for _ in range(steps):
        opt.zero_grad()
        (-(4 * a + b)).backward()
        opt.step(constraint=lambda a, b: a * a + b * b - 1.0)
        assert float(a.detach().double() ** 2 + b.detach().double() ** 2) <= 1.0
    return np.array([a.item(), b.item()])


BASES = {
    "Adam": {"lr": 0.01},
    "AdamW": {"lr": 0.01, "weight_decay": 0.0},
    "NAdam": {"lr": 0.01},
    "RAdam": {"lr": 0.03},
    "Adamax": {"lr": 0.01},
    "RMSprop": {"lr": 0.01},
    "Adagrad": {"lr": 0.1},
    "SGD": {"lr": 0.01},
}
OPTIONS = {
    "Adam": {"amsgrad": True, "eps": 0.5},
    "NAdam": {"eps": 0.5},
    "RAdam": {"eps": 0.5},
    "RMSprop": {"momentum": 0.9, "eps": 0.5},
    "Adagrad": {"lr_decay": 1e-3, "eps": 0.5},
    "SGD": {"momentum": 0.9, "nesterov": True},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", BASES)
def test_every_optimiser_comes_to_rest_at_the_best_point(name, dtype):
    end = on_disc(lambda p: getattr(torch.optim, name)(p, **BASES[name]), dtype=dtype)
    np.testing.assert_allclose(end, BEST, atol=2e-3)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_change_the_scale_do_not_change_that_point(name):
    options = BASES[name] | OPTIONS[name]
    end = on_disc(lambda p: getattr(torch.optim, name)(p, **options), steps=1_500)
    np.testing.assert_allclose(end, BEST, atol=2e-3)


def test_in_euclids_metric_adam_rests_at_another_point():
    end = on_disc(lambda p: torch.optim.Adam(p, lr=0.01), metric=torch.ones_like)
    np.testing.assert_allclose(end, np.sqrt(0.5), atol=1e-4)


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_groups_with_different_rates_have_them_in_the_metric(name):
    def make(params):
        a, b = params
        groups = [{"params": [a], "lr": 0.002}, {"params": [b], "lr": 0.02}]
        return getattr(torch.optim, name)(groups, lr=0.1)

    np.testing.assert_allclose(on_disc(make, steps=1_500), BEST, atol=2e-3)


def test_the_decay_of_adamw_moves_the_point_as_a_gradient_of_decay_times_scale():
    # At rest -m - wd (sqrt(v) + eps) w is a multiple of w's own direction (the limit's normal) ...
    decay, steps = 0.5, 3_000
    end = on_disc(
        lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=decay),
        steps=steps,
        dtype=torch.float64,
    )
    pull = np.array([4.0, 1.0]) * (1.0 - decay * end)  # sqrt(v) is the gradient's size here
    assert abs(pull[0] * end[1] - pull[1] * end[0]) < 1e-3
    assert abs(end - BEST).max() > 0.02  # ... which is not that of the loss alone


def test_the_scale_is_that_of_the_step_by_the_optimisers_own_arithmetic():
    # One step from rest: -p.grad over D is the step, for those whose m is the gradient then.
    from surefoot.adapters._torch_scales import find_scale

    for name, options in BASES.items():
        w = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
        base = getattr(torch.optim, name)([w], **options)
        scale = find_scale(base, None)
        w.grad = torch.tensor([0.5, -2.0, 1e-3], dtype=torch.float64)
        base.step()
        D = scale(w, base.state.get(w, {}), base.param_groups[0])
        ratio = (D * w.detach() / w.grad).numpy()  # -1, or a factor common to all for NAdam
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6, err_msg=name)
        assert ratio[0] < 0


def test_sparse_adam_has_the_scale_of_its_steps():
    from surefoot.adapters._torch_scales import find_scale

    table = torch.nn.Embedding(4, 2, sparse=True, dtype=torch.float64)
    base = torch.optim.SparseAdam(table.parameters(), lr=0.01, eps=0.1)
    before, w = table.weight.detach().clone(), table.weight
    (table(torch.tensor([1, 3])) * torch.tensor([3.0, 0.2])).sum().backward()
    grad = w.grad.to_dense()
    base.step()
    D = find_scale(base, None)(w, base.state[w], base.param_groups[0])
    moved = (w.detach() - before)[[1, 3]]
    np.testing.assert_allclose(-(D[[1, 3]] * moved) / grad[[1, 3]], 1.0, rtol=1e-6)


def test_parameters_without_a_gradient_and_with_a_rate_of_zero_are_kept_in_the_limit():
    a, b, c = (torch.nn.Parameter(torch.zeros(2, dtype=torch.float64)) for _ in range(3))
    groups = [{"params": [a, b]}, {"params": [c], "lr": 0.0}]
    opt = KeepFeasible(torch.optim.Adam(groups, lr=0.05), DISC)
    for t in range(200):
        opt.zero_grad()
        loss = -(4 * a[0] + a[1]) - c.sum()
        (loss - b.sum() if t > 100 else loss).backward()
        opt.step(constraint=lambda a, b, c: (a * a).sum() + (b * b).sum() + (c * c).sum() - 1.0)
        if t == 100:
            assert b.detach().abs().max() == 0
            np.testing.assert_allclose(a.detach(), BEST, atol=0.03)
    assert float(b.detach().min()) > 0.1
    assert c.detach().abs().max() == 0


def test_a_step_without_any_gradient_changes_nothing():
    one = Setting()
    one.opt.step(constraint=length)
    assert one.numbers().tolist() == [0.0] * 9


class Scaled(torch.optim.Optimizer):
    """An optimiser of the user's own: a fixed scale by coordinate."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.01})

    @torch.no_grad()
    def step(self, closure=None):
        for i, p in enumerate(self.param_groups[0]["params"]):
            p.sub_(0.01 * p.grad / (4.0, 1.0)[i])


def test_an_unknown_optimiser_is_euclids_with_a_warning_unless_its_metric_is_given():
    words = "steps of Scaled may be scaled by coordinate: pass metric="
    with pytest.warns(UserWarning, match=words) as found:
        end = on_disc(Scaled)
    assert len(found) == 1
    np.testing.assert_allclose(end, np.sqrt(0.5), atol=1e-4)

    def metric(p):
        return torch.full_like(p, 4.0 if p is first[0] else 1.0)

    first = []

    def make(params):
        first.append(params[0])
        return Scaled(params)

    np.testing.assert_allclose(on_disc(make, metric), BEST, atol=2e-3)


@pytest.mark.parametrize(
    ("metric", "error", "sentence"),
    [
        (lambda p: torch.zeros_like(p), InvalidValueError, "metric must be positive and finite"),
        (lambda p: torch.ones(5), InvalidValueError, r"metric must be of shape \(\), as its"),
        ("adam", InvalidTypeError, "metric must be a function of a parameter"),
    ],
)
def test_what_is_no_metric_is_refused(metric, error, sentence):
    with pytest.raises(error, match=sentence):
        on_disc(lambda p: torch.optim.SGD(p, lr=0.01), metric)


def test_a_metric_that_is_refused_leaves_the_limited_parameters_where_they_were():
    one, answers = Setting(base=torch.optim.SGD), []
    one.opt = KeepFeasible(one.base, DISC, [one.w], metric=lambda p: answers[0] + 0 * p)
    answers[:] = [1.0]
    one.loss().backward()
    one.opt.step(constraint=lambda w: (w * w).sum() - 1.0)
    before, answers[:] = one.w.detach().clone(), [-1.0]
    with pytest.raises(InvalidValueError, match="positive and finite"):
        one.opt.step(constraint=lambda w: (w * w).sum() - 1.0)
    assert (one.w == before).all()


def test_adadelta_is_refused_unless_a_metric_is_given():
    with pytest.raises(InvalidValueError, match="base must be an optimiser whose scale can be"):
        on_disc(torch.optim.Adadelta)
    end = on_disc(lambda p: torch.optim.Adadelta(p), torch.ones_like, steps=20)
    assert (end > 0).all()


def test_choices_are_refused_where_steps_are_scaled():
    steps = RegionFilter(
        knowledge=LipschitzHull(G_g=2.0, domain=Choices([-1.0, -1.0], [1.0, 1.0], step=0.25))
    )
    with pytest.raises(InvalidValueError, match="domain must be convex where steps are scaled"):
        on_disc(lambda p: torch.optim.Adam(p), safe=steps, dtype=torch.float64)
    made = on_disc(lambda p: torch.optim.SGD(p, lr=0.1), safe=steps, dtype=torch.float64, steps=20)
    assert steps.domain.contains(made)


def test_two_filters_have_the_metric_of_their_own_parameters():
    pairs = [[torch.nn.Parameter(torch.zeros(())) for _ in range(2)] for _ in range(2)]
    opt = KeepFeasible(torch.optim.Adam([*pairs[0], *pairs[1]], lr=0.01), [DISC, DISC], pairs)
    for _ in range(600):
        opt.zero_grad()
        sum(-(4 * a + b) for a, b in (pairs[0], pairs[1][::-1])).backward()
        opt.step(constraint=[lambda a, b: a * a + b * b - 1.0] * 2)
    for pair, best in zip(pairs, (BEST, BEST[::-1]), strict=True):
        np.testing.assert_allclose([p.item() for p in pair], best, atol=2e-3)


def test_churn_ends_at_the_best_possible_loss():
    # A linear model that may differ from the old one by 0.3 in the mean square: convex, and the
    # best loss is that on the way from the old weights to the new, by hand.
    random = np.random.default_rng(0)
    Z, old = random.normal(size=(500, 8)), random.normal(size=8)
    new = old + 0.5 * random.normal(size=8)
    apart = float(np.mean((Z @ (new - old)) ** 2))
    best = (1 - np.sqrt(0.3 / apart)) ** 2 * apart
    H = torch.tensor(Z.T @ Z / 500)
    beta = 2.0 * float(torch.linalg.eigvalsh(H)[-1]) * 1.0001
    start, end = torch.tensor(old), torch.tensor(new)
    losses = {}
    for name, metric in (("own", None), ("Euclid", torch.ones_like)):
        w = torch.nn.Parameter(start.clone())
        safe = RegionFilter(knowledge=Curvature(beta=beta, reach=20.0))
        opt = KeepFeasible(torch.optim.Adam([w], lr=0.05), safe, metric=metric)
        for _ in range(400):
            opt.zero_grad()
            loss = (w - end) @ H @ (w - end)
            loss.backward()
            opt.step(constraint=lambda w: (w - start) @ H @ (w - start) - 0.3)
            gap = w.detach() - start
            assert float(gap @ H @ gap) <= 0.3 + 1e-15
        losses[name] = loss.item()
    assert losses["own"] < 1.01 * best
    assert losses["Euclid"] > 1.05 * best


@pytest.mark.slow
def test_adam_is_as_accurate_under_parity_as_momentum():
    parity = script("benchmarks/alternatives/parity.py")
    runs = {
        name: parity.train(parity.kept(*way), seed=1, steps=400)
        for name, way in {
            "own": (parity.adam,),
            "Euclid": (parity.adam, torch.ones_like),
            "momentum": (parity.momentum,),
        }.items()
    }
    assert all(run.outside == 0 for run in runs.values())
    assert runs["own"].accuracy > runs["momentum"].accuracy - 0.01
    assert runs["own"].train < runs["Euclid"].train - 0.05
