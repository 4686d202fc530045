"""The address of Docker's server. The settings of its containers are in `agents[].sandbox.docker`."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from hub.core.schema import (
    PATH,
    All,
    AnyOf,
    Described,
    Invalid,
    Optional,
    Schema,
)

SOCKET = "/var/run/docker.sock"


def _socket(value: Any) -> str:
    if isinstance(value, str) and PurePosixPath(value).is_absolute() and len(value) <= 100:
        return value
    raise Invalid(f"expected the absolute path of a socket, such as {SOCKET}")


CONFIG_SCHEMA = Schema(
    AnyOf(
        None,
        All(
            {
                Optional("socket", default=SOCKET, description="The socket of the server of Docker"): Described(
                    _socket, {"type": "string", "format": PATH}, "path"
                )
            }
        ),
    )
)
