"""The optimiser around an optimiser: a real torch optimiser, and feasible after every step."""

import copy
import io

import numpy as np
import pytest
from tests._scripts import script

from surefoot import Constants
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.guarantees import PremiseError, PremiseWarning
from surefoot.knowledge import CurvatureRows, LipschitzHull
from surefoot.rules import RegionFilter, SafetyFilter

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.hosts

from surefoot.adapters.torch import KeepFeasible  # noqa: E402

BALL = Constants(R=1.0, G_g=1.0, start_slack=1.0)


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
    rows = CurvatureRows(beta=(0.0, 0.0), reach=5.0)
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
