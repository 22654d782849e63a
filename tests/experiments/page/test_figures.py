import gc
import itertools
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex, to_rgb  # noqa: E402
from matplotlib.patches import Circle  # noqa: E402

from surefoot.experiments import (  # noqa: E402
    Results,
    figures,
    gather,
)
from surefoot.experiments.figures import (  # noqa: E402
    NothingToDraw,
    action_figure,
    cost_figure,
    instant_figure,
    path_figure,
    regret_figure,
    save_figure,
    save_figures,
    violation_figure,
)
from surefoot.experiments.figures.paper import Panels, paper_figure  # noqa: E402
from surefoot.experiments.figures.plane import paper_actions  # noqa: E402
from surefoot.experiments.figures.sheet import COLOURS, look_of, pick_longest, thin  # noqa: E402
from surefoot.experiments.record import Sourced, VerdictFacts  # noqa: E402
from surefoot.experiments.rows import (  # noqa: E402
    Row,
    algorithms,
    mean_std,
)

EVERY_FIGURE = {
    name: getattr(figures, f"{name.removesuffix('s')}_figure")
    for name in ("regret", "path", "violation", "instant", "actions", "cost")
}
HORIZONS = [2_000, 8_000, 20_000]


def group_of(rows, algorithm, problem="paper toy"):
    mine = [r for r in rows if (r.problem, r.algorithm) == (problem, algorithm)]
    return sorted(mine, key=lambda r: r.horizon)


def curves(ax):
    """The error bars of an axes by their label: horizons, means, deviations, colour."""
    found = {}
    for bars in ax.containers:
        line, _, (segments,) = bars
        ends = np.array([s[:, 1] for s in segments.get_segments()])
        std = (ends[:, 1] - ends[:, 0]) / 2
        colour = to_hex(line.get_color()).upper()
        found[bars.get_label()] = (*line.get_data(), std, colour)
    return found


def lines(ax, label):
    return [line for line in ax.lines if line.get_label() == label]


def texts(figure):
    return [t.get_text() for legend in figure.legends for t in legend.get_texts()]


def title(ax):
    return ax.get_title(loc="left").replace("\n", " ")


def made(algorithm, means, number=0, **arrays):
    return [
        Row(
            problem="p",
            algorithm=algorithm,
            horizon=T,
            trials=2,
            status="done",
            arrays={"regret": np.array([mean - 1.0, mean + 1.0]), **arrays},
            number=number,
        )
        for T, mean in means.items()
    ]


# --- looks ---------------------------------------------------------------------------------------


def test_the_first_64_algorithms_all_look_different():
    looks = map(look_of, range(64))
    assert len({(x["color"], x["marker"], str(x["ls"])) for x in looks}) == 64


# What an eye without one of its three cones sees of linear RGB: each row sums to one, so that grey
# stays grey (Viénot, Brettel and Mollon 1999 for the first two).
BLIND = {
    "protanopia": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deuteranopia": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    "full sight": np.eye(3),
}


@pytest.mark.parametrize("eye", BLIND)
def test_colours_are_apart_for_every_eye_and_from_the_paper(eye):
    rgb = np.array([to_rgb(c) for c in (*COLOURS, "#FFFFFF")])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(BLIND[eye], dtype=float).T, 0, 1)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    scaled = np.cbrt(seen @ to_xyz.T / to_xyz.sum(axis=1) + 1e-3)
    lab = scaled @ np.array([[0, 116, 0], [500, -500, 0], [0, 200, -200]], dtype=float).T
    distance = min(np.linalg.norm(a - b) for a, b in itertools.combinations(lab, 2))
    assert distance > 10  # about four times what can just be told apart side by side


@pytest.mark.slow
def test_an_algorithm_keeps_its_colour_whatever_else_is_drawn(rows):
    labels = algorithms(rows)
    shuffled = [rows[i] for i in np.random.default_rng(5).permutation(len(rows))]
    more = [*made("another", {2_000: 4.0}, number=len(labels)), *rows]
    for drawn in (
        regret_figure(rows),
        regret_figure(shuffled, "paper toy"),
        regret_figure(more, "paper toy"),
        regret_figure(rows, algorithms=["OGD", "DPP"]),
        regret_figure(rows, "sparse budget", ["OGD"]),
    ):
        for label, (*_, colour) in curves(drawn.axes[0]).items():
            assert colour == look_of(labels.index(label))["color"]
    bars = cost_figure(rows, algorithms=["OGD"]).axes[0].patches
    assert to_hex(bars[0].get_facecolor()).upper() == look_of(labels.index("OGD"))["color"]


def test_style_is_for_a_column_or_the_page_and_nothing_else(rows):
    column, page = (regret_figure(rows, width=w).get_figwidth() for w in ("column", "page"))
    assert 3.2 < column < 3.5
    assert 6.5 < page < 7.2
    with pytest.raises(ValueError, match="'column' or 'page', got 'poster'"):
        regret_figure(rows, width="poster")


# --- regret --------------------------------------------------------------------------------------


def test_regret_shows_means_and_deviations_of_the_rows(rows):
    ax = regret_figure(rows).axes[0]
    shown = curves(ax)
    assert list(shown) == ["PFS, Corollary 1", "DPP", "PFS as plotted", "Certified", "OGD"]
    for label, (T, mean, std, _) in shown.items():
        expected = np.array([mean_std(r, "regret") for r in group_of(rows, label)])
        assert list(T) == HORIZONS
        np.testing.assert_array_equal(mean, expected[:, 0])
        np.testing.assert_allclose(std, expected[:, 1], rtol=1e-12)
    assert ax.xaxis.get_major_formatter()(20_000, 0) == "20k"


def test_a_bound_is_dashed_and_one_that_claims_nothing_dotted(rows):
    figure = regret_figure(rows)
    dashed, dotted = lines(figure.axes[0], "_bound"), lines(figure.axes[0], "_no claim")
    assert len(dashed) == 3
    (broken,) = dotted
    # A dash is longer than a dot, whatever the lines are called.
    assert all(line._unscaled_dash_pattern[1][0] == 3.5 for line in dashed)
    assert broken._unscaled_dash_pattern[1][0] == 1
    bounds = [r.guarantee.regret_bound for r in group_of(rows, "PFS as plotted")]
    np.testing.assert_array_equal(broken.get_data(), [HORIZONS, bounds])
    assert to_hex(broken.get_color()).upper() == look_of(2)["color"]
    assert {"bound of the theorem", "no claim: a premise broke"} <= set(texts(figure))


def test_where_the_premises_held_at_some_horizons_only_both_lines_are_drawn(rows):
    mixed = [
        replace(r, facts=replace(r.facts, verdict=VerdictFacts(word="premise broken")))
        if r.horizon == 20_000
        else r
        for r in group_of(rows, "DPP")
    ]
    ax = regret_figure(mixed).axes[0]
    assert [list(line.get_xdata()) for line in lines(ax, "_bound")] == [HORIZONS[:2]]
    assert [list(line.get_xdata()) for line in lines(ax, "_no claim")] == [HORIZONS[2:]]


def test_what_a_logarithmic_axis_cannot_show_is_said():
    rows = made("good", {10: 5.0, 40: 10.0, 90: 600.0})
    rows += made("lucky", {10: -3.0, 40: 7.0, 90: 9.0}, number=1)
    rows += made("cheat", {10: -3.0, 40: 0.0}, number=2)
    both = regret_figure(rows).axes[0]
    assert both.get_yscale() == "symlog"  # wide, and nothing is left out
    assert both.get_ylim()[0] < -3 < 600 < both.get_ylim()[1]
    assert 0.0 in both.get_yticks()
    assert "not shown" not in title(both)


def test_regret_against_the_rounds_has_a_band_and_the_bound_of_each_round(rows):
    figure = path_figure(rows)
    ax, row = figure.axes[0], group_of(rows, "DPP")[-1]
    regret, at = row.arrays["regret_path"], thin(200)
    (line,) = lines(ax, "DPP")
    np.testing.assert_array_equal(line.get_xdata(), row.arrays["rounds"][at])
    np.testing.assert_allclose(line.get_ydata(), regret.mean(axis=1)[at])
    band = ax.collections[1].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx((regret.mean(axis=1) + regret.std(axis=1))[at].max())
    # A theorem whose premises broke has no bound here, and who claims nothing has none.
    bounds = [line.get_ydata()[-1] for line in lines(ax, "_bound")]
    held = [group_of(rows, label)[-1] for label in ("PFS, Corollary 1", "DPP", "Certified")]
    np.testing.assert_allclose(bounds, [r.arrays["bound_path"][-1] for r in held])
    assert "bound of the theorem" in texts(figure)
    assert "T = 20,000" in title(ax)


# --- violation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", ["column", "page"])
def test_cumulative_violation_has_both_measures(rows, width):
    figure = violation_figure(rows, width=width)
    for ax, measure in zip(figure.axes, ("positive_sum", "sum_positive"), strict=True):
        for label, (T, mean, *_) in curves(ax).items():
            expected = [mean_std(r, measure)[0] for r in group_of(rows, label)]
            np.testing.assert_array_equal([T, mean], [HORIZONS, expected])
        assert "0 at every T: PFS, Corollary 1, PFS as plotted, Certified" in title(ax)
    bounded = [lines(ax, "_bound") for ax in figure.axes]
    assert list(map(len, bounded)) == [1, 0]  # DPP bounds the sum, not the positive parts' sum
    assert list(bounded[0][0].get_ydata()) == [40.0] * 3


def test_a_bound_far_above_does_not_flatten_what_is_below(rows):
    (row,) = [r for r in group_of(rows, "DPP") if r.horizon == 2_000]
    loose = replace(row.facts.guarantee, bounds={"positive_sum": 1e6})
    figure = violation_figure([replace(row, facts=replace(row.facts, guarantee=loose))])
    assert [ax.get_yscale() for ax in figure.axes] == ["symlog", "linear"]


def test_instants_show_mean_band_and_peak(rows):
    figure = instant_figure(rows)
    ax = figure.axes[0]
    (row,) = [
        r for r in rows if (r.problem, r.algorithm, r.horizon) == ("paper toy", "DPP", 20_000)
    ]
    above = np.maximum(row.arrays["constraint"], 0)
    (line,) = lines(ax, "DPP")
    at = thin(len(above))
    np.testing.assert_array_equal(line.get_xdata(), row.arrays["rounds"][at])
    np.testing.assert_allclose(line.get_ydata(), above.mean(axis=1)[at])
    band = ax.collections[1].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx((above.mean(axis=1) + above.std(axis=1))[at].max())
    assert band[:, 1].min() == 0.0  # there is no violation below 0
    peaks = [line.get_ydata().max() for line in lines(ax, "_peak")]
    assert peaks[1] == pytest.approx(row.arrays["peak"].max())
    assert "no violation in any round: PFS, Corollary 1, PFS as plotted, Certified" in title(ax)
    assert "T = 20,000" in title(ax)


def test_instants_of_who_never_violates_are_a_line_at_zero(rows):
    ax = instant_figure(rows, algorithms=["PFS, Corollary 1", "Certified"]).axes[0]
    assert ax.get_ylim()[1] == 1.0
    assert title(ax).endswith("no violation in any round: all")


# --- the plane -----------------------------------------------------------------------------------


def test_the_plane_shows_actions_set_best_and_balls(rows):
    figure = action_figure(rows, algorithms=["Certified", "OGD"])
    row = group_of(rows, "Certified")[-1]
    actions, g = row.arrays["actions"][:, 0], row.arrays["constraint"][:, 0]
    ax = figure.axes[0]
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), actions[thin(200, 40)])
    np.testing.assert_array_equal(ax.patches[0].get_xy(), row.arrays["boundary"])
    np.testing.assert_array_equal(np.squeeze(ax.lines[0].get_data()), row.arrays["best"][0])
    balls = [p for p in ax.patches if isinstance(p, Circle)]
    assert len(balls) == 8
    for ball in balls:
        (i,) = np.flatnonzero((actions == ball.center).all(axis=1))
        assert ball.radius == -g[i]  # G_g = 1
    assert {"certified balls", "feasible set", "best fixed action"} <= set(texts(figure))
    # All of OGD's kept actions but the first are outside: nothing is certified around them.
    assert (group_of(rows, "OGD")[-1].arrays["constraint"][:, 0] < 0).sum() == 1
    assert len([p for p in figure.axes[1].patches if isinstance(p, Circle)]) == 1


def test_a_larger_constant_makes_smaller_balls_and_none_draws_none(rows):
    row = group_of(rows, "Certified")[-1]

    def radii(constants):
        drawn = action_figure([replace(row, facts=replace(row.facts, constants=constants))])
        return [p.radius for p in drawn.axes[0].patches if isinstance(p, Circle)]

    ones, fours = radii({"G_g": Sourced(1.0, "derived")}), radii({"G_g": Sourced(4, "given")})
    np.testing.assert_allclose(fours, np.array(ones) / 4)
    assert radii({}) == []


def test_a_start_is_marked_where_it_is_known(rows):
    row = group_of(rows, "DPP")[-1]
    assert "start" not in texts(action_figure([row]))
    facts = replace(row.facts, problem=replace(row.facts.problem, start=(0.1, -0.2)))
    ax = action_figure([replace(row, facts=facts)]).axes[0]
    assert [0.1, -0.2] in [list(np.ravel(line.get_data())) for line in ax.lines]


# --- costs ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_calls_and_times_are_the_rows(rows):
    (ax,) = cost_figure(rows).axes
    assert [bar.get_width() for bar in ax.patches] == [1.5, 9.5, 1.5, 1.5, 1.5]
    said = [t.get_text() for t in ax.texts]
    assert said[1] == "9.5 (batch): 1 cost gradient, 1 g, 1 subgradient, ≤ 0.25 inner solve"
    assert said[4].endswith("1 subgradient, 1 projection")
    assert [t.get_text() for t in cost_figure(rows, width="column").axes[0].texts][1] == (
        "9.5 (batch)"
    )


# --- the paper's figures -------------------------------------------------------------------------


def test_the_papers_panels_have_published_points_hollow(rows):
    panels = Panels(
        problem="paper toy",
        violation_problem="sparse budget",
        settings=(),
        published={
            "regret": {"DPP": {2_000: 45.0, 20_000: 142.0}},
            "positive_sum": {"DPP": {20_000: 37.0}},
        },
    )
    figure = paper_figure(rows, panels, {"PFS as plotted": "PFS", "DPP": "DPP"})
    first, second, third = figure.axes
    (points,) = lines(first, "_published")
    np.testing.assert_array_equal(points.get_data(), [[2_000, 20_000], [45.0, 142.0]])
    assert points.get_markerfacecolor() == "none"
    assert to_hex(points.get_color()).upper() == look_of(1)["color"]
    assert len(lines(second, "_published")) == 1
    mean = [mean_std(r, "positive_sum")[0] for r in group_of(rows, "DPP", "sparse budget")]
    np.testing.assert_array_equal(curves(second)["DPP"][1], mean)
    above = np.maximum(group_of(rows, "DPP", "sparse budget")[-1].arrays["constraint"], 0)
    at = thin(len(above))
    np.testing.assert_allclose(lines(third, "DPP")[0].get_ydata(), above.mean(axis=1)[at])
    assert texts(figure) == ["PFS", "DPP", "hollow: published", "largest in any trial"]
    plain = paper_figure(
        rows,
        Panels("paper toy", "paper toy", settings=(), published={}),
        {"DPP": "DPP"},
    )
    assert texts(plain) == ["DPP", "largest in any trial"]


def test_the_papers_second_figure_has_every_300th_action(rows):
    figure = paper_actions(rows, {"PFS, Corollary 1": "PFS", "OGD": "DPP"})
    row = group_of(rows, "OGD")[-1]
    shown = row.arrays["actions"][row.arrays["rounds"] % 300 == 0, 0]
    assert len(shown) == 66
    for ax in figure.axes:
        np.testing.assert_array_equal(lines(ax, "DPP")[0].get_data(), shown.T)
    assert texts(figure)[:2] == ["PFS", "DPP"]


# --- what is not there, what is too much ---------------------------------------------------------


@pytest.mark.parametrize("draw", EVERY_FIGURE.values(), ids=EVERY_FIGURE)
def test_rows_without_the_data_are_nothing_to_draw(draw, rows):
    rejected = [r for r in rows if r.algorithm == "Jenatton"]
    for given in ([], rejected):
        with pytest.raises(NothingToDraw):
            draw(given)


def test_no_plane_without_two_dimensions_and_no_paths_where_none_were_kept(rows):
    with pytest.raises(NothingToDraw, match="'sparse budget' has actions in the plane"):
        action_figure(rows, "sparse budget")
    bare = [replace(r, arrays={"largest": r.arrays["largest"]}) for r in rows if r.played]
    with pytest.raises(NothingToDraw, match="has paths over the rounds"):
        instant_figure(bare)


def test_an_unknown_name_is_a_mistake(rows):
    with pytest.raises(ValueError, match=r"problem must be one of \['paper toy'"):
        regret_figure(rows, "toy")
    with pytest.raises(ValueError, match="got 'PFS'"):
        regret_figure(rows, algorithms=["PFS"])


def test_many_algorithms_leave_room_for_eight_and_named_ones_for_all():
    long = "a row whose label goes on and on until it has no more to say, "
    rows = [r for n in range(45) for r in made(f"{long}{n}", {10: n + 2.0, 90: n + 9.0}, number=n)]
    figure = regret_figure(rows)
    assert len(curves(figure.axes[0])) == 8
    assert texts(figure)[7].endswith("7")
    every = regret_figure(rows, algorithms=algorithms(rows), width="page")
    assert len(curves(every.axes[0])) == 45


def test_labels_are_text_and_nothing_else():
    hostile = ["$\\frac{1}{", "_hidden", "two\nlines", "100 % & #", "\\textbf{x}", "{[^_"]
    rows = [r for n, name in enumerate(hostile) for r in made(name, {10: 3.0, 90: 8.0}, number=n)]
    figure = regret_figure(rows)
    figure.draw_without_rendering()
    assert [t.strip().replace("\\$", "$") for t in texts(figure)] == [
        " ".join(name.split()) for name in hostile
    ]


@pytest.mark.slow
@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("name", EVERY_FIGURE)
def test_nothing_lies_over_anything_or_outside(name, width, rows):
    figure = EVERY_FIGURE[name](rows, width=width)
    figure.draw_without_rendering()
    paper = figure.bbox
    boxes = [ax.get_tightbbox() for ax in figure.axes if ax.get_visible()]
    boxes += [legend.get_window_extent() for legend in figure.legends]
    for box in boxes:
        assert paper.x0 - 1 <= box.x0 < box.x1 <= paper.x1 + 1
        assert paper.y0 - 1 <= box.y0 < box.y1 <= paper.y1 + 1
    for a, b in itertools.combinations(boxes, 2):
        overlap = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap) <= 1  # one pixel


def test_one_horizon_is_the_longest_that_all_have(rows):
    short = [r for r in group_of(rows, "OGD") if r.horizon < 20_000]
    groups = {"DPP": group_of(rows, "DPP"), "OGD": short}
    assert {row.horizon for row in pick_longest(groups).values()} == {8_000}
    assert pick_longest({"DPP": groups["DPP"]})["DPP"].horizon == 20_000


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_figure_there_is_data_for_is_saved_as_pdf_and_svg(results, tmp_path, monkeypatch):
    # What is in the files is the next test's matter: all of them take seconds to render.
    monkeypatch.setattr(
        figures, "render_figure", lambda figure, formats: dict.fromkeys(formats, b"")
    )
    paths = save_figures(gather(results), tmp_path / "figures")
    stems = [f"paper-toy-{name}" for name in EVERY_FIGURE]
    stems += [f"sparse-budget-{name}" for name in EVERY_FIGURE if name != "actions"]
    assert sorted(p.name for p in paths) == sorted(
        f"{stem}.{ending}" for stem in stems for ending in ("pdf", "svg")
    )
    assert sorted((tmp_path / "figures").iterdir()) == sorted(paths)  # and no part of one


@pytest.mark.slow
def test_the_same_figure_is_the_same_file(rows, tmp_path):
    first, second = (
        save_figure(
            instant_figure(rows, algorithms=["DPP"]), tmp_path / name, ["pdf", "png", "svg"]
        )
        for name in "ab"
    )
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()
        assert b"CreationDate" not in a.read_bytes()
    assert [a.read_bytes()[:4] for a in first] == [b"%PDF", b"\x89PNG", b"<?xm"]


def test_an_experiment_without_anything_played_has_no_figures(sample, tmp_path):
    rejected = [(p, c) for p, c in sample.cells if p.algorithm == "Jenatton"]
    with Results.open(sample.write(tmp_path / "r.sqlite", rejected)) as results:
        assert save_figures(gather(results), tmp_path / "figures") == []


def test_a_file_that_cannot_be_written_leaves_the_old_one(rows, tmp_path, monkeypatch):
    old = tmp_path / "regret.png"
    old.write_bytes(b"old")

    def full(self, data):
        self.touch()
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        save_figure(regret_figure(rows, algorithms=["DPP"]), tmp_path / "regret", ["png"])
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_bytes() == b"old"


def test_an_unknown_format_is_refused_before_anything_is_written(rows, tmp_path):
    with pytest.raises(ValueError, match="'pdf', 'png', 'svg', got 'exe'"):
        save_figure(None, tmp_path / "new" / "x", ["pdf", "exe"])
    assert list(tmp_path.iterdir()) == []


def test_labels_in_any_script_are_saved_without_a_warning(tmp_path):
    save_figure(regret_figure(made("制約 ☃", {10: 3.0, 90: 8.0})), tmp_path / "x", ["png"])


@pytest.mark.slow
def test_figures_leave_nothing_behind(rows):
    from matplotlib._pylab_helpers import Gcf

    before = dict(matplotlib.rcParams)
    figure = regret_figure(rows)
    gone = weakref.ref(figure)
    assert dict(matplotlib.rcParams) == before
    assert not [m for m in Gcf.figs.values() if m.canvas.figure is figure]
    del figure
    gc.collect()
    assert gone() is None


def test_a_missing_library_is_one_sentence(rows, monkeypatch):
    def gone(name, *_):
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", gone)
    with pytest.raises(ImportError, match=r"a figure needs matplotlib.*surefoot\[plot\]"):
        figures.regret_figure(rows)
