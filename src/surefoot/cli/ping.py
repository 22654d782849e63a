"""``surefoot ping``: does a service answer, and is it healthy?"""

from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli._output import Json, argument, option, show

__all__ = ["ping"]


def ping(
    place: Annotated[
        str, argument("WHERE", "Path of the socket, or the loopback address and the port.")
    ],
    token_file: Annotated[
        Path | None, option("FILE", "The file with the token, for an address.")
    ] = None,
    timeout: Annotated[
        float, option("SECONDS", "How long to wait for an answer.", min=0.1, max=600.0)
    ] = 5.0,
    json: Json = False,
) -> None:
    """Ask a service whether it is healthy.

    It is, if a round was reported within two deadlines and the journal can be written. Exit codes:
    0 it is healthy, 1 it is not or nobody answers. This is for containers and for scripts; GET
    /health on the port of the metrics says the same.

    Examples:
      surefoot ping /run/surefoot/plant.sock
      surefoot ping 127.0.0.1:9463 --token-file /etc/surefoot/token
    """
    from surefoot.controller.service import Client, NoServiceError

    with Client(place, token_file=token_file, timeout=timeout) as client:
        answer = client.say(do="status")
    if not answer["ok"]:
        raise NoServiceError(str(answer["error"]))
    words = f"round {answer['round']}: {answer['illness'] or 'healthy'}"
    show(json, answer, [words])
    if not answer["healthy"]:
        raise typer.Exit(1)
