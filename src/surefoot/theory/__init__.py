"""Theorems as objects: bounds, premises, and the parameters they choose."""

from surefoot.theory.guarantee import Guarantee, Kind, Measure, Premise, Quantity, Tuned
from surefoot.theory.polyak import Corollary1, Corollary2, Corollary3, Theorem1
from surefoot.theory.projection import Zinkevich
from surefoot.theory.tuning import tune_polyak

__all__ = [
    "Corollary1",
    "Corollary2",
    "Corollary3",
    "Guarantee",
    "Kind",
    "Measure",
    "Premise",
    "Quantity",
    "Theorem1",
    "Tuned",
    "Zinkevich",
    "tune_polyak",
]
