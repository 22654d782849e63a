"""The best fixed action in hindsight, with its optimality gap: what regret is measured against."""

from surefoot.problems.hindsight.best import Comparator, best_action, has_closed_form
from surefoot.problems.hindsight.level_bundle import Bracket, level_bundle

__all__ = ["Bracket", "Comparator", "best_action", "has_closed_form", "level_bundle"]
