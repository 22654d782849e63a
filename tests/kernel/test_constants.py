"""The constants that C and Python share are those of one table, and stand nowhere else."""

import math
import re

from surefoot.core import kernel_constants
from surefoot.core.points import UNIT
from tests._scripts import ROOT

from . import constants

C = ROOT / "src" / "surefoot" / "kernel" / "c"
ROWS = [row for rows in constants.read_table().values() for row in rows]


def test_both_texts_are_those_of_the_table():
    # After a change of constants.toml: `make constants`.
    sections = constants.read_table()
    assert constants.HEADER.read_text(encoding="utf-8") == constants.write_header(sections)
    assert constants.MODULE.read_text(encoding="utf-8") == constants.write_module(sections)


def test_the_module_has_the_values_of_the_table():
    assert len({name for name, _, _ in ROWS}) == len(ROWS)
    for name, value, about in ROWS:
        ours = getattr(kernel_constants, name)
        assert ours == (tuple(value) if isinstance(value, list) else value)
        assert type(ours) is (tuple if isinstance(value, list) else type(value))
        assert about.endswith((".", ","))


def test_each_constant_is_used_in_both_texts():
    texts = (C.glob("*.h"), (ROOT / "src" / "surefoot").rglob("*.py"))
    own = {constants.HEADER, constants.MODULE}
    for paths, ahead in zip(texts, ("SF_", ""), strict=True):
        text = "\n".join(path.read_text(encoding="utf-8") for path in paths if path not in own)
        words = set(re.findall(r"\w+", text))
        unused = {name for name, _, _ in ROWS if ahead + name not in words}
        assert unused <= {"INITIAL_LOGS"}, ahead  # Python has a logarithm


def test_constants_that_follow_from_others_do():
    assert UNIT == 2.0**-53
    assert kernel_constants.EQUAL == 2.0**-40
    weights, logs = kernel_constants.INITIAL_WEIGHTS, kernel_constants.INITIAL_LOGS
    assert math.fsum(weights) == 1.0
    assert all(abs(log + math.log(p)) <= 1e-15 * log for p, log in zip(weights, logs, strict=True))
    assert len(kernel_constants.MULTIPLES) == len(kernel_constants.AVERAGING_STEPS) == len(weights)


def test_no_bare_literal_of_a_share_or_a_margin_is_left_in_the_c_text():
    # Halves belong to formulas. The others: a check between halves of a margin, the ends of a
    # series, and how many bounds the kernel takes.
    code = {
        path.name: re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path in C.glob("*.h")
        if path != constants.HEADER
    }
    literal = re.compile(r"(?<![\w.])(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|0x1p-?\d+)")
    left = {number for text in code.values() for number in literal.findall(text)}
    formulas = {"0.0", "0.5", "1.0", "2.0"}
    series = {"0.75", "0.6931471805599453", "700.0", "0.0625"}
    assert left - formulas - series == {"0.5625", "0.25", "0x1p28"}
