import ast
import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import surefoot
from surefoot import PFS, Ball, play
from surefoot.core.lazy import public_names, read_names
from surefoot.core.optional import MissingExtraError, need
from surefoot.experiments.figures import path_figure
from surefoot.problems import adversarial_cube

HEAVY = (
    *(
        "jax",
        "torch",
        "scipy",
        "matplotlib",
        "qpsolvers",
        "daqp",
        "typer",
        "rich",
        "array_api_compat",
    ),
    *("pandas", "pydantic", "xarray"),
)


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "import surefoot",
        "from surefoot import *",
        "import surefoot; toy = surefoot.problems.paper_toy(50, trials=2);"
        "surefoot.play(surefoot.PFS.tuned(toy.constants, 50), toy)",
    ],
    ids=["import", "every name", "a game"],
)
def test_nothing_heavy_is_loaded(code):
    loaded = run(f"{code}\nimport sys; print(*sorted({set(HEAVY)!r} & set(sys.modules)))")
    assert loaded == ""


def test_importing_the_package_loads_its_parts_only_when_asked():
    assert run("import surefoot, sys; print('surefoot.games' in sys.modules)") == "False"
    assert (
        run("import surefoot, sys; surefoot.play; print('surefoot.games' in sys.modules)") == "True"
    )


def test_the_top_has_few_names_and_all_of_them_resolve():
    assert len(surefoot.__all__) == len(set(surefoot.__all__)) <= 40
    assert sorted(surefoot.__all__) == dir(surefoot)
    for name in surefoot.__all__:
        assert getattr(surefoot, name) is not None


def test_a_name_that_is_not_there_is_the_usual_error():
    with pytest.raises(AttributeError, match="'surefoot' has no attribute 'Polyak'") as found:
        _ = surefoot.Polyak
    assert (found.value.name, found.value.obj) == ("Polyak", surefoot)  # Python names the nearest


PACKAGE = Path(surefoot.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))


def dotted(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_name_a_module_calls_public_is_there():
    assert len(SOURCES) > 30
    for path in SOURCES:
        try:
            module = importlib.import_module(dotted(path))
        except MissingExtraError:
            assert path.parent.name == "adapters"  # nothing else needs a host to be imported
            continue
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), (module.__name__, name)


def exempt(node):
    """Whether it is private, the formulas of a rule, which its class documents, or an overload."""
    formulas = node.name in ("first_state", "next_state") and ast.get_docstring(node) is None
    overload = any(getattr(d, "id", None) == "overload" for d in node.decorator_list)
    return node.name[0] == "_" or formulas or overload


def public(node, prefix):
    """Public functions, classes and methods below a node, by qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and not exempt(child):
            name = f"{prefix}.{child.name}"
            yield name, child
            if isinstance(child, ast.ClassDef):
                yield from public(child, name)


@pytest.mark.parametrize("path", SOURCES, ids=dotted)
def test_everything_public_is_documented_and_typed(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert (ast.get_docstring(tree) or "").strip()
    for name, node in public(tree, dotted(path)):
        assert (ast.get_docstring(node) or "").strip(), name
        if isinstance(node, ast.FunctionDef):
            assert node.returns is not None, name
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            for argument in arguments:
                assert argument.annotation or argument.arg in ("self", "cls"), (name, argument.arg)


def test_the_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_the_version_is_that_of_the_distribution():
    assert surefoot.__version__ == importlib.metadata.version("surefoot")


def test_an_extra_that_is_there_is_simply_imported():
    assert need("json", "none", "a test") is __import__("json")


@pytest.mark.parametrize(
    ("module", "call", "sentence"),
    [
        (
            "jax",
            lambda: play(
                PFS(eta=0.1, rho=0.1, domain=Ball(1.0)),
                adversarial_cube("constant", horizon=4),
                engine="scan",
            ),
            "the scan engine needs jax, which is not installed: pip install 'surefoot[jax]'",
        ),
        (
            "matplotlib",
            lambda: path_figure([]),
            "a figure needs matplotlib, which is not installed: pip install 'surefoot[plot]'",
        ),
    ],
)
def test_a_missing_extra_is_one_sentence(monkeypatch, module, call, sentence):
    for name in [m for m in sys.modules if m == module or m.startswith(module + ".")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as error:
        call()
    assert str(error.value) == sentence
    assert isinstance(error.value, ImportError)


@pytest.mark.parametrize(
    "host", ["gymnasium", "torch", "optax", "sklearn", "river", "pandapower", "xopt"]
)
def test_an_adapter_without_its_host_is_one_sentence(monkeypatch, host):
    monkeypatch.delitem(sys.modules, f"surefoot.adapters.{host}", raising=False)
    for name in [host, *(m for m in sys.modules if m.startswith(f"{host}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError) as error:
        importlib.import_module(f"surefoot.adapters.{host}")
    assert str(error.value) == (
        f"surefoot.adapters.{host} needs {host}, which is not installed: "
        f"pip install 'surefoot[{host}]'"
    )


def test_numpy_alone_is_enough_to_play(monkeypatch):
    for module in HEAVY:
        monkeypatch.setitem(sys.modules, module, None)
    trace = play(
        PFS(eta=0.01, rho=0.05, domain=Ball(1.0)), adversarial_cube("out", horizon=20, dimension=3)
    )
    assert np.isfinite(trace.total_cost)


def packages():
    return [dotted(path.with_suffix(".py")) for path in sorted(PACKAGE.rglob("__init__.pyi"))]


@pytest.mark.parametrize("package", packages())
def test_no_public_name_is_that_of_a_module_of_its_package(package):
    # Importing the module would put it in the place of the name.
    folder = PACKAGE.parent.joinpath(*package.split("."))
    names = [name for name, home in read_names(package).items() if home != package]
    assert [n for n in names if (folder / f"{n}.py").exists() or (folder / n).is_dir()] == []


@pytest.mark.parametrize("package", packages())
def test_the_names_of_a_stub_are_those_that_the_package_exports(package):
    module = importlib.import_module(package)
    assert sorted(read_names(package)) == sorted(module.__all__)
    assert dir(module) == sorted(module.__all__)
    for name, value in public_names(module).items():
        assert value is getattr(module, name)


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("Fleet", ": it is surefoot.controller.Fleet"),
        ("DPP", ": it is surefoot.rules.DPP"),
        ("Contoller", "; did you mean 'Controller'?"),
    ],
)
def test_a_name_that_is_elsewhere_is_an_error_that_says_where(name, end):
    with pytest.raises(AttributeError) as found:
        getattr(surefoot, name)
    assert str(found.value) == f"module 'surefoot' has no attribute {name!r}{end}"


def test_no_file_imports_by_star():
    texts = [p for p in SOURCES if "import *" in p.read_text(encoding="utf-8")]
    assert texts == []


def test_a_live_loop_loads_no_rule_that_it_does_not_play():
    code = "from surefoot import Controller, LeaderFollower; import sys; print(*sys.modules)"
    loaded = set(run(code).split())
    assert "surefoot.rules.certified.leader_follower" in loaded
    others = ("related", "wrappers.averaged", "wrappers.delayed", "certified.certified_pfs", "pfs")
    assert [name for name in others if f"surefoot.rules.{name}" in loaded] == []
