from dataclasses import replace
from pathlib import Path

import pytest

from surefoot import kernel
from surefoot.core.types import needs_of
from surefoot.experiments import Results, run
from surefoot.experiments.build import build_player
from surefoot.experiments.cells import cells_of, make_parts
from surefoot.experiments.figures.paper import paper_panels
from surefoot.experiments.paper.reproduction import REGRET, VIOLATION, specification
from surefoot.experiments.record import claims_of
from surefoot.games.playing import choose
from surefoot.guarantees import unpack
from surefoot.problems import HORIZONS, SETTINGS, paper_toy
from surefoot.rules import ALGORITHMS
from surefoot.rules.wrappers.wrapper import Wrapper


@pytest.fixture(scope="module")
def spec():
    return specification()


def row(spec, label):
    (found,) = [a for a in spec.algorithms if a.title == label]
    return found.plain()


def test_the_paper_has_thirty_trials_ten_horizons_and_the_published_streams(spec):
    assert spec.trials == 30
    assert tuple(spec.horizons) == HORIZONS
    assert [(p.name, p.arguments["published"]) for p in spec.problems] == [
        ("paper_toy", 0), ("paper_toy", 1), ("binding_toy", 0),
    ]  # fmt: skip


def test_every_theorem_of_the_catalogue_whose_rule_compiles_is_played(spec):
    played = {(a.name, a.tuning) for a in spec.algorithms}
    alone = [k for k in ALGORITHMS if not issubclass(k, Wrapper)]  # others go round by round
    quick = [k for k in alone if not needs_of(k).numpy_only and not needs_of(k).agents]
    assert len(quick) >= 20
    assert {(k.__name__, t) for k in quick for t in k.tunings} <= played
    if kernel.name() == "kernel":  # whose games of these are quick as well
        assert {"AdaptiveGauge", "CertifiedOGD", "LeaderFollower"} <= {name for name, _ in played}


def test_no_cell_is_played_round_by_round_in_one_run(spec):
    engines = []
    for _, job in cells_of(replace(spec, horizons=[6_000])):
        try:
            problem, player, _, _ = make_parts(job.spec)
        except ValueError:
            continue  # constants that a theorem refuses are a row as well
        engines.append(choose(unpack(player)[0], problem, 6_000, problem.start).engine)
    assert len(engines) >= 60
    assert set(engines) <= {"kernel", "batch"}


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_a_setting_claims_theorem_1_with_its_own_gradient_bound(spec, setting):
    toy = paper_toy(horizon=400, trials=1)
    player, _, constants = build_player(row(spec, f"PFS {setting.name}"), toy, 400)
    eta, rho = setting.parameters(400)
    assert player.algorithm.eta == pytest.approx(eta, rel=1e-15)
    assert player.algorithm.rho == pytest.approx(rho, rel=1e-15)
    assert player.guarantee.name == "Theorem 1"
    assert (constants.G_f, player.guarantee.constants.G_f) == (setting.G_f, setting.G_f)


def test_dpp_and_its_tightened_forms_have_the_papers_parameters(spec):
    toy = paper_toy(horizon=4_900, trials=1)
    player, _, _ = build_player(row(spec, "DPP"), toy, 4_900)
    assert (player.V, player.alpha) == (70.0, 4_900.0)
    rho = {
        label: build_player(row(spec, label), toy, 4_900)[0].rho
        for label in ("DPP-T as written", "DPP-T as released")
    }
    # min(0.25, 20/70) and 0.45 min(1, 20/70)
    assert rho == pytest.approx({"DPP-T as written": 0.25, "DPP-T as released": 0.45 * 2 / 7})


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_settings_of_the_paper_are_played_to_the_digit(spec, setting):
    (row,) = [row for row in spec.algorithms if row.title == f"PFS {setting.name}"]
    eta, rho = setting.parameters(1)
    at = {"eta": {"times": eta, "power": -0.5}, "rho": {"times": rho, "power": -0.5}}
    assert (row.options, row.constants) == (at, {"G_f": setting.G_f})


def test_every_row_of_the_panels_is_played_where_it_is_drawn(spec):
    layout = paper_panels()
    played = {(place.problem, place.algorithm) for place, _ in cells_of(spec)}
    for _, names in layout.settings:
        for label, _ in names:
            assert {(REGRET, label), (VIOLATION, label)} <= played
    assert layout.published["regret"]["PFS"] == {2000: 88.0, 10000: 191.0, 20000: 267.0}


@pytest.mark.slow
def test_the_papers_figures_are_judged_as_they_were_found_to_be(spec, tmp_path, monkeypatch):
    from surefoot.experiments.paper import reproduction

    few = {"PFS as plotted", "PFS as written", "DPP", "DPP, queue for each constraint"}
    few |= {"DPP-T as written", "DPP-T as released", "DPP-T as released (violation script)"}
    small = replace(
        spec,
        horizons=[2_000, 10_000, 20_000],
        problems=spec.problems[:2],
        algorithms=[a for a in spec.algorithms if a.title in few],
    )
    monkeypatch.setattr(reproduction, "specification", lambda: small)
    found = reproduction.reproduce(tmp_path / "out", workers=0)
    assert {c.figure: c.verdict for c in found.claims if "whole" in c.statement} == {
        "1a": "reproduced only with other constants than stated",
        "1b": "not reproduced",
        "1c": "reproduced",
        "2": "reproduced",
    }
    values = {(c.figure, c.statement): c.measured for c in found.claims}
    assert values["1a", "PFS, regret"] == {"2000": 87.8, "10000": 191.06, "20000": 267.19}
    assert values["1a", "DPP, regret"] == {"2000": 45.27, "10000": 102.21, "20000": 143.51}
    assert values["1a", "DPP-T, regret"] == {"2000": 332.26, "10000": 519.33, "20000": 599.08}
    assert values["1b", "DPP, [sum g]+"] == {"2000": 9.67, "10000": 11.67, "20000": 11.47}
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    for measured in (values["1a", "PFS, regret"], values["1b", "DPP, [sum g]+"]):
        assert " / ".join(f"{v:.2f}" for v in measured.values()) in page
    with Results.open(found.outcome.folder / "results.sqlite") as results:
        assert claims_of(results) == found.claims
        cells = {(p.problem, p.algorithm, p.horizon): c for p, c in results.cells()}
    plotted = cells[REGRET, "PFS as plotted", 20_000]
    assert plotted.facts.verdict.word == "premise broken"
    assert "exceeds G_f = 1" in plotted.facts.verdict.sentence
    assert plotted.facts.constants["G_f"] == (1.0, "specification")
    regret = plotted.arrays["regret"]
    shown = f"| PFS as plotted | {regret.mean():.2f} ± {regret.std():.2f} | 0 |"
    assert shown in page
    again = run(small, found.outcome.folder, workers=0)
    assert (again.done, again.skipped) == (0, found.outcome.cells)
    assert not any(c.arrays["violations"].any() for k, c in cells.items() if "PFS" in k[1])
