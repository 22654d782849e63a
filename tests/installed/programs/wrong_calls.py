"""Calls with one mistake each: every line below the blank one must be reported, and no other."""

from surefoot import PFS, Ball, Constants, Controller, LeaderFollower, Problem
from surefoot.rules import CertifiedDualAveraging

known = Constants(R=1.0, G_g=1.0, start_slack=0.5)
ball = Ball(1.0)

LeaderFollower(G_g="one", domain=ball)
LeaderFollower(G_g=1.0, domaine=ball)
LeaderFollower.default(known, horizn=100)
LeaderFollower.defautl(known)
PFS.anytime(known, horizons=100)
CertifiedDualAveraging(knowledg=known, radius=1.0)
CertifiedDualAveraging.default(known, "many")
PFS.chosen(known, 100, steps=0.1)
Controller(LeaderFollower.default(known), [0.0, 0.0], journals="run.journal")
PFS(eta="small", rho=0.1, domain=ball)
LeaderFollower(1.0, ball)
Constants(G_g=1.0)
Controller(known, [0.0, 0.0])
Problem.of([[1.0]], [[1.0]], ball, [0.0])
