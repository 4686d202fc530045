"""Ports for servers that cannot pick a free one themselves."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

FIRST, COUNT = 20_000, 10_000
"""Below those that the system gives to whoever asks for any: nobody else is given one before its server listens."""


def free_port() -> int:
    """Return a port on which nothing listens."""
    while True:
        port = FIRST + secrets.randbelow(COUNT)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
