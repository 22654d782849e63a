import pytest

from surefoot import Constants
from surefoot.problems import random_polytope
from surefoot.problems.calibration import calibrate, calibrate_constants

NUMBERS = Constants(R=3.0, G_f=7.0, G_g=2.0, start_slack=0.5)


def test_what_follows_from_the_numbers_is_filled_in_with_its_origin():
    found = calibrate_constants(NUMBERS, 5_000).constants
    assert found.start_reach == 6.0  # the start may be on the edge of the ball
    assert found.F == 42.0
    assert (found.sigma, found.epsilon) == (0.25 / 6.0, 0.25)
    assert found.origins["sigma"] == "local"
    assert found.origins["F"] == "derived"


def test_a_slack_is_only_a_bound_so_the_largest_value_of_g_does_not_follow():
    missing = {offer.name: offer.missing for offer in calibrate_constants(NUMBERS, 5_000).missing}
    assert "needs D_g, which is unknown" in missing["DPP.tuned"]


def test_a_start_known_to_be_central_gives_a_smaller_regret():
    near = Constants(R=3.0, G_f=7.0, G_g=2.0, start_slack=0.5, start_reach=3.0)
    regrets = [
        {o.name: o.regret for o in calibrate_constants(known, 5_000).proved}["CertifiedPFS.default"]
        for known in (near, NUMBERS)
    ]
    assert regrets[0] < regrets[1]


def test_numbers_of_a_problem_prove_what_the_problem_does_where_no_geometry_is_needed():
    problem = random_polytope(4, 9, horizon=50)
    whole = calibrate(problem, horizon=5_000)
    numbers = calibrate_constants(whole.constants, 5_000)
    by_numbers = {o.name: (o.standing, o.regret) for o in numbers.offers}
    needs_more = {
        o.name for o in numbers.missing if "geometry" in o.missing or "linear" in o.missing
    }
    for offer in whole.offers:
        if offer.name not in needs_more:
            assert by_numbers[offer.name] == (offer.standing, offer.regret)


def test_the_report_says_that_g_was_not_asked():
    first = str(calibrate_constants(NUMBERS, 5_000)).splitlines()[0]
    assert first == "for T = 5000; from the constants only: g was not queried"


@pytest.mark.parametrize("horizon", [0, -3, 2.5])
def test_a_horizon_that_is_none_is_refused(horizon):
    with pytest.raises(ValueError, match="horizon must be"):
        calibrate_constants(NUMBERS, horizon)
