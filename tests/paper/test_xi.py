"""The paper's xi = 1 - sqrt(gamma), computed without losing digits at either end."""

from decimal import Decimal, localcontext

from hypothesis import example, given, strategies as st

from surefoot import Constants
from surefoot.core.constants import polyak_rate

U = 2.0**-53


def exact(sigma, G_g):
    """xi and gamma to 400 digits."""
    with localcontext() as context:
        context.prec = 400
        gamma = 1 - (Decimal(sigma) / Decimal(G_g)) ** 2
        return 1 - gamma.sqrt(), gamma


@given(st.floats(1e-60, 1.0), st.floats(1e-40, 1e40))
@example(1e-60, 1.0)
@example(1.0, 3.0)
@example(1 - U, 3.0)  # 1 - sqrt(gamma) and r/(1 + sqrt(1 - r)) are both wrong by 3e-9 here
@example(1 - 7 * U, 0.1)
@example(0.5**0.5, 1.0)
def test_all_digits_of_xi_are_right(ratio, G_g):
    sigma = min(ratio * G_g, G_g)
    xi, gamma = exact(sigma, G_g)
    found = polyak_rate(sigma, G_g)
    assert abs(Decimal(found) - xi) <= Decimal(8 * U) * xi
    constants = Constants(R=1.0, G_g=G_g, sigma=sigma, epsilon=1.0)
    assert abs(Decimal(constants.gamma) - gamma) <= Decimal(8 * U) * gamma
    assert constants.xi == found


@given(st.floats(1e-60, 1.0))
def test_xi_is_between_half_of_r_and_r(sigma):
    r = sigma**2
    assert r / 2 * (1 - 4 * U) <= polyak_rate(sigma, 1.0) <= r * (1 + 4 * U)


def test_xi_of_the_experiment():
    # sigma = 1/sqrt 2: 1 - sqrt(1/2).
    assert abs(polyak_rate(0.5**0.5, 1.0) - 0.2928932188134524) < 4 * U
