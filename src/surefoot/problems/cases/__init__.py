"""Cases: real data or a plant model, each with the baselines that practitioners use now."""

from surefoot import _kinds
from surefoot.problems.cases.charging import (
    ChargingNetwork,
    ChargingRecord,
    ChargingRule,
    ChargingSite,
    Minute,
    charging_site,
    ev_charging,
)
from surefoot.problems.cases.charging_rules import (
    CertifiedCharging,
    as_fast_as_possible,
    equal_share,
    least_laxity_first,
    projected_charging,
    round_robin,
    waiting_for_clean_power,
)
from surefoot.problems.cases.portfolio import risk_portfolio, share_returns
from surefoot.problems.cases.scoring import People, census_people, fair_scoring

__all__ = [
    "CertifiedCharging",
    "ChargingNetwork",
    "ChargingRecord",
    "ChargingRule",
    "ChargingSite",
    "Minute",
    "People",
    "as_fast_as_possible",
    "census_people",
    "charging_site",
    "equal_share",
    "ev_charging",
    "fair_scoring",
    "least_laxity_first",
    "projected_charging",
    "risk_portfolio",
    "round_robin",
    "share_returns",
    "waiting_for_clean_power",
]

_kinds.guard(globals())
