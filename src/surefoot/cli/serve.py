"""``surefoot serve``: a plant, or a controller, for programs in any language."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli._exit import CodedError, MistakesError, UsageError
from surefoot.cli._output import argument, option, warn

if TYPE_CHECKING:
    from surefoot.controller.service import Service
    from surefoot.problems.plant import PlantDescription, ServiceDescription

__all__ = ["journal_errors", "serve"]

CHANGED, DAMAGED, IN_USE = 3, 4, 5
"""Exit codes: another plant than the journal's; a journal that lacks rounds; another service."""


def serve(
    file: Annotated[Path, argument("FILE", "A plant file, or the journal of a controller.")],
    listen: Annotated[
        str | None,
        option("WHERE", "Path of a Unix socket, or a loopback address and a port.", "--listen"),
    ] = None,
    metrics: Annotated[
        str | None, option("HOST:PORT", "Numbers for a monitor, on a loopback address.")
    ] = None,
    journal: Annotated[
        Path | None, option("FILE", "The journal, in place of that of the plant file.")
    ] = None,
    at_least: Annotated[
        int,
        option("ROUND", "The rounds that the journal must have: no old copy of it does.", min=0),
    ] = 0,
    yes: Annotated[
        bool, typer.Option("--yes", help="Begin although a constant looks implausible.")
    ] = False,
) -> None:
    """Serve a plant to a program in any language.

    Each line of a client is a request in JSON, such as {"do": "ask"} or {"do": "tell", "readings":
    {"hot_spot": 25.4}, "wanted": {"fan1": 40}}; each is answered by one line. {"do": "hello"}
    returns the version of the protocol, the commands, the names and the units. A rejected request
    is answered by one sentence and changes nothing.

    Clients connect to the socket; without one there is one client, on standard input. One client
    writes at a time, all others read. If nobody reports a round before its deadline, the service
    records it as missing. The journal is continued if it exists; else `surefoot plant` is printed,
    and it is created. The file says where
    to listen, unless the options do. SIGTERM, Ctrl-C and the end of standard input end the service
    and close the journal.

    Exit codes: 0 it was stopped; 2 a mistake in the file; 3 the file is not that of the journal
    (`surefoot amend` changes a plant); 4 the journal is damaged, or lacks rounds; 5 another service
    has the journal or the socket.

    Examples:
      surefoot serve plant.toml
      surefoot serve plant.toml --listen /run/surefoot/plant.sock --metrics 127.0.0.1:9464
      surefoot serve machines.jsonl
    """
    from surefoot.controller.service import Address, Daemon, read_token

    with journal_errors(), _logging() as log:
        service, plan = _open(file, journal, at_least, yes, listen, log)
        try:
            where = None if listen is None else Address.parse(listen, "listen")
            if listen is None and plan.listen is not None:
                where = Address.parse(plan.listen, "service.listen")
                if where.path is not None:  # relative to the file, as its journal is
                    where = where._replace(path=file.parent / where.path)
            monitor = metrics or plan.metrics
            numbers = None if monitor is None else Address.parse(monitor, "metrics")
            if numbers is not None and numbers.path is not None:
                raise UsageError(f"metrics must be a loopback address, got the path {monitor!r}")
            token = b""
            if where is not None and where.path is None:
                if plan.token_file is None:
                    raise UsageError("service.token_file must be given to listen on an address")
                token = read_token(file.parent / plan.token_file)
            daemon = Daemon(service, where, numbers, token, plan.heartbeat)
        except BaseException:
            service.close()
            raise
        daemon.run()


def _open(
    file: Path,
    journal: Path | None,
    at_least: int,
    yes: bool,
    listen: str | None,
    log: Callable[[], None],
) -> tuple[Service, ServiceDescription]:
    """Return what answers, and how it is served."""
    from surefoot.controller import Controller, is_journal
    from surefoot.controller.journal import Reader
    from surefoot.controller.service import ControllerService, PlantFleetService, PlantService
    from surefoot.problems.plant import ServiceDescription, read_plant

    if is_journal(file):
        if journal is not None:
            raise UsageError("--journal must be left out where the journal is served")
        if Reader(file).header.get("plant") is not None:
            raise UsageError(f"'{file}' is the journal of a plant: serve the plant file")
        if listen:
            log()
        return ControllerService(
            Controller.open(file, at_least=at_least), file
        ), ServiceDescription()
    plant = read_plant(file)
    if listen or plant.service.listen:
        log()
    where = file.parent / plant.journal if journal is None and plant.journal else journal
    if where is not None and not where.exists():
        if at_least:
            words = f"journal '{where}' must have {at_least} rounds, and does not exist"
            raise CodedError(words, DAMAGED)
        _show_plant(plant, yes)
    kind = PlantFleetService if plant.members else PlantService
    return kind(file, journal=journal, at_least=at_least), plant.service


def _show_plant(plant: PlantDescription, yes: bool) -> None:
    """Print what the constants mean, before the first round.

    Args:
        plant: the description.
        yes: whether to begin although one looks implausible.
    """
    from surefoot.problems.plant import needs_confirmation, plausibility

    warn(*plausibility(plant))
    if needs_confirmation(plant) and not yes:
        raise UsageError(
            "a first step is marked, so a constant may be in other units: correct it, or begin "
            "with --yes"
        )


@contextmanager
def _logging() -> Iterator[Callable[[], None]]:
    """Yield what begins to write alarms, and who comes and goes, to standard error."""
    from surefoot.controller import JournalWarning

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("%(levelname)s %(message)s"))
    logger = logging.getLogger("surefoot")
    level = logger.level

    def begin() -> None:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        warnings.simplefilter("ignore", JournalWarning)  # the log has it

    with warnings.catch_warnings():
        try:
            yield begin
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


class _OneLine(logging.Formatter):
    """A line for every record, whatever words of others are in it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line."""
        return " ".join(super().format(record).split())


@contextmanager
def journal_errors() -> Iterator[None]:
    """Give errors about a plant file and its journal their exit codes."""
    from surefoot.controller import PlantChangedError
    from surefoot.core.errors import DamagedError, InUseError
    from surefoot.problems.plant import PlantFileError

    try:
        yield
    except PlantFileError as error:
        raise MistakesError(str(error)) from error
    except PlantChangedError as error:
        raise CodedError(str(error), CHANGED) from error
    except DamagedError as error:
        raise CodedError(str(error), DAMAGED) from error
    except InUseError as error:
        raise CodedError(str(error), IN_USE) from error
