"""The certified step in another language: one C99 header per configured player."""

from surefoot.controller.export.header import c_header

__all__ = ["c_header"]
