"""The cases as problems of a specification: real data, with the arguments of each."""

from __future__ import annotations

from typing import Annotated, Literal

from surefoot.experiments.tables import ProblemRow

from pydantic import Field  # isort: skip  once the tables have found it

__all__ = ["EvCharging", "FairScoring", "RiskPortfolio"]


class EvCharging(ProblemRow):
    """A month of electric cars at a car park, under the ratings of its lines (real sessions)."""

    name: Literal["ev_charging"]
    site: Literal["caltech", "jpl"] = Field(
        default="caltech", description="54 chargers under 8 limits, or 52 under 24"
    )
    month: Annotated[str, Field(pattern=r"^20\d\d-\d\d$")] = Field(
        default="2019-10", description="one with sessions: 2019-05 to 2021-08, with gaps"
    )

    @property
    def entries(self) -> int:
        """One per charger."""
        return 54 if self.site == "caltech" else 52


class FairScoring(ProblemRow):
    """Scores learned from a census, under limits on their covariance with sex and race."""

    name: Literal["fair_scoring"]
    tolerance: Annotated[float, Field(gt=0)] = Field(
        default=0.01, description="limit on each covariance"
    )
    radius: Annotated[float, Field(gt=0)] = Field(default=20.0, description="limit on the norm")

    @property
    def entries(self) -> int:
        """One per feature."""
        return 40


class RiskPortfolio(ProblemRow):
    """Real returns of 20 shares, under a limit on conditional value at risk (extra cases)."""

    name: Literal["risk_portfolio"]
    limit: Annotated[float, Field(ge=0.01)] = Field(
        default=0.015, description="of the mean loss on the worst 5 % of days"
    )

    @property
    def entries(self) -> int:
        """One per share."""
        return 20
