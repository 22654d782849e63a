"""Knowledge from numbers: which kind certifies a limit, and what is refused."""

import pytest

from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import (
    Column,
    ContextHull,
    Curvature,
    LimitConstants,
    LipschitzHull,
    Together,
    certify_limits,
)
from surefoot.sets import Box

BOX = Box([0.0, 0.0], [1.0, 1.0])
STEEP = LimitConstants(2.0, -1.0, value_error=0.1, evaluation_error=1e-9, drift=0.01)
BENT = LimitConstants(None, -1.0, beta=3.0)
WARM = LimitConstants(2.0, -1.0, columns=(Column(G_c=1.0, worse="up"), Column(adds=2.0)))


def test_a_limit_has_the_kind_that_its_constants_certify_by():
    steep, bent, warm = (certify_limits([limit], BOX) for limit in (STEEP, BENT, WARM))
    assert isinstance(steep, LipschitzHull)
    assert (steep.G_g, steep.start_bound, steep.domain) == (2.0, -1.0, BOX)
    assert (steep.errors.value, steep.errors.evaluation, steep.errors.drift) == (0.1, 1e-9, 0.01)
    assert isinstance(bent, Curvature)
    assert (bent.beta, bent.convex) == (3.0, True)
    off = [certify_limits([BENT._replace(slope_error=e)], BOX).errors.slope for e in (0.0, 0.3)]
    assert off == [0.0, 0.3]
    assert isinstance(warm, ContextHull)
    assert tuple(warm.context.columns) == WARM.columns
    assert warm.start_bound == -1.0


def test_a_limit_that_is_not_convex_stays_so():
    loose = BENT._replace(is_convex=False)
    assert not certify_limits([loose], BOX).convex
    rows = certify_limits([STEEP._replace(drift=0.0), loose], BOX)
    assert isinstance(rows, Together)
    assert not rows.convex


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        (STEEP._replace(G_g=None), "a limit must have G_g or beta, got neither"),
        (STEEP._replace(slope_error=0.3), "slope_error must be 0 where G_g certifies by values"),
        (STEEP._replace(is_convex=False), "G_g must be that of a convex limit, got 2 of one"),
        (BENT._replace(drift=0.1), "beta must be that of a limit that neither drifts nor has"),
        (BENT._replace(columns=WARM.columns), "beta must be that of a limit that neither drifts"),
    ],
)
def test_what_cannot_be_certified_is_refused(limit, sentence):
    with pytest.raises(InvalidValueError, match=sentence):
        certify_limits([limit], BOX)
