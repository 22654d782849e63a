"""Write the pages that come from the code: one per algorithm, set and constraint, and the API.

They are written into ``docs/generated`` before each build, from the public names, so a new rule has
a page without a further line; ``docs/when.toml`` adds when to use it and when not.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import shutil
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes

import surefoot
from surefoot import knowledge, problems, proposers, rules as named_rules, sets
from surefoot.core.types import Source
from surefoot.problems import constraints, costs
from surefoot.rules import ALGORITHMS, catalogue, source_of

DOCS = Path(__file__).parents[1]
OUT = DOCS / "generated"
# Packages whose classes have pages of their own; the reference lists every public name.
PAGED = {
    "sets": sets,
    "constraints": constraints,
    "costs": costs,
    "knowledge": knowledge,
    "proposers": proposers,
}
# These need a library of their own when they are imported.
WITH_EXTRAS = ("surefoot.adapters", "surefoot.cli")


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", lambda app: write_all())
    app.connect("doctree-read", _align_formulas)
    app.connect("build-finished", _add_playground)
    return {"parallel_read_safe": True}


def _align_formulas(app: Any, doctree: Any) -> None:
    """Wrap formulas of several lines for KaTeX, as Sphinx does for other renderers."""
    for node in doctree.findall(nodes.math_block):
        text = node.astext().strip()
        if ("&" in text or r"\\" in text) and r"\begin{" not in text:
            node.children = [nodes.Text(rf"\begin{{aligned}}{text}\end{{aligned}}")]


def _add_playground(app: Any, exception: Exception | None) -> None:
    """Copy the playground, which is a page of its own."""
    shutil.copytree(DOCS / "playground", Path(app.outdir) / "playground", dirs_exist_ok=True)


def write_all() -> None:
    """Write every page anew; a page whose rule is gone does not stay."""
    shutil.rmtree(OUT, ignore_errors=True)
    for folder in ("algorithms", "reference", *PAGED):
        (OUT / folder).mkdir(parents=True)
    when = tomllib.loads((DOCS / "when.toml").read_text(encoding="utf-8"))
    rules = {rule.__name__: rule for rule in ALGORITHMS}
    # Filters and wrappers are no rows of the catalogue, and have a page all the same.
    rules |= {name: getattr(_package_of(name), name) for name in when if name not in rules}
    promised = _promises()
    for name, rule in rules.items():
        _write(f"algorithms/{name}", _algorithm_page(name, rule, when.get(name), promised))
    lines = {name: _first_line(rule) for name, rule in rules.items()}
    _index("algorithms", "One page per algorithm", lines)
    pages = {f"{_package_of(name).__name__}.{name}": f"algorithms/{name}" for name in rules}
    for folder, package in PAGED.items():
        names = [n for n in package.__all__ if inspect.isclass(getattr(package, n))]
        for name in names:
            _write(f"{folder}/{name}", _class_page(package.__name__, name))
            pages[f"{package.__name__}.{name}"] = f"{folder}/{name}"
        lines = {name: _first_line(getattr(package, name)) for name in names}
        _index(folder, f"One page per class of {package.__name__}", lines)
    for module in (modules := public_modules()):
        _write(f"reference/{module}", _module_page(module, pages))
    lines = {module: _first_line(importlib.import_module(module)) for module in modules}
    _index("reference", "Reference", lines)


@functools.cache
def public_modules() -> list[str]:
    """Return every public package and module that has public names."""
    found = ["surefoot"]
    for info in pkgutil.iter_modules(surefoot.__path__, "surefoot."):
        last = info.name.rpartition(".")[2]
        if last.startswith("_") or info.name in WITH_EXTRAS:
            continue
        if getattr(importlib.import_module(info.name), "__all__", ()):
            found.append(info.name)
    return list(dict.fromkeys([*found, *(package.__name__ for package in PAGED.values())]))


def public_names() -> list[str]:
    """Return every public name with its module: what the reference must have."""
    return [
        f"{module}.{name}"
        for module in public_modules()
        for name in importlib.import_module(module).__all__
        if not inspect.ismodule(getattr(importlib.import_module(module), name))
    ]


def _promises() -> dict[str, list[Any]]:
    """Return the rows of the catalogue on the paper's experiment, by algorithm."""
    problem = problems.paper_toy(horizon=2_000, trials=1)
    rows: dict[str, list[Any]] = {}
    for entry in catalogue(problem.constants, 1_000_000, problem.domain, problem.benchmark.region):
        rows.setdefault(entry.algorithm, []).append(entry)
    return rows


def _algorithm_page(
    name: str, rule: Any, when: dict[str, str] | None, promised: dict[str, list[Any]]
) -> str:
    source = source_of(rule) if hasattr(rule, "source") else Source("Surefoot", "derived here")
    lines = [f"{name}\n{'=' * len(name)}\n", f"*{source.work}* ({source.rule}).\n"]
    if when:
        lines += [
            f"**Use it when** {_code(when['use'])}\n",
            f"**Not when** {_code(when['avoid'])}\n",
        ]
    rows = promised.get(name, [])
    if rows:
        lines += ["The price and the promise", "-------------------------\n"]
        lines += [
            "With the constants of the paper's experiment and a million rounds:\n",
            ".. list-table::\n   :header-rows: 1\n",
            "   * - tuning\n     - a round asks for\n"
            "     - feasibility\n     - regret, observed\n     - regret, in advance\n"
            "     - theorem",
        ]
        for row in rows:
            theorem = row.note or row.tuned.guarantee.name
            lines.append(
                f"   * - ``{row.tuning}``\n     - {row.feedback or '-'}\n"
                f"     - {row.feasibility or 'does not apply'}\n     - {row.observed or '-'}\n"
                f"     - {row.in_advance or '-'}\n     - {theorem}"
            )
        lines.append("")
    lines += ["The rule", "--------\n", _autoclass(f"{_package_of(name).__name__}.{name}")]
    theorems = dict.fromkeys(type(row.tuned.guarantee) for row in rows if row.tuned is not None)
    if theorems:
        lines += ["The theorem" + "s" * (len(theorems) > 1), "-----------------\n"]
        paths = [f"{_home(t, 'surefoot.rules')}.{t.__name__}" for t in theorems]
        lines += [_autoclass(path, index=False) for path in paths]
    return "\n".join(lines)


def _package_of(name: str) -> ModuleType:
    """Return the package that has a rule; the pair itself is at the top."""
    return named_rules if hasattr(named_rules, name) else surefoot


def _class_page(module: str, name: str) -> str:
    return f"{name}\n{'=' * len(name)}\n\n" + _autoclass(f"{module}.{name}")


def _autoclass(path: str, *, index: bool = True) -> str:
    module, _, name = path.rpartition(".")
    thing = getattr(importlib.import_module(module), name)
    own = [
        key for key, value in vars(thing).items() if not key.startswith("_") and _documented(value)
    ]
    # What rules share they inherit, and a controller what an operator orders.
    shared = ("init", "step", "update", "rest", "hold", "retreat", "resume", "note")
    own += [key for key in shared if key not in own and hasattr(thing, key)]
    members = f"   :members: {', '.join(own)}\n" if own else ""
    hidden = "" if index else "   :no-index:\n"
    return f".. autoclass:: {path}\n{hidden}{members}"


def _documented(value: Any) -> bool:
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    return (inspect.isfunction(value) or isinstance(value, property)) and bool(value.__doc__)


def _module_page(module: str, pages: dict[str, str]) -> str:
    """Return the reference of a package; what has a page of its own, or is another's, is a link."""
    holder = importlib.import_module(module)
    lines = [f"{module}\n{'=' * len(module)}\n"]
    lines.append(f".. automodule:: {module}\n   :no-members:\n   :no-index:\n")
    elsewhere = []
    for name in holder.__all__:
        thing, path = getattr(holder, name), f"{module}.{name}"
        if inspect.ismodule(thing):
            continue
        home = _home(thing, module)
        if (page := pages.get(f"{home}.{name}")) or home != module:
            page = f"/generated/{page}" if page else f"/generated/reference/{home}"
            elsewhere.append(f"- :doc:`{name} <{page}>`: {_first_line(thing)}")
        elif inspect.isclass(thing):
            lines.append(_autoclass(path))
        elif inspect.isroutine(thing):
            lines.append(f".. autofunction:: {path}\n")
        else:
            lines.append(f".. autodata:: {path}\n   :no-value:\n")
    if elsewhere:
        lines += ["", *elsewhere, ""]
    return "\n".join(lines)


def _home(thing: Any, module: str) -> str:
    """Return the package that a name is defined in, where that is public."""
    parts = getattr(thing, "__module__", None)
    if not isinstance(parts, str) or not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return module
    package = ".".join(parts.split(".")[:2])
    name = getattr(thing, "__name__", "")
    known = package in public_modules() and name in importlib.import_module(package).__all__
    return package if known else _FIRST.setdefault(id(thing), module)


_FIRST: dict[int, str] = {}


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _index(folder: str, title: str, pages: dict[str, str]) -> None:
    """Write a list of links. The pages are no part of the tree, which every page repeats."""
    links = "\n".join(f"- :doc:`{name}`: {line}" for name, line in pages.items())
    for name in pages:
        path = OUT / folder / f"{name}.rst"
        text = path.read_text(encoding="utf-8")
        path.write_text(f":orphan:\n\n:doc:`{title} <index>`\n\n{text}", encoding="utf-8")
    _write(f"{folder}/index", f"{title}\n{'=' * len(title)}\n\n{links}\n")


def _code(text: str) -> str:
    return text.replace("`", "``")


def _write(path: str, text: str) -> None:
    (OUT / f"{path}.rst").write_text(text, encoding="utf-8")
