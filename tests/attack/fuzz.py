"""Call everything public with anything, each call made from its number alone.

Found by introspection: what the package and its namespaces export (private is what has a name with
an underscore in front), the methods of the instances that such calls have made, and the fields of
those. Every answer must be a value, or a SurefootError or ValueError of one line, or what Python
says of an object that is of another type (``WRONG_TYPE``), or the name of an extra that is missing;
arguments keep their bytes, and an instance that raised is what it was. Run as a script it prints
how often each came true and every other answer once, and ends with status 1 where there was one.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import inspect
import io
import os
import pkgutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import surefoot
from surefoot import Ball, Constants, Feedback, SurefootError

# What starts processes, servers or minutes of work has suites of its own.
ELSEWHERE = ("cli", "experiments", "reports", "paper", "reproduction", "testing", "adapters")
SECONDS = 3.0
# What Python says of an argument of another type, and of an index that there is not. Behind the
# constructors nothing asks for types; numbers of any size must still be answered by a sentence.
WRONG_TYPE = (TypeError, AttributeError, LookupError)


class Slow(BaseException):
    """A call took too long to be waited for."""


class Target(NamedTuple):
    """Something to call.

    Attributes:
        name: where it was found.
        call: what is called.
        owner: the instance of a method, or None.
    """

    name: str
    call: Callable[..., Any]
    owner: Any


def public() -> dict[str, Callable[..., Any]]:
    """Every function and class that the package and all its namespaces export, by name."""
    found: dict[str, Callable[..., Any]] = {}
    spaces = [surefoot]
    parts = [part.name for part in pkgutil.iter_modules(surefoot.__path__)]
    parts += [f"problems.{part}" for part in ("costs", "constraints", "hindsight", "calibration")]
    parts += [f"core.{part}" for part in ("constants", "types")]
    names = [name for name in parts if not name.startswith("_") and name not in ELSEWHERE]
    spaces += [importlib.import_module(f"surefoot.{name}") for name in names]
    for module in spaces:
        is_types = module.__name__ == "surefoot.core.types"
        for name in vars(module) if is_types else getattr(module, "__all__", ()):
            value = getattr(module, name)
            is_class = inspect.isclass(value) and not issubclass(value, BaseException)
            ours = getattr(value, "__module__", "").split(".")[0] == "surefoot"
            if ours and (inspect.isfunction(value) or is_class) and not inspect.isabstract(value):
                found.setdefault(f"{value.__module__}.{name}", value)
    return found


def methods(name: str, instance: Any) -> Iterator[Target]:
    """What can be called of an instance."""
    for attribute in dir(type(instance)):
        if attribute.startswith("_"):
            continue
        member = inspect.getattr_static(type(instance), attribute)
        if isinstance(member, property):
            read = functools.partial(getattr, instance, attribute)
            yield Target(f"{name}.{attribute}", read, instance)
        elif inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            yield Target(f"{name}.{attribute}", getattr(instance, attribute), instance)


# --- what is passed ------------------------------------------------------------------------------

_CONSTANTS = Constants(
    R=1.5, G_f=3.0, G_g=1.25, sigma=0.3, epsilon=0.25, start_slack=0.4, start_reach=2.0, rows=2
)


def sensible(rng: Any, name: str) -> Any:
    """A value that a parameter of this name is meant for."""
    x = np.array([0.2, -0.1])
    known: dict[str, tuple[Any, ...]] = {
        "domain": (Ball(1.5), surefoot.sets.Box([-1.0, -1.0], [1.0, 0.5])),
        "constants": (_CONSTANTS,),
        "horizon": (10, 100),
        "dimension": (2, 3),
        "feedback": (Feedback(np.array([0.5, -1.0]), -0.25, np.array([0.6, 0.8])),),
        "rng": (np.random.default_rng(1),),
        "seed": (1, 7),
        "rows": (1, 2),
        "A": (np.array([[1.0, 0.5], [-0.3, 1.0]]),),
        "P": (np.array([[2.0, 0.3], [0.3, 1.0]]),),
        "Q": (np.array([[2.0, 0.3], [0.3, 1.0]]),),
        "shape": ((2, 3),),
        "sizes": ((2, 1),),
        "sets": ([Ball(1.0), Ball(2.0)],),
        "rounds": (5, np.arange(1, 6)),
        "constraint": (surefoot.problems.constraints.Affine(np.eye(2), np.ones(2)),),
        "t": (1, 7, np.arange(1, 9)),
    }
    if name in known:
        return known[name][int(rng.integers(len(known[name])))]
    return [0.25, 1.0, x, 2, 0.5][int(rng.integers(5))]


def hostile(rng: Any) -> Any:
    """A value that nothing is meant for."""
    x = np.array([0.2, -0.1])
    shared = np.zeros(4)
    values: tuple[Any, ...] = (
        *(None, "", "-0.3", "text", b"bytes", True, [], {}, (), object(), int, len, Ellipsis),
        *(float("nan"), float("inf"), float("-inf"), 0.0, -0.0, -1.0, 5e-324, 1e-310, 1e308),
        *(0, -1, 10**6, 2**63, 10**30, 1 + 2j, 1e155, 1e-155),
        *(np.float32(0.5), np.int8(-128), np.bool_(True), np.float16(3), np.array(0.5)),
        *(x * np.nan, x * np.inf, x * 1e308, x * 1e-310, x.astype(np.float32), x.astype(object)),
        *(x.astype(str), np.array([1, -128], dtype=np.int8), x + 1j, np.ma.masked_array(x, [1, 0])),
        *(np.zeros(0), np.zeros((0, 2)), np.zeros((2, 0)), np.zeros((2, 2, 2)), np.zeros(1000)),
        *([0.2, -0.1], [[0.2], [1, 2]], ["a", "b"], [None, None], x.tolist() * 2, range(2)),
        *(shared[:2], shared[1:3], np.broadcast_to(0.5, (2,)), x.reshape(2, 1), x[::-1]),
        *(lambda *a: a, lambda x: (0.5, x), Feedback(None, None, None), Ball, Ball(1e-150)),
        *(np.datetime64("2020"), np.array(["2020"], dtype="M8[s]"), np.recarray((2,), dtype=float)),
    )
    return values[int(rng.integers(len(values)))]


def arguments(rng: Any, call: Callable[..., Any], made: list[Any]) -> tuple[list[Any], dict]:
    """Arguments for a call: mostly sensible, some hostile, some of what calls have made."""
    if isinstance(call, functools.partial):  # a property
        return [], {}
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (ValueError, TypeError):
        return [], {}
    hostility = float(rng.choice([0.0, 0.15, 0.5]))
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if p.default is not p.empty and rng.random() < 0.6:
            continue
        if rng.random() < hostility:
            value = hostile(rng)
        elif made and rng.random() < 0.25:
            value = made[int(rng.integers(len(made)))]
        elif p.default is not p.empty and p.default is not None and rng.random() < 0.5:
            value = p.default
        else:
            value = sensible(rng, p.name)
        if p.kind is p.POSITIONAL_ONLY:
            positional.append(value)
        else:
            named[p.name] = value
    return positional, named


# --- a call --------------------------------------------------------------------------------------


def bits(value: Any) -> Any:
    """What of an argument must not change."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return [bits(v) for v in value]
    if isinstance(value, dict):
        return {k: bits(v) for k, v in value.items()}
    return None


def held(instance: Any) -> Any:
    """What an instance holds, to be compared after an error."""
    names = getattr(type(instance), "__dataclass_fields__", None)
    if names is None:
        return None
    return {n: bits(getattr(instance, n, None)) for n in names}


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise Slow after so long, where there are such signals."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def judge(target: Target, positional: list[Any], named: dict[str, Any]) -> tuple[str, Any]:
    """Call, and say what came of it: a word that is allowed, or a sentence; and the value."""
    given = bits(positional), bits(named)
    owned = held(target.owner)
    value: Any = None
    try:
        with limited(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(io.StringIO()):
                value = target.call(*positional, **named)
        word = "a value"
    except Slow:
        return "too slow", None
    except (SurefootError, ValueError, *WRONG_TYPE) as error:
        word = "a SurefootError" if isinstance(error, SurefootError) else "another sentence"
        if isinstance(error, WRONG_TYPE) and not isinstance(error, SurefootError):
            word = "Python's own"
        elif len(str(error).splitlines()) != 1 and not isinstance(error, UnicodeError):
            return f"{target.name}: {type(error).__name__} of several lines or none", None
        if held(target.owner) != owned:
            return f"{target.name}: changed by a call that raised", None
    except ImportError as error:
        word = "an extra is missing"
        if "surefoot[" not in str(error):
            return f"{target.name}: {error}", None
    except MemoryError:
        word = "no memory"
    except Exception as error:
        if isinstance(error, ArithmeticError) and not numeric(target, positional, named):
            return "Python's own", None
        if isinstance(error, OverflowError) and "convert" in str(error):  # no such integer
            return "Python's own", None
        where = origin(error)
        return f"{target.name}: {type(error).__name__} at {where}", None
    if (bits(positional), bits(named)) != given:
        return f"{target.name}: an argument was changed", None
    return word, value


def numeric(target: Target, positional: list[Any], named: dict[str, Any]) -> bool:
    """Whether a call had numbers alone, and no record, which holds whatever it was given."""
    given = [*positional, *named.values()]
    return not isinstance(target.owner, tuple) and all(
        isinstance(v, int | float | Constants) or getattr(v, "dtype", np.dtype("O")).kind in "iuf"
        for v in given
    )


def origin(error: BaseException) -> str:
    """The last line of the library that an error went through."""
    found, trace = "?", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if f"{os.sep}surefoot{os.sep}" in file:
            found = f"{file.rpartition('surefoot' + os.sep)[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def fuzz(calls: int, seed: int = 0) -> tuple[Counter[str], dict[str, int]]:
    """Make so many calls: how often each allowed answer came, and the others with a number."""
    rng = np.random.default_rng([seed, 18])
    roots = [Target(name, call, None) for name, call in sorted(public().items())]
    made: list[Any] = []
    instances: list[Target] = []
    words: Counter[str] = Counter()
    wrong: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        for number in range(calls):
            pool = instances if instances and rng.random() < 0.6 else roots
            target = pool[int(rng.integers(len(pool)))]
            word, value = judge(target, *arguments(rng, target.call, made))
            if word in WORDS:
                words[word] += 1
            else:
                wrong.setdefault(word, number)
            if value is not None and type(value).__module__.split(".")[0] == "surefoot":
                kind = f"{type(value).__module__}.{type(value).__name__}"
                if len(made) < 400:
                    made.append(value)
                else:
                    made[int(rng.integers(len(made)))] = value
                instances += methods(kind, value)
                if len(instances) > 4_000:
                    keep = rng.permutation(len(instances))[:2_000]
                    instances = [instances[i] for i in keep]
    return words, wrong


WORDS = {
    "a value",
    "a SurefootError",
    "another sentence",
    "Python's own",
    "an extra is missing",
    "no memory",
    "too slow",
}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=float, default=1e5, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the calls")
    options = parser.parse_args()
    with contextlib.suppress(ImportError, ValueError):
        resource = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    words, wrong = fuzz(int(options.calls), options.seed)
    for sentence, number in sorted(wrong.items()):
        print(f"call {number}: {sentence}")
    said = ", ".join(f"{word} {count:,}" for word, count in sorted(words.items()))
    print(
        f"{int(options.calls):,} calls of {len(public())} public callables: {said}; "
        f"{len(wrong)} other answers"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
