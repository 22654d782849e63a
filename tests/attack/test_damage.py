"""A hundred of the damages that ``make fuzz`` does a thousand of."""

import pytest

from .damage import attacks


@pytest.mark.slow
def test_damaged_files_are_opened_whole_or_with_the_loss_named_or_refused_unchanged(capsys):
    found = attacks(0, 100)
    assert found["WRONG"] == 0, capsys.readouterr().out
    assert min(found["torn or older"], found["refused"], found["loss named"]) >= 2
