"""The seed tree."""

import numpy as np
import pytest

from surefoot.experiments.cells import canonical, stream_seed

TOY = {"name": "paper_toy", "arguments": {"published": None}}


def test_the_tree_is_what_it_is():
    """Another number here is another experiment for everyone who wrote one down."""
    assert stream_seed(0, TOY, 0) == 31911831439198661886876211732187867229


def test_every_root_problem_and_block_has_its_own_seed():
    other = {"name": "binding_toy", "arguments": {"published": None}}
    seeds = {stream_seed(r, p, b) for r in range(4) for p in (TOY, other) for b in range(5)}
    assert len(seeds) == 40
    assert all(0 <= s < 2**128 for s in seeds)
    firsts = {np.random.default_rng(s).random() for s in seeds}
    assert len(firsts) == 40


def test_what_is_not_a_number_has_no_canonical_form():
    with pytest.raises(ValueError, match="JSON"):
        canonical({"eta": float("nan")})
