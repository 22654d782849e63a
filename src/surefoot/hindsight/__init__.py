"""The best fixed action in hindsight, with its optimality gap: what regret is measured against."""

from surefoot.hindsight.closed_form import Comparator, best_action

__all__ = ["Comparator", "best_action"]
