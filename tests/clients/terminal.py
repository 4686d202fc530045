"""A program in a pseudo-terminal, as a person uses it: what is typed, and what is on the screen after it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from types import TracebackType
from typing import Self

ROWS, COLUMNS = 50, 140
END_LIMIT_S = 5.0
QUIET_S = 1.0
_CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?<=>]*[ -/]*[@-~]"
    r"|\x1bP[^\x1b]*\x1b\\|\x1b[()][0-9A-Z]|\x1b[=>78cM]|\r"
)


class Terminal:
    """Runs a program in a pseudo-terminal of its own.

    Args:
        arguments: The program and its arguments.
        environment: All of its environment.
    """

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._arguments = list(arguments)
        self._environment = dict(environment) | {"TERM": "xterm-256color"}
        self._pid = 0
        self._terminal = -1
        self._read = ""
        self._seen = 0

    def __enter__(self) -> Self:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.execvpe(self._arguments[0], self._arguments, self._environment)
        ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.kill(self._pid, signal.SIGTERM)
        until = time.monotonic() + END_LIMIT_S
        while os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > until:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                break
            self._take(0.05)
        os.close(self._terminal)

    @property
    def text(self) -> str:
        """All that was written since the last `expect`, without control sequences."""
        return _CONTROL.sub("", self._read)[self._seen :]

    def type(self, keys: str) -> None:
        """Press some keys; what was written before is not looked at again."""
        self._seen = len(_CONTROL.sub("", self._read))
        os.write(self._terminal, keys.encode())

    def line(self, text: str) -> None:
        """Type a text, and Enter apart from it: both at once would be taken for pasted text."""
        self.type(text)
        self.expect(text.rsplit(maxsplit=1)[-1])
        os.write(self._terminal, b"\r")

    def expect(self, text: str, limit_s: float = 30.0) -> str:
        """Wait until a text is on the screen; return what was written until then.

        Raises:
            AssertionError: It did not come in time; the message shows what did.
        """
        until = time.monotonic() + limit_s
        while text not in self.text:
            if time.monotonic() > until or not self._take(0.1):
                raise AssertionError(f"{text!r} did not appear; the screen has:\n{self.text[-4000:]}")
        return self.text

    def quiet(self) -> None:
        """Wait until nothing is written any more: the key before is then not taken together with the next."""
        before = -1
        while before != len(self._read):
            before = len(self._read)
            self._take(QUIET_S)

    def _take(self, wait_s: float) -> bool:
        """Read what there is; return False once the program has ended."""
        if not select.select([self._terminal], [], [], wait_s)[0]:
            return True
        try:
            data = os.read(self._terminal, 65_536)
        except OSError:
            return False
        self._read += data.decode(errors="replace")
        return bool(data)
