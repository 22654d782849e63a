"""The certified step in another language: one C99 header per configured player."""

from surefoot import _kinds
from surefoot.codegen.description import described_player
from surefoot.codegen.header import c_header

__all__ = ["c_header", "described_player"]

_kinds.guard(globals())
