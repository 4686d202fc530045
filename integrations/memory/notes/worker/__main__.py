"""The index worker: started by the hub with a directory, speaks frames on its standard input and output."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

from integrations.memory.notes.worker import frames
from integrations.memory.notes.worker.server import Server

SWITCH_S = 0.001
"""A thread that computes gives way to a search after so long."""
LINE_BYTES = 1 << 20


def main() -> None:
    """Serve until standard input ends, which it does when the hub has ended, in whatever way."""
    os.umask(0o077)
    sys.setswitchinterval(SWITCH_S)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    # Whatever some library prints must not get among the frames.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asyncio.run(_serve(Path(sys.argv[1]), answers))
    sys.stderr.flush()
    # Threads that still read or compute keep nothing that could be lost.
    os._exit(0)


async def _serve(cache_dir: Path, answers: Any) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, answers)

    def send(message: dict[str, Any]) -> None:
        transport.write(frames.encode(message))

    try:
        await Server(cache_dir).serve(reader, send)
    except frames.FrameError as error:
        logging.getLogger(__name__).error("the hub cannot be understood any longer: %s", error)


if __name__ == "__main__":
    main()
