"""What knowledge makes of a reading."""

from surefoot import Feedback
from surefoot.knowledge import Reading


def see(known, memory, x, g, s, **errors):
    """The memory after a reading, and its region."""
    told = Feedback(None, g, s, **errors)
    allowed = known.errors.of_round(told)
    memory = known.observe(memory, Reading(x, *known.read(x, told), allowed))
    return memory, known.region(memory, allowed)


def suspects(known, memory, x, g, s):
    """What a reading contradicts."""
    return known.contradictions(memory, Reading(x, g, s, known.errors))
