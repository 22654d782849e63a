"""What a specification means: titles, defaults, what is kept."""

import inspect
import subprocess
import sys

import pytest

from surefoot.core.algorithm import constructors_of
from surefoot.core.parameters import parameters_of
from surefoot.experiments import Spec, SpecError, build_spec
from surefoot.experiments.build import ALGORITHMS_BY_NAME, PROBLEMS, Amount, plain_parameters_of
from surefoot.experiments.specification import AlgorithmRow, Recording


def made(**changes):
    data = {
        "name": "x",
        "horizons": [40, 90],
        "problems": [{"name": "paper_toy"}],
        "algorithms": [{"name": "PFS", "tuning": "anytime"}],
    }
    return build_spec(data | changes)


def test_every_tuning_of_the_catalogue_is_a_row_on_every_problem():
    rows = [
        {"name": k.__name__, "tuning": t} for k in ALGORITHMS_BY_NAME.values() for t in k.tunings
    ]
    needed = {"adversarial_cube": {"adversary": "random"}}
    spec = made(
        problems=[{"name": name, **needed.get(name, {})} for name in PROBLEMS], algorithms=rows
    )
    assert [p.name for p in spec.problems] == list(PROBLEMS)
    assert [a.title for a in spec.algorithms] == [f"{r['name']}.{r['tuning']}" for r in rows]


def test_titles_are_labels_or_names():
    spec = made(
        problems=[{"name": "paper_toy", "label": "mine"}, {"name": "paper_toy"}],
        algorithms=[
            {"name": "PFS", "parameters": {"eta": 1, "rho": 0}},
            {"name": "PFS", "tuning": "tuned", "label": "best"},
        ],
    )
    assert [p.title for p in spec.problems] == ["mine", "paper_toy"]
    assert [a.title for a in spec.algorithms] == ["PFS", "best"]


def test_truth_is_no_number():
    row = {"name": "PFS", "parameters": {"eta": True, "rho": 0}}
    with pytest.raises(SpecError, match=r"parameters.eta: must be a finite number > 0, got True"):
        made(algorithms=[row])


def test_a_specification_cannot_be_changed():
    with pytest.raises(AttributeError):
        made().seed = 3


def test_paths_are_kept_for_the_horizons_that_were_asked_for():
    nothing = {"every": None, "actions": 0}
    assert Recording().of(40) == nothing
    assert Recording(every=7, actions=2).of(40) == {"every": 7, "actions": 2}
    some = Recording(every=7, actions=2, horizons=[90])
    assert some.of(40) == nothing
    assert some.of(90) == {"every": 7, "actions": 2}


def test_a_base_may_be_tuned_inside_parameters_and_then_constants_mean_something():
    row = {
        "name": "Tighten",
        "parameters": {"rho": 0.1},
        "base": {"name": "ScalarDPP", "tuning": "tuned"},
        "constants": {"G_f": 2.0},
    }
    assert made(algorithms=[row]).algorithms[0].base["tuning"] == "tuned"


def test_everything_that_a_file_may_set_is_documented_and_plain():
    for entry in PROBLEMS.values():
        assert entry.text.endswith(".")
        assert entry.arguments().keys() <= entry.about.keys(), entry.name
    for table in (Spec, Recording, AlgorithmRow):
        assert all(f"        {name}: " in table.__doc__ for name in parameters_of(table)), table
    assert set(parameters_of(Amount)) == {"times", "power", "at_most", "at_least"}
    kinds = {"number", "whole", "switch"}
    for kind in ALGORITHMS_BY_NAME.values():
        wanted = list(plain_parameters_of(kind).values())
        for tuning in constructors_of(kind):
            wanted += parameters_of(getattr(kind, tuning)).values()
        assert {w.form for w in wanted} <= kinds, kind
        assert not {"domain", "base"} & set(plain_parameters_of(kind))


def test_every_number_of_an_algorithm_is_a_parameter_of_a_file():
    assert {"eta", "rho"} <= set(plain_parameters_of(ALGORITHMS_BY_NAME["PFS"]))
    assert {"V", "alpha"} <= set(plain_parameters_of(ALGORITHMS_BY_NAME["ScalarDPP"]))
    numbers = ("Number", "Real", "float", "int", "bool", "str")
    for kind in ALGORITHMS_BY_NAME.values():
        arguments = inspect.signature(kind).parameters.values()
        words = {p.name: set(str(p.annotation).split(" | ")) for p in arguments}
        plain = {name for name, kinds in words.items() if kinds <= {*numbers, "None"}}
        assert plain <= set(plain_parameters_of(kind)), kind


def test_every_option_of_a_constructor_is_declared():
    for kind in ALGORITHMS_BY_NAME.values():
        for tuning in constructors_of(kind):
            signature = inspect.signature(getattr(kind, tuning)).parameters.values()
            options = {p.name for p in signature if p.kind is p.KEYWORD_ONLY and p.name != "base"}
            assert set(parameters_of(getattr(kind, tuning))) == options, (kind, tuning)


@pytest.mark.slow
def test_reading_a_specification_loads_nothing_heavy_and_needs_no_extra():
    code = """
import sys
for name in ("pydantic", "typer", "rich"):
    sys.modules[name] = None
from surefoot.experiments import parse_spec
from surefoot.experiments.cells import cells_of
from surefoot.experiments.toml import starter
list(cells_of(parse_spec(starter("x"))))
print(*sorted({"jax", "scipy", "matplotlib", "dask"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert done == "\n"
