"""Ports for servers that cannot pick a free one themselves."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from itertools import chain, cycle

FIRST, COUNT, WORKERS = 20_000, 10_000, 8
"""Below those that the system gives to whoever asks for any: nobody else is given one before its server listens."""


def _turns() -> cycle[int]:
    """Return the ports of this worker: another would find free what a server here only begins or stops to listen on."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    each = COUNT if worker is None else COUNT // WORKERS
    first = FIRST if worker is None else FIRST + int(worker.removeprefix("gw")) % WORKERS * each
    begin = secrets.randbelow(each)
    return cycle(chain(range(first + begin, first + each), range(first, first + begin)))


_TURNS = _turns()


def free_port() -> int:
    """Return a port on which nothing listens, and which was given to nobody for long."""
    while True:
        port = next(_TURNS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
