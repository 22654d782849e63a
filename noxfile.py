#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Run the targets of the Makefile through nox, for those who are used to it."""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"


@nox.session(venv_backend="none")
def check(session: nox.Session) -> None:
    """Run lint, types, the import contract and the fast tests."""
    session.run("make", "check", external=True)


@nox.session(venv_backend="none", default=False)
def tests(session: nox.Session) -> None:
    """Run all tests."""
    session.run("make", "test", "test-all", external=True)


@nox.session(venv_backend="none", default=False)
def docs(session: nox.Session) -> None:
    """Build the site."""
    session.run("make", "docs", external=True)


if __name__ == "__main__":
    nox.main()
