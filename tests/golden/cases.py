"""Which player is recorded on which streams: the recorder's table, all of it plain data."""

from functools import partial

ERRORS = {
    "exact": {},
    "value": {"value_error": 0.01},
    "slope": {"slope_error": 0.05},
    "drift": {"drift": 5e-4},
    "all": {"value_error": 5e-3, "slope_error": 0.02, "drift": 3e-4},
    "own errors": {"value_error": 0.01, "own_errors": True},
}
SIZES = (2, 20, 100)
EXACT, ROUGH, UNFINISHED = 1e-12, 1e-9, 1e-3
"""How far off an action may be; slopes that are differences of values lose digits."""


def stream(limit, d, errors, **more):
    """Return the name of a stream and its plain data, which lacks the seed."""
    words = [limit, str(d), errors, *(k if v is True else f"{k} {v}" for k, v in more.items())]
    return ", ".join(words), {"limit": limit, "dimension": d, **ERRORS.get(errors, {}), **more}


def streams(limit, *which, **more):
    return [stream(limit, d, errors, **more) for d, errors in which]


ALL = [(d, errors) for d in (2, 20) for errors in ERRORS] + [(100, "exact"), (100, "all")]
SOME = [(2, "exact"), (2, "all"), (20, "value"), (20, "slope"), (20, "drift"), (100, "exact")]
FEW = [(2, "drift"), (20, "exact"), (100, "all")]


def hull(**more):
    """Twenty streams for what rests on a bound on slopes."""
    curved = [(d, errors) for d in (2, 20) for errors in ("exact", "drift", "all")]
    return streams("polytope", *ALL, **more) + streams("bowl", *curved, **more)


def separately(**more):
    """Streams for what sees rows apart, with known and announced sets; searches take their time."""
    short = {"rounds": 60}
    announced = {"box": 0.4, "announced": True}
    return [
        *streams("rows", (2, "exact"), (20, "value"), (20, "drift"), (100, "exact"), **more),
        *streams("rows", (2, "all"), (20, "slope"), **short, **more),
        *streams("rows", (2, "value"), (20, "exact"), (100, "drift"), **short, box=0.4, **more),
        *streams("rows", (2, "drift"), (20, "value"), (100, "exact"), **short, **announced, **more),
    ]


def all_announced(**more):
    """What takes a descent seconds for a round: errors of slopes, drift, an announced set."""
    return streams("rows", (2, "all"), rounds=40, box=0.4, announced=True, **more)


# --- players, each from its stream --------------------------------------------------------------


def reach(s):
    return s.box * s.dimension**0.5 if s.box else s.g.constants["R"]


def ball(s):
    return {"class": "Ball", "radius": s.g.constants["R"]}


def box(s):
    return {"class": "Box", "lower": [-s.box] * s.dimension, "upper": [s.box] * s.dimension}


def errors(s):
    return {n: getattr(s, n) for n in ("value_error", "slope_error", "drift") if getattr(s, n)}


def tuned(kind, tuning, s, horizon=None, **more):
    known = {"class": "Constants", **s.constants, **more}
    table = {"class": kind, "tuning": tuning, "constants": known}
    return table if horizon is None else table | {"horizon": horizon}


def leader(s, **more):
    known = {"G_g": s.g.constants["G_g"], "domain": ball(s)}
    return {"class": "LeaderFollower", **known, **errors(s), **more}


def off_centre(s, **more):
    """A leader whose ball has its centre somewhere else."""
    centre = [0.05 * (-1.0) ** i for i in range(s.dimension)]
    radius = s.g.constants["R"] + 0.05 * s.dimension**0.5
    return leader(s, domain={"class": "Ball", "radius": radius, "centre": centre}, **more)


def own_leader(s):
    return leader(s, leader={"class": "OGD", "eta": 0.1, "domain": ball(s)})


def curvature(s, **more):
    known = {"beta": s.g.constants["beta"], "reach": reach(s)}
    return {"class": "Curvature", **known, **errors(s), **more}


def rows(s, **more):
    domain = {"domain": box(s)} if s.box else {}
    return curvature(s, **domain, **more) | {"class": "CurvatureRows"}


def lipschitz(s):
    return {"class": "LipschitzHull", "G_g": s.g.constants["G_g"], "reach": reach(s), **errors(s)}


def together(s):
    """Every second row by its curvature, the others by their slopes."""
    each = [curvature(s, beta=beta) for beta in s.g.constants["beta"]]
    each[1::2] = [lipschitz(s) for _ in each[1::2]]
    return {"class": "Together", "rows": each, **({"domain": box(s)} if s.box else {})}


def descent(known, s, **more):
    return {"class": "CertifiedOGD", "known": known(s), "radius": reach(s), **more}


def averaging(known, s, **more):
    return {"class": "CertifiedDualAveraging", "known": known(s), "radius": reach(s), **more}


def region_filter(known, s):
    return {"class": "RegionFilter", "known": known(s)}


def delayed(base, s, **more):
    return {"class": "Delayed", "base": base(s), "delay": s.late or 2, **more}


def averaged(base, s, **more):
    return {"class": "Averaged", "base": base(s), "sigma": s.noise, **more}


def of(name, player, found, tolerance=EXACT):
    return [(f"{name}: {words}", player, plain, tolerance) for words, plain in found]


# --- the golden files ---------------------------------------------------------------------------


def leader_follower():
    default = partial(tuned, "LeaderFollower", "default")
    some = [*streams("polytope", *SOME[:5]), stream("bowl", 20, "exact")]
    large = [(100, "value"), (100, "slope"), (100, "drift")]
    strayed = streams("polytope", (2, "exact"), (20, "value"), (20, "drift"), strays=True)
    shallow = streams("polytope", (2, "exact"), (20, "exact"), (20, "drift"), shallow=True)
    strong = partial(tuned, "LeaderFollower", "strongly_convex", strong_convexity=0.3)
    rounding = partial(tuned, "LeaderFollower", "default", evaluation_error=1e-6)
    return [
        *of("default", default, hull() + streams("polytope", *large)),
        *of("strongly convex", strong, some),
        *of("own leader", own_leader, some),
        *of("few cuts", partial(leader, cuts=3), [*some, stream("polytope", 100, "exact")]),
        *of("default", default, shallow),
        *of("off centre", off_centre, streams("polytope", *FEW[:2])),
        *of("evaluation error", rounding, streams("bowl", (2, "exact"), (20, "all"))),
        *of("default", default, strayed),
    ]


def certified_pfs():
    default = partial(tuned, "CertifiedPFS", "default")
    plain = {"class": "CertifiedPFS", "rho": 0.2}

    def given(s, **more):
        return plain | {"G_g": s.g.constants["G_g"], "domain": ball(s)} | errors(s) | more

    few = streams("polytope", *FEW[:2])
    noisy = streams("polytope", (2, "noise"), (20, "noise"), noise=2e-3)
    return [
        *of("default", default, hull()),
        *of("known horizon", partial(tuned, "CertifiedPFS", "known_horizon", horizon=200), few),
        *of("no ratchet", partial(given, ratchet=False), few),
        *of("fixed steps", partial(given, eta=0.2, decreasing=False), few),
        *of("sigma", partial(given, sigma=0.2), streams("polytope", (2, "exact"), (20, "exact"))),
        *of("delayed", partial(delayed, default), streams("polytope", (2, "exact"), (20, "all"))),
        *of("averaged", partial(averaged, given), noisy),
    ]


def safety_filter():
    default = partial(tuned, "SafetyFilter", "default")

    def given(s, **more):
        known = {"G_g": s.g.constants["G_g"], "domain": ball(s), "rho": 0.1}
        return {"class": "SafetyFilter"} | known | errors(s) | more

    exact = streams("polytope", (2, "exact"), (20, "exact"), proposes=True)
    return [
        *of("default", default, hull(proposes=True)),
        *of("fixed margin", given, streams("polytope", *FEW, proposes=True)),
        *of("sigma", partial(given, sigma=0.2), exact),
    ]


def region_filter_hull():
    strayed = [(2, "exact"), (20, "value"), (20, "drift")]
    return [
        *of("default", partial(tuned, "RegionFilter", "default"), hull(proposes=True)),
        *of(
            "hull",
            partial(region_filter, lipschitz),
            streams("polytope", *strayed, strays=True, proposes=True),
        ),
    ]


def region_filter_curvature():
    strayed = [(2, "exact"), (20, "drift")]
    found = [
        *streams("bowl", *ALL, proposes=True),
        *streams("bowl", *strayed, strays=True, proposes=True),
    ]
    return of("curvature", partial(region_filter, curvature), found)


def region_filter_rows():
    found = separately(proposes=True) + all_announced(proposes=True)
    return of("rows", partial(region_filter, rows), found)


def region_filter_together():
    """In many dimensions a search by half-spaces ends before its last digits."""
    short, announced = {"rounds": 60, "proposes": True}, {"box": 0.4, "announced": True}
    player = partial(region_filter, together)
    small = [
        *streams("rows", (2, "exact"), **short),
        *streams("rows", (2, "drift"), box=0.4, **short),
        *streams("rows", (2, "exact"), **announced, **short),
        *streams("rows", (2, "all"), rounds=20, proposes=True),
    ]
    large = [
        *streams("rows", (20, "value"), (100, "exact"), **short),
        *streams("rows", (20, "exact"), box=0.4, **short),
        *streams("rows", (20, "slope"), rounds=20, proposes=True),
        *streams("rows", (100, "slope"), **announced, rounds=20, proposes=True),
    ]
    return of("together", player, small) + of("together", player, large, UNFINISHED)


def certified_ogd():
    few = streams("bowl", *FEW)
    strayed = streams("bowl", (2, "exact"), (20, "drift"), strays=True)
    return [
        *of("default", partial(tuned, "CertifiedOGD", "default"), streams("bowl", *ALL)),
        *of("no ratchet", partial(descent, curvature, ratchet=False), few),
        *of("fixed steps", partial(descent, curvature, eta=0.1), few),
        *of("evaluation error", partial(descent, partial(curvature, evaluation_error=1e-6)), few),
        *of("default", partial(tuned, "CertifiedOGD", "default"), strayed),
        *of("rows", partial(descent, rows), separately()),
    ]


def certified_dual_averaging():
    few, kind = streams("bowl", *FEW), "CertifiedDualAveraging"
    strayed = streams("bowl", (2, "exact"), (20, "drift"), strays=True)
    return [
        *of("default", partial(tuned, kind, "default"), streams("bowl", *ALL)),
        *of("known horizon", partial(tuned, kind, "known_horizon", horizon=200), few),
        *of("default", partial(tuned, kind, "default"), strayed),
        *of("rows", partial(averaging, rows), separately() + all_announced()),
        *of("rows, far", partial(averaging, rows, far=0.3), streams("rows", *FEW, rounds=60)),
    ]


def values_follower():
    default = partial(tuned, "ValuesFollower", "default")
    which = [(d, errors) for d in SIZES for errors in ("exact", "value", "drift")]
    curved = [(2, "exact"), (20, "exact"), (20, "own errors")]
    found = streams("polytope", *which, values_only=True)
    return of("default", default, found + streams("bowl", *curved, values_only=True))


def values_averaging():
    """Where values err by more than a little, or d = 2, its probes soon hang on the last bit."""
    default, told = partial(tuned, "ValuesAveraging", "default"), {"values_only": True}
    exact = [*streams("bowl", (20, "exact"), (100, "exact"), **told)]
    err = streams("bowl", (20, "errs"), (100, "errs"), value_error=1e-5, **told)
    own = streams("bowl", (20, "errs"), value_error=1e-5, own_errors=True, **told)
    short = [
        *streams("bowl", (2, "exact"), (20, "value"), rounds=40, **told),
        stream("bowl", 2, "errs", rounds=40, value_error=1e-5, **told),
    ]
    return of("default", default, [*exact, *err, *own, *short], ROUGH)


def delayed_rules():
    default = partial(tuned, "LeaderFollower", "default")
    far = partial(averaging, curvature, far=0.3)
    descends = partial(descent, curvature)
    polytopes = streams("polytope", *SOME)
    bowls = streams("bowl", (2, "drift"), (20, "exact"), (20, "all"))
    late = {"late": True}
    some = [(2, "exact"), (20, "drift"), (100, "all")]
    return [
        *of("copies, leader", partial(delayed, default), polytopes),
        *of("copies, averaging", partial(delayed, far), bowls),
        *of("copies, descent", partial(delayed, descends), bowls),
        *of("ahead, leader", partial(delayed, default, copies=False), polytopes[:5]),
        *of("ahead, averaging", partial(delayed, far, copies=False), bowls),
        *of(
            "late, copies",
            partial(delayed, default, **late),
            streams("polytope", *some[:2], late=3),
        ),
        *of(
            "late, ahead",
            partial(delayed, default, copies=False, **late),
            streams("polytope", *some, late=3),
        ),
        *of(
            "late, ahead, averaging",
            partial(delayed, far, copies=False, **late),
            streams("bowl", (2, "exact"), (20, "all"), late=2),
        ),
    ]


def averaged_rules():
    follower = partial(averaged, partial(tuned, "ValuesFollower", "default"))
    follows, averages = (
        partial(averaged, leader),
        partial(averaged, partial(averaging, curvature, far=99.0)),
    )
    quiet, sizes = {"noise": 2e-3}, [(d, "noise") for d in SIZES]
    drifts, slopes = [(2, "drift"), (20, "drift")], [(20, "slope")]
    values = streams("polytope", *sizes[:2], **quiet, values_only=True)
    return [
        *of("leader", follows, streams("polytope", *sizes, *drifts, **quiet)),
        *of("leader", follows, streams("polytope", *slopes, **quiet), ROUGH),
        *of("short", partial(follows, longest=16), streams("polytope", *sizes, noise=2e-2)),
        *of("averaging", averages, streams("bowl", *sizes, *drifts, **quiet)),
        *of("averaging", averages, streams("bowl", *slopes, **quiet), ROUGH),
        *of("values", follower, values, ROUGH),
    ]


FILES = {
    "leader_follower": leader_follower,
    "certified_pfs": certified_pfs,
    "safety_filter": safety_filter,
    "region_filter_hull": region_filter_hull,
    "region_filter_curvature": region_filter_curvature,
    "region_filter_rows": region_filter_rows,
    "region_filter_together": region_filter_together,
    "certified_ogd": certified_ogd,
    "certified_dual_averaging": certified_dual_averaging,
    "values_follower": values_follower,
    "values_averaging": values_averaging,
    "delayed": delayed_rules,
    "averaged": averaged_rules,
}
"""The golden files, and what makes their cases: name, player of a stream, stream, tolerance."""
