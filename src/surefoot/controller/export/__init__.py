"""The certified step in another language: one C99 header per configured player."""

from surefoot.controller.export.description import described_player
from surefoot.controller.export.header import c_header
from surefoot.core import kinds

__all__ = ["c_header", "described_player"]

kinds.guard(globals())
