"""What an editor shows: after each expression, what its type must contain, and nothing unknown."""

from typing import reveal_type

from surefoot import (
    PFS,
    Ball,
    Constants,
    Controller,
    LeaderFollower,
    Problem,
    compare,
    play,
    problems,
)
from surefoot.controller import Fleet
from surefoot.rules import CertifiedDualAveraging

known = Constants(R=1.0, G_g=1.0, start_slack=0.5)
toy = problems.paper_toy(horizon=100, trials=1)
loop = Controller(LeaderFollower.default(known), start=[0.0, 0.0])
fleet = Fleet(LeaderFollower.default(known), starts=[[0.0, 0.0], [0.1, 0.0]])

reveal_type(known.R)  # float
reveal_type(known.G_g)  # float | None
reveal_type(LeaderFollower(G_g=1.0, domain=Ball(1.0)))  # LeaderFollower
reveal_type(LeaderFollower.default)  # constants: Constants; domain: Set; Tuned[LeaderFollower]
reveal_type(LeaderFollower.default(known).algorithm)  # LeaderFollower
reveal_type(PFS.anytime)  # constants: Constants; horizon: int,; domain: Ball | None; Tuned[PFS]
reveal_type(PFS.anytime(known, 100).algorithm)  # PFS
reveal_type(CertifiedDualAveraging.default)  # constants: Constants; Tuned[CertifiedDualAveraging]
reveal_type(loop.ask())  # ndarray[Any, dtype[float64]]
reveal_type(loop.algorithm)  # Player
reveal_type(loop.explain().bound)  # float | None
reveal_type(fleet.ask())  # ndarray[Any, dtype[float64]]
reveal_type(Problem.of)  # costs: CostStream; constraint: Constraint | ConstraintStream; -> Problem
reveal_type(toy.start)  # ndarray[Any, dtype[float64]]
reveal_type(play(PFS.anytime(known, 100), toy).actions)  # ndarray[Any, dtype[float64]]
reveal_type(compare([PFS.anytime], toy))  # Comparison
