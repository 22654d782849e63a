"""One page per experiment: a single file that opens anywhere, offline."""

from surefoot.experiments.page.write import write_page

__all__ = ["write_page"]
