"""The process that reads content from outside: calls arrive on standard input, results go to standard output.

Each frame is four bytes of length, then msgpack. The process may use a bounded amount of memory and writes no files;
the system ends it when one call uses more processor time than it was given.
"""

from __future__ import annotations

import importlib
import math
import os
import resource
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from hub.core.errors import HubError

MEMORY_BYTES = 1_000_000_000
RETIRE_BYTES = 300_000_000
"""A process that ever used more memory than this answers, and ends."""
LENGTH = struct.Struct(">I")


class ReadRequest(msgspec.Struct):
    """A call: `module:function`, its arguments, and the processor time it may use."""

    function: str
    arguments: list[Any]
    cpu_s: int


class ReadAnswer(msgspec.Struct):
    """The result of the function, or the reason why it has none.

    Attributes:
        result: As msgpack.
        code: The code of the error that the function raised on purpose; empty when there was none.
        failed: Any other error: its kind.
        retires: Whether the process ends with this answer.
    """

    result: bytes = b""
    code: str = ""
    message: str = ""
    failed: str = ""
    retires: bool = False


def answer(request: ReadRequest) -> ReadAnswer:
    """Call a function and return its result."""
    module, _, name = request.function.partition(":")
    try:
        result = getattr(importlib.import_module(module), name)(*request.arguments)
        return ReadAnswer(result=msgspec.msgpack.encode(result, enc_hook=str))
    except HubError as error:
        return ReadAnswer(code=error.code, message=str(error.message))
    except Exception as error:  # whatever foreign content makes of a parser is an answer
        return ReadAnswer(failed=type(error).__name__)


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer until the input ends, or too much memory was used."""
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        request = msgspec.msgpack.decode(source.read(*LENGTH.unpack(head)), type=ReadRequest)
        _allow_processor(request.cpu_s)
        found = answer(request)
        found.retires = _peak_bytes() > RETIRE_BYTES
        body = msgspec.msgpack.encode(found)
        sink.write(LENGTH.pack(len(body)) + body)
        sink.flush()
        if found.retires:
            return


def _peak_bytes() -> int:
    """Return the peak memory use of this process."""
    try:
        # On Linux, what getrusage says begins with the memory of the process that started this one.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _allow_processor(more_s: int) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used_s = math.ceil(usage.ru_utime + usage.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (used_s + more_s, resource.RLIM_INFINITY))


def main() -> None:
    """Serve on standard input and output; anything else that is printed goes to standard error."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
