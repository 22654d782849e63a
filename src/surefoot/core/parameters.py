r"""Declarations of parameters: what each may be, written once beside its field.

A class of parameters is a frozen dataclass whose fields are declared by what they may be::

    class Descent(Declared):
        eta: float = positive()
        decay: float = nonnegative(default=0.0)
        domain: Set = projectable()

The constructor checks them and raises one sentence with the name, the rule and the value.
Specifications, ``serve``, the export to C, ``surefoot list`` and the tables of the docs read only
:func:`parameters_of`; they read no annotations. A class with a written constructor names the
classes that declare its arguments in ``declared_by``. The theorem of a tuned constructor declares
its options, or its mark does, :func:`surefoot.core.algorithm.tuning`.

A number may be a column ``(B, 1)``, one row for each run of a batch. A parameter whose default is
None may be None.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache, partial, wraps
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, dataclass_transform

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import is_sparse
from surefoot.core.checks import shape_of
from surefoot.core.errors import InvalidTypeError, InvalidValueError, suggest
from surefoot.core.types import Array, Number, Player

Form: TypeAlias = Literal["number", "whole", "switch", "word", "any", "array", "set", "object"]
"""The form of plain data of a parameter; "any" is a field without a declaration."""


T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

Read: TypeAlias = Callable[[str, Any], object]
"""From the name and a value to the value to store; raises if it breaks the rule."""

Declaration: TypeAlias = Any
"""The result of a declaration; a type checker takes it for the value of the field."""

OF_A_SET = ("project", "contains", "minimize_linear")
"""The methods of a set with a projection."""


class Parameter(NamedTuple):
    """One parameter of a class.

    Attributes:
        name: of the field.
        form: the form of its plain data.
        rule: what it may be, in words that follow "must be".
        default: the default value; ... if the parameter is required.
        read: from the name and a value to the value to store; raises if it breaks the rule.
    """

    name: str
    form: Form
    rule: str
    default: object
    read: Read

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is ...

    @property
    def is_plain(self) -> bool:
        """Whether it is a number, a switch or a word, not an object."""
        return self.form not in ("array", "set", "object")

    def check(self, value: object) -> object:
        """Return the value to store, or raise; None is valid if it is the default."""
        return None if value is None is self.default else self.read(self.name, value)


def declare(form: Form, rule: str, read: Read, default: object = MISSING) -> Declaration:
    """Declare a parameter that none of the functions below describes.

    Args:
        form: the form of its plain data.
        rule: what it may be, in words that follow "must be".
        read: from the name and a value to the value to store; raises if it breaks the rule.
        default: the default value.
    """
    return field(default=default, metadata={"parameter": (form, rule, read)})


def _number(rule: str, check: Callable[..., None], default: object) -> Declaration:
    def read(name: str, value: Number) -> Number:
        check(**{name: value})
        return checks.to_python_number(value)

    return declare("number", rule, read, default)


def _object(form: Form, rule: str, holds: Callable[[Any], bool], default: object) -> Declaration:
    def read(name: str, value: object) -> object:
        if not holds(value):
            raise checks.invalid(name, rule, value)
        return value

    return declare(form, rule, read, default)


def positive(*, default: object = MISSING) -> Declaration:
    """Declare a finite number above 0."""
    return _number("a finite number > 0", checks.positive, default)


def nonnegative(*, default: object = MISSING, infinite: bool = False) -> Declaration:
    """Declare a finite number of at least 0, or one that may be infinite."""
    if not infinite:
        return _number("a finite number >= 0", checks.nonnegative, default)

    def check(**number: Number) -> None:
        if not any(isinstance(value, float) and value == math.inf for value in number.values()):
            checks.nonnegative(**number)

    return _number("a number >= 0", check, default)


def number(*, default: object = MISSING) -> Declaration:
    """Declare a finite number."""
    return _number("a finite number", checks.finite, default)


def size(*, default: object = MISSING) -> Declaration:
    """Declare a finite number above 0 whose square is finite and above 0."""
    return _number("a finite number > 0", checks.squarable, default)


def share(*, default: object = MISSING) -> Declaration:
    """Declare a number strictly between 0 and 1."""
    return _number("strictly between 0 and 1", partial(checks.between, 0, 1), default)


def count(least: int = 1, *, default: object = MISSING) -> Declaration:
    """Declare a whole number of at least 1, or of another least."""
    rule = f"a whole number >= {least}"

    def read(name: str, value: object) -> int:
        return checks.positive_int(value, name, rule, least)

    return declare("whole", rule, read, default)


def rounds(*, default: object = MISSING) -> Declaration:
    """Declare a number of rounds."""

    def read(name: str, value: object) -> int:
        return checks.check_horizon(value, name)

    return declare("whole", "a whole number of rounds >= 1", read, default)


def flag(*, default: object = MISSING) -> Declaration:
    """Declare True or False."""

    def read(name: str, value: object) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise checks.invalid(name, "True or False", value)
        return bool(value)

    return declare("switch", "True or False", read, default)


def choice(*words: str, default: object = MISSING) -> Declaration:
    """Declare one of a few words."""
    return _object("word", "one of " + ", ".join(map(repr, words)), words.__contains__, default)


def vector(*, default: object = MISSING) -> Declaration:
    """Declare an array of one axis."""
    return _array("a vector", checks.to_vector, default)


def matrix(*, default: object = MISSING) -> Declaration:
    """Declare an array of two axes."""
    return _array("a matrix", checks.to_matrix, default)


def rows(*, default: object = MISSING) -> Declaration:
    """Declare a matrix without a zero row, dense or SciPy's sparse."""
    return _array("a matrix without a zero row", checks.to_rows, default)


def symmetric(*, default: object = MISSING) -> Declaration:
    """Declare a symmetric matrix."""
    return _array("a symmetric matrix", checks.to_symmetric, default)


def _array(rule: str, check: Callable[[Array, str], Array], default: object) -> Declaration:
    def read(name: str, value: Array) -> Array:
        return value if checks.is_traced(value) else check(value, name)

    return declare("array", rule, read, default)


def projectable(*, default: object = MISSING, convex: bool = True) -> Declaration:
    """Declare a set that can be projected onto; also chosen points, if it need not be convex."""

    def read(name: str, value: object) -> object:
        if not has_methods(value, *OF_A_SET):
            raise _no_projection(name, value)
        if convex:
            _check_convex(name, value, "projections bring points no further apart")
        return value

    return declare("set", "a set with a projection", read, default)


def learnable(*, default: object = MISSING) -> Declaration:
    """Declare a set that a proposer learns in: of chosen points it is the box around them."""

    def read(name: str, value: object) -> object:
        if not has_methods(value, *OF_A_SET):
            raise _no_projection(name, value)
        if getattr(value, "is_convex", True):
            return value
        if (box := getattr(value, "inside", None)) is None:
            rule = "of known dimension, for a proposer to learn in the box around it: give least "
            rule += "and most, and one of both per entry"
            raise checks.invalid(name, rule, value)
        return box

    return declare("set", "a set with a projection", read, default)


def minimising(*, default: object = MISSING) -> Declaration:
    """Declare a set that minimises linear functions; it need not project."""
    rule = "a set that minimises linear functions"

    def read(name: str, value: object) -> object:
        if not has_methods(value, "minimize_linear", "contains"):
            raise checks.invalid(name, rule, value)
        _check_convex(name, value, "means of its points are in it")
        return value

    return declare("set", rule, read, default)


def _no_projection(name: str, value: object) -> InvalidValueError:
    """Return the error for something that is no set with a projection."""
    return InvalidValueError(
        f"{name} must be a set with a projection, got {_describe_set_mistake(value)}"
    )


def _check_convex(name: str, value: object, reason: str) -> None:
    """Raise for chosen points where a rule's definition needs a convex set."""
    if not getattr(value, "is_convex", True):
        raise InvalidValueError(
            f"{name} must be convex, so that {reason} (LeaderFollower and RegionFilter take "
            f"choices), got {checks.repr_line(value)}"
        )


def algorithm(*, default: object = MISSING) -> Declaration:
    """Declare an algorithm."""
    rule = "an algorithm with init and step"

    def read(name: str, value: object) -> object:
        if isinstance(value, Player) and not isinstance(value, type):
            return value
        if hasattr(value, "algorithm") and hasattr(value, "guarantee"):
            what = f"{rule}: give tuned.algorithm, or take of(tuned, ...), which keeps a guarantee"
            raise InvalidValueError(f"{name} must be {what}, got a {type(value).__name__}")
        raise checks.invalid(name, rule, value)

    return declare("object", rule, read, default)


def instance_of(*kinds: type, default: object = MISSING) -> Declaration:
    """Declare an object of one of a few classes."""
    names = " or ".join(kind.__name__ for kind in kinds)
    rule = f"{'an' if names[0] in 'AEIOU' else 'a'} {names}"
    return _object("object", rule, lambda v: isinstance(v, kinds), default)


def function(*, default: object = MISSING) -> Declaration:
    """Declare something that can be called."""
    return _object("object", "a function", callable, default)


def anything(rule: str = "an object", *, default: object = MISSING) -> Declaration:
    """Declare an object that the class itself checks."""
    return _object("object", rule, lambda _: True, default)


def has_methods(value: object, *names: str) -> bool:
    """Return whether an object has methods of these names; False for classes."""
    for name in names:
        if not callable(getattr(value, name, None)):
            return False
    return not isinstance(value, type)


def _describe_set_mistake(value: object) -> str:
    """Describe a value that was given for a set, with the set that is likely meant."""
    if isinstance(value, (int, float)):
        return f"{value!r}: Ball({value!r}) is the ball of that radius"
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return f"{checks.repr_line(value)}: take Box(lower, upper) for what each entry may be"
    if has_methods(value, "query", "constants"):
        return f"the constraint {checks.repr_line(value)}: its region is the set"
    return repr(value)


def parameters_of(kind: Any) -> dict[str, Parameter]:
    """Return the parameters of a dataclass, or the options of a tuned constructor, by name.

    A field without a declaration may have any value; the constructor checks it.

    Args:
        kind: the class, or the constructor.

    Example:
        >>> from surefoot import PFS
        >>> parameters_of(PFS)["eta"].rule, list(parameters_of(PFS.chosen))
        ('a finite number > 0', ['eta', 'rho'])
    """
    if isinstance(kind, type) and (others := getattr(kind, "declared_by", None)):
        return _collect_parameters(vars(kind).get("__init__", kind), others)
    if not isinstance(kind, type) and hasattr(kind, "options"):
        theorem = kind.theorem()
        declarations = {} if theorem is None else parameters_of(theorem)
        return _collect_parameters(kind, (), declarations | _fields_of(kind), only_options=True)
    return _fields_of(kind)


def _fields_of(kind: Any) -> dict[str, Parameter]:
    """Return the declared fields of a dataclass, or the options that a mark declares."""
    if isinstance(kind, type):
        return dict(_class_fields(kind))
    options, defaults = getattr(kind, "options", {}), kind.__kwdefaults__ or {}
    return _parameters({n: (f.metadata, defaults.get(n, MISSING)) for n, f in options.items()})


@cache
def _class_fields(kind: Any) -> dict[str, Parameter]:
    """Return the declared fields of a dataclass."""
    init_fields = [f for f in fields(kind) if f.init] if is_dataclass(kind) else []
    defaults = {f.name: f.default_factory() for f in init_fields if callable(f.default_factory)}
    return _parameters({f.name: (f.metadata, defaults.get(f.name, f.default)) for f in init_fields})


def _parameters(
    declarations: Mapping[str, tuple[Mapping[str, Any], object]],
) -> dict[str, Parameter]:
    """Return the parameters that fields declare, from their metadata and defaults."""
    undeclared = ("any", "", lambda name, value: value)
    return {
        name: Parameter(name, form, rule, ... if default is MISSING else default, read)
        for name, (metadata, default) in declarations.items()
        for form, rule, read in [metadata.get("parameter", undeclared)]
    }


def _collect_parameters(
    make: Any,
    kinds: Iterable[Any],
    declarations: Mapping[str, Parameter] = MappingProxyType({}),
    *,
    only_options: bool = False,
) -> dict[str, Parameter]:
    """Return the parameters of a written constructor, as declared by the given classes."""
    for part in kinds:
        declarations = {**parameters_of(part), **declarations}
    return {
        p.name: declarations[p.name]._replace(default=... if p.default is p.empty else p.default)
        for p in inspect.signature(make).parameters.values()
        if p.name in declarations and (p.kind is p.KEYWORD_ONLY or not only_options)
    }


def name_unknown(make: F, owner: Callable[[Any], str], others: Callable[[str, Any], str]) -> F:
    """Return a constructor that says in one sentence which parameter a call has wrong.

    Of an unknown keyword it names the nearest parameter.

    Args:
        make: the constructor; its first argument is the object, or the class.
        owner: from that argument to the name of the constructor in the sentence.
        others: from the keyword and that argument to its other owner; may be empty.
    """
    code = make.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    allowed = frozenset(names)
    if code.co_flags & inspect.CO_VARKEYWORDS:  # it passes every keyword on
        return make

    @wraps(make)
    def constructor(self: Any, *arguments: Any, **named: Any) -> Any:
        if not named.keys() <= allowed:
            wrong = next(name for name in named if name not in allowed)
            advice = others(wrong, self) or suggest(wrong, names)
            raise InvalidTypeError(f"{owner(self)} has no parameter {wrong!r}{advice}")
        try:
            return make(self, *arguments, **named)
        except TypeError:
            if sentence := _explain_call(make, owner(self), arguments, named):
                raise InvalidTypeError(sentence) from None
            raise

    return constructor  # type: ignore[return-value]


def _explain_call(make: Any, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Return what a call has wrong, in a sentence; empty where its parameters are complete.

    Args:
        make: the constructor.
        name: its name in the sentence.
        arguments: what was given without names, after the object.
        named: what was given by names.
    """
    _, *parameters = inspect.signature(make).parameters.values()
    unnamed = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(arguments) > len(unnamed):
        wrong = checks.repr_line(arguments[len(unnamed)])
        rest = [p.name for p in parameters][len(unnamed) :]
        if not rest:
            return f"{name} takes at most {len(unnamed)} parameters, got {wrong} as one more"
        return f"{name} takes parameters by name, as {rest[0]}=..., got {wrong} without one"
    given = unnamed[: len(arguments)]
    if twice := [one for one in given if one in named]:
        return f"{name} takes {twice[0]} once, got it twice"
    needed = [p.name for p in parameters if p.default is p.empty and p.name not in given]
    missing = [one for one in needed if one not in named]
    return f"{name} needs {' and '.join(missing)}, got none" if missing else ""


def _explain_unsupported(name: str, kind: type) -> str:
    """Return why a class has no such parameter, as its ``unsupported`` says; empty if not."""
    unsupported: Mapping[str, str] = getattr(kind, "unsupported", {})
    return f": {unsupported[name]}" if name in unsupported else ""


def check_keywords(cls: type, others: Callable[[str, Any], str]) -> None:
    """Make the constructor of a class name the nearest parameter of an unknown keyword."""
    make = name_unknown(vars(cls)["__init__"], lambda self: type(self).__name__, others)
    setattr(cls, "__init__", make)  # noqa: B010 (editors follow a written assignment)


@dataclass_transform(
    frozen_default=True,
    kw_only_default=True,
    field_specifiers=(
        field,
        positive,
        nonnegative,
        number,
        size,
        share,
        count,
        rounds,
        flag,
        choice,
        vector,
        matrix,
        symmetric,
        rows,
        projectable,
        minimising,
        algorithm,
        instance_of,
        function,
        anything,
    ),
)
class Declared:
    """A base whose subclasses are frozen dataclasses with declared parameters.

    Parameters are keywords, unless a subclass sets ``kw_only=False``. They are checked and compared
    by value: arrays entry by entry. A large array is printed by its shape. A subclass may have
    ``unsupported``: of parameters of others the end of a sentence, what to take instead.

    >>> class Step(Declared):
    ...     eta: float = positive()
    >>> Step(eta=np.float64(0.5))
    Step(eta=0.5)
    >>> Step(eta=-1.0)
    Traceback (most recent call last):
    surefoot.core.errors.InvalidValueError: eta must be a finite number > 0, got -1.0
    """

    def __init_subclass__(cls, *, kw_only: bool = True, **options: object) -> None:
        """Make a frozen dataclass of the class."""
        super().__init_subclass__(**options)
        # Equality, hash and text are the methods below, so the dataclass must not write its own.
        has_constructor = bool(
            getattr(cls, "declared_by", ())
        )  # a constructor that subclasses inherit
        dataclass(frozen=True, kw_only=kw_only, eq=False, repr=False, init=not has_constructor)(cls)
        if "__init__" in vars(cls):
            check_keywords(cls, lambda name, self: _explain_unsupported(name, type(self)))

    def __post_init__(self) -> None:
        """Check the parameters that were given, and keep them as they were read."""
        kind: Any = type(self)
        values = vars(self)
        for name, parameter in _class_fields(kind).items():
            if values[name] is not parameter.default:  # a default is right as it is
                values[name] = parameter.read(name, values[name])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        pairs = zip(field_values(self), field_values(other), strict=True)
        return all(_is_same(a, b) for (f, a), (_, b) in pairs if f.compare)

    def __hash__(self) -> int:
        hashed = (v for f, v in field_values(self) if (f.compare if f.hash is None else f.hash))
        return hash((type(self), *(v if shape_of(v) is None else shape_of(v) for v in hashed)))

    def __repr__(self) -> str:
        parts = (f"{f.name}={_brief(value)}" for f, value in field_values(self) if f.repr)
        return f"{type(self).__name__}({', '.join(parts)})"


def replace_unchecked(owner: T, **parts: object) -> T:
    """Return a copy with some fields replaced by values that are checked already."""
    clone = copy(owner)
    vars(clone).update(parts)
    return clone


def field_values(owner: Any) -> list[tuple[Field[object], Any]]:
    """Return the fields of a dataclass with their values."""
    return [(f, getattr(owner, f.name)) for f in fields(owner)]


def parts_of(owner: Any, *, shown: bool = False) -> dict[str, Any]:
    """Return the parts or fields of an object by name; empty if it has neither.

    Args:
        owner: a rule with parts, or a dataclass.
        shown: whether to omit fields that are not printed.
    """
    if isinstance(owner, type):
        return {}
    if hasattr(owner, "part_names"):
        return {name: getattr(owner, name) for name in owner.part_names}
    if not is_dataclass(owner):
        return {}
    return {f.name: value for f, value in field_values(owner) if f.repr or not shown}


def _is_same(a: Array, b: Array) -> bool:
    """Return whether two values of a field are equal: arrays by value, tuples part by part."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if is_sparse(a) and is_sparse(b):
        return a.shape == b.shape and not (a != b).nnz
    return a is b or bool(np.array_equal(a, b))


def _brief(value: object) -> str:
    """Return a value as it is typed in; a large array by its shape."""
    if isinstance(value, np.ndarray) and value.size > 16:
        return f"<array of shape {value.shape}>"
    return repr(value)
