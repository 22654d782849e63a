"""A controller behind lines of JSON: one request in, one answer out, for any language.

:data:`PROTOCOL` is the version of requests and answers; docs/serve.md has the schema. The answer to
a request that cannot be served is one sentence, and nothing changes.
"""

import json
import logging
import math
import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np

from surefoot import __version__, sets
from surefoot.controller.alarms import Alarm
from surefoot.controller.configuring import player_from
from surefoot.controller.controller import Controller
from surefoot.controller.fleet import Fleet, shape_of_entry
from surefoot.core.errors import StoreError, SurefootError
from surefoot.core.feedback import FIELDS
from surefoot.core.plain import PlainTable, build, json_plain
from surefoot.guarantees import PremiseError

__all__ = ["LONGEST", "PROTOCOL", "FleetService", "Service"]

PROTOCOL = 1
"""The version of the protocol; it changes when a program for the old one would go wrong."""

LONGEST = 1_000_000
"""Bytes of a request, its end of line not counted."""

_WORDS = 1_000  # characters of a sentence and of an id: an answer is one short line
_COMMANDS = (
    *("ask", "tell", "announce", "explain", "note", "hold", "retreat", "resume"),
    *("add", "remove"),
)
_NO_JSON = ("player", "start")  # what a program in another language has not
_NEW = {"start": None, "player": None, "constants": None, "domain": None, "horizon": None}
"""What describes a new member in JSON, as in the file of the service."""

Answer: TypeAlias = PlainTable


class RequestError(SurefootError, ValueError):
    """A line that is no request of the protocol."""


_KINDS: dict[str, type[Exception] | tuple[type[Exception], ...]] = {
    "request": RequestError,
    "contradiction": PremiseError,
    "journal": StoreError,
    "invalid": (SurefootError, ValueError),
}
"""The kind of a rejection, by its exception; any other exception is a bug."""


def _commands_of(controller: Any) -> dict[str, PlainTable]:
    """Return what each command takes, with the defaults."""
    commands: dict[str, PlainTable] = {"hello": {}, "status": {}}
    for name in _COMMANDS:
        if hasattr(controller, name):
            parameters = signature(getattr(controller, name)).parameters.values()
            commands[name] = {
                p.name: None if p.default is p.empty else p.default
                for p in parameters
                if p.name not in _NO_JSON
            }
    return commands


class Service:
    """Answers requests with a controller.

    Args:
        controller: the player; its maker closes it.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.rules import CertifiedPFS
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> service = Service(Controller(player, start=[0.0, 0.0]))
        >>> service.answer(b'{"do": "ask", "id": 7}')
        '{"ok": true, "id": 7, "round": 1, "action": [0.0, 0.0]}'
        >>> service.answer(b'{"do": "tell", "cost_gradient": [1, NaN]}')
        '{"ok": false, "kind": "request", "error": "a number must be finite, got NaN", "round": 1}'
    """

    longest: ClassVar[int] = LONGEST
    commands: dict[str, PlainTable]

    def __init__(self, controller: Controller | Fleet) -> None:
        self._controller: Any = controller
        self.commands = _commands_of(controller)
        self._alarms: list[Alarm] = []
        self._listener, controller.on_alarm = controller.on_alarm, self._keep_alarm

    def answer(self, line: bytes) -> str:
        """Return the answer to a line, without an end of line; no line makes it raise."""
        head: Answer = {}
        try:
            request = _parse(line, self.longest)
            if "id" in request:
                head["id"] = _identity(request.pop("id"))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                reply = self._serve(request)
            if caught:
                reply["warnings"] = [_sentence(w.message) for w in caught]
            return self._line({"ok": True, **head, **reply})
        except Exception as error:
            kind = next((kind for kind, those in _KINDS.items() if isinstance(error, those)), "")
            bug = f"unexpected {type(error).__name__}: {error} (this is a bug)"
            return self._reject(head, kind or "internal", error if kind else bug)

    def _keep_alarm(self, alarm: Alarm) -> None:
        """Keep an alarm for the answer, and pass it on."""
        self._alarms.append(alarm)
        if self._listener is not None:
            self._listener(alarm)

    def _line(self, answer: Answer) -> str:
        """Return an answer as a line, with the alarms since the last one."""
        alarms = [
            alarm._asdict()
            | {"level": logging.getLevelName(alarm.level).lower()}
            | {"sentence": _sentence(alarm.sentence)}
            for alarm in self._alarms
        ]
        self._alarms.clear()
        return json.dumps(answer | ({"alarms": alarms} if alarms else {}), allow_nan=False)

    def too_long(self, size: int) -> str:
        """Return the answer to a line that is too long.

        Args:
            size: the number of its bytes.
        """
        sentence = f"a line must have at most {self.longest} bytes, got {size}"
        return self._reject({}, "request", sentence)

    def _reject(self, head: Answer, kind: str, error: Any) -> str:
        sentence = _sentence(error)
        answer = {"ok": False, **head, "kind": kind, "error": sentence}
        return self._line({**answer, "round": self._controller.round})

    def _serve(self, request: PlainTable) -> Answer:
        name = request.pop("do", None)
        if not isinstance(name, str) or name not in self.commands:
            _refuse(f"do must be one of {', '.join(self.commands)}, got {_shown(name)}")
        keys = self.commands[name]
        if strangers := sorted(set(request) - set(keys)):
            names = ", ".join(sorted(keys)) or "nothing but id"
            _refuse(f"{name} takes {names}, got {_shown(strangers[0])}")
        # An order, to hold, retreat or resume, and a note are the controller's own.
        command = getattr(self, f"_{name}", None) or getattr(self._controller, name)
        answer: Answer = command(**keys | request) or {}
        return {"round": self._controller.round, **answer}

    # --- the commands ----------------------------------------------------------------------------

    def _hello(self) -> Answer:
        return {
            "protocol": PROTOCOL,
            "surefoot": __version__,
            "longest": self.longest,
            "commands": list(self.commands),
            **self._status(),
        }

    def _ask(self) -> Answer:
        return {"action": self._controller.ask().tolist()}

    def _tell(self, **fields: Any) -> None:
        if fields.get("within") is not None:
            fields["within"] = _set(fields["within"], "within")
        self._controller.tell(**fields)

    def _explain(self, **member: Any) -> Answer:
        why = self._controller.explain(**member)
        certificate: Any = why.certificate
        return {
            "text": str(why),
            "is_proven": bool(why.is_proven),
            "bound": json_plain(why.bound),
            "slack": json_plain(why.slack),
            "regret_bound": json_plain(why.regret_bound),
            "guarantee": str(why.guarantee or why.unproved),
            "promises": why.promises.theorems(),
            "certificate": None if certificate is None else json_plain(certificate._asdict()),
            "broken": [b.sentence for b in why.broken],
        }

    def _status(self) -> Answer:
        controller, why = self._controller, self._explain()
        return {
            "player": repr(controller.algorithm),
            "dimension": int(controller.state.x.shape[-1]),
            "on_contradiction": controller.on_contradiction,
            **{name: why[name] for name in ("guarantee", "is_proven", "broken")},
        }


class FleetService(Service):
    """Answers requests with a fleet: actions and feedback are lists, one entry per member.

    Args:
        fleet: the players; its maker closes it.
        make: makes the player of a new member from its start; None if a request must have it.
        policies: of new members, as for :meth:`Fleet.add`, unless a request has others.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.rules import SafetyFilter
        >>> player = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
        >>> service = FleetService(Fleet(player, {"north": [0.0], "south": [0.0]}))
        >>> service.answer(b'{"do": "ask"}')
        '{"ok": true, "round": 1, "action": [[0.0], [0.0]]}'
        >>> service.answer(b'{"do": "remove", "name": "south", "reason": "sold"}')
        '{"ok": true, "round": 1, "names": ["north"]}'
    """

    longest: ClassVar[int] = 100 * LONGEST

    def __init__(
        self, fleet: Fleet, make: Callable[[Any], Any] | None = None, **policies: Any
    ) -> None:
        super().__init__(fleet)
        self._make = make
        self.commands["add"] |= _NEW | policies

    def _tell(self, **fields: Any) -> None:
        d, limits = self._controller.dimension, self._controller.limits
        numbers = {
            field.name: _with_nan(fields[field.name], shape_of_entry(field, d, limits))
            for field in _NUMBERS
        }
        sets = fields["within"]
        if isinstance(sets, list):
            sets = [one if one is None else _set(one, f"within[{i}]") for i, one in enumerate(sets)]
        self._controller.tell(**fields | numbers | {"within": sets})

    def _add(self, name: Any, start: Any, reason: Any, player: Any, **fields: Any) -> Answer:
        """Let a member come, with the player of the service or another one."""
        options = {key: fields.pop(key) for key in ("constants", "domain", "horizon")}
        if player is not None:
            player = player_from(player, start=start, **options)
        elif self._make is None or any(part is not None for part in options.values()):
            _refuse("player must be given, a table as in the file of the service")
        else:
            player = self._make(start)
        self._controller.add(name, player, start, reason, **fields)
        return {"names": list(self._controller.names)}

    def _remove(self, **fields: Any) -> Answer:
        self._controller.remove(**fields)
        return {"names": list(self._controller.names)}

    def _status(self) -> Answer:
        fleet = self._controller
        return {
            "fleet": repr(fleet),
            "dimension": fleet.dimension,
            "names": list(fleet.names),
            "rounds": fleet.rounds,
            "halted": fleet.halted,
        }


# --- what comes in -------------------------------------------------------------------------------


def _parse(line: bytes, longest: int) -> PlainTable:
    """Return the request in a line of strict JSON in UTF-8."""
    if len(line.rstrip(b"\r\n")) > longest:
        _refuse(f"a line must have at most {longest} bytes, got {len(line)}")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        _refuse("a line must be text in UTF-8, got other bytes")
    try:
        request = json.loads(text, parse_constant=_not_finite, object_pairs_hook=_object)
    except RequestError:
        raise
    except json.JSONDecodeError as error:
        _refuse(f"a line must be one JSON object, got no JSON at character {error.pos + 1}")
    except RecursionError:
        _refuse("a line must be one flat JSON object, got one that is nested too deeply")
    except ValueError:  # an integer of thousands of digits
        _refuse("a number must have at most 4300 digits, got more")
    if not isinstance(request, dict):
        _refuse(f"a line must be one JSON object, got {_shown(request)}")
    return request


_NUMBERS = [
    field for field in FIELDS if field.fleet and field.reader not in ("set", "context", "readings")
]
"""The columns of numbers that a fleet is told."""


def _with_nan(value: Any, shape: tuple[int, ...]) -> Any:
    """Return a column with NaN for each null, which is no report.

    Args:
        value: of the request.
        shape: of an entry.
    """
    if not isinstance(value, list):
        return value
    nothing = np.full(shape, math.nan).tolist()
    return [nothing if part is None else _with_nan(part, shape[1:]) for part in value]


def _refuse(sentence: str) -> NoReturn:
    raise RequestError(sentence)


def _not_finite(word: str) -> NoReturn:
    _refuse(f"a number must be finite, got {word}")


def _object(pairs: list[tuple[str, Any]]) -> PlainTable:
    table: PlainTable = {}
    for name, value in pairs:
        if name in table:
            _refuse(f"a name must be given once, got {_shown(name)} twice")
        table[name] = value
    return table


def _identity(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        _refuse(f"id must be a text or a whole number, got {_shown(value)}")
    if len(value) > _WORDS if isinstance(value, str) else abs(value) >= 1 << 63:
        _refuse(f"id must have at most {_WORDS} characters or 63 bits, got more")
    return value


def _set(value: Any, name: str) -> Any:
    """Return the set that an object names, as in the file of the service."""
    if isinstance(value, dict) and value.get("class") in sets.__all__:
        return build(value, name)
    example = '{"class": "Box", "lower": [0], "upper": [1]}'
    _refuse(f"{name} must be a set such as {example}, got {_shown(value)}")


# --- what goes out -------------------------------------------------------------------------------


def _sentence(error: Any) -> str:
    words = " ".join(str(error).split())
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 4]} ..."


def _shown(value: Any) -> str:
    """Return a value in few characters."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**20:
        return "a whole number of more than 20 digits"
    words = json.dumps(value)
    return words if len(words) <= 60 else f"{words[:56]} ..."
