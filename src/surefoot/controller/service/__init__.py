"""A live loop behind lines of JSON, for programs in any language: on sockets, or in a pipe."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
