"""The public names of the package, each with its module; they load when they are used."""

from surefoot.proposers.averaging import (
    Averaging as Averaging,
    ObservedAveraging as ObservedAveraging,
)
from surefoot.proposers.base import Proposal as Proposal, Proposer as Proposer
from surefoot.proposers.descent import Descent as Descent
from surefoot.proposers.gradient_steps import GradientSteps as GradientSteps
from surefoot.proposers.leader import Leader as Leader
from surefoot.proposers.learner import Learner as Learner
from surefoot.proposers.policy_leader import PolicyLeader as PolicyLeader
from surefoot.proposers.probing import Probing as Probing
from surefoot.proposers.proposals import Proposals as Proposals

__all__: list[str]
