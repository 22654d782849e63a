"""Cases: real data or a plant model, each with the baselines that practitioners use now."""

from surefoot.core import kinds
from surefoot.problems.cases.admission import (
    AdmissionRecord,
    AdmissionRule,
    AdmissionServer,
    CertifiedAdmission,
    Window,
    additive_increase,
    admit_everything,
    by_value_per_work,
    fixed_rates,
    tenant_demand,
)
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
from surefoot.problems.cases.feeder import (
    CertifiedFeeder,
    Feeder,
    FeederRecord,
    FeederRule,
    Second,
    linearised,
    pv_feeder,
    uniform_share,
)
from surefoot.problems.cases.portfolio import risk_portfolio, share_returns
from surefoot.problems.cases.scoring import People, census_people, fair_scoring

__all__ = [
    "AdmissionRecord",
    "AdmissionRule",
    "AdmissionServer",
    "CertifiedAdmission",
    "CertifiedCharging",
    "CertifiedFeeder",
    "ChargingNetwork",
    "ChargingRecord",
    "ChargingRule",
    "ChargingSite",
    "Feeder",
    "FeederRecord",
    "FeederRule",
    "Minute",
    "People",
    "Second",
    "Window",
    "additive_increase",
    "admit_everything",
    "as_fast_as_possible",
    "by_value_per_work",
    "census_people",
    "charging_site",
    "equal_share",
    "ev_charging",
    "fair_scoring",
    "fixed_rates",
    "least_laxity_first",
    "linearised",
    "projected_charging",
    "pv_feeder",
    "risk_portfolio",
    "round_robin",
    "share_returns",
    "tenant_demand",
    "uniform_share",
    "waiting_for_clean_power",
]

kinds.guard(globals())
