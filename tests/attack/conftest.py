"""What is promised is promised of both engines."""

import pytest


@pytest.fixture(autouse=True)
def _both_engines(each_engine):
    """Run every test with each engine."""
