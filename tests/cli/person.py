"""Somebody at a terminal."""

from __future__ import annotations

import os
import pty
import select
import sys
import time

ANSWER_LIMIT_S = 30.0


class Person:
    """Somebody at a terminal, in front of a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.execve(sys.executable, [sys.executable, "-m", "hub", *arguments], {**os.environ, "TERM": "xterm"})
        self._seen = ""

    def wait_for(self, words: str) -> None:
        """Read until these words are on the screen, and forget what came before."""
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while words not in self._seen:
            assert time.monotonic() < deadline, self._seen
            if not select.select([self._terminal], [], [], 0.1)[0]:
                continue
            self._seen += os.read(self._terminal, 65_536).decode("utf-8", "replace")
            if "\x1b[6n" in self._seen:
                self._seen = self._seen.replace("\x1b[6n", "")
                os.write(self._terminal, b"\x1b[1;1R")  # where the cursor is, as a terminal tells
        self._seen = self._seen.split(words, 1)[1]

    def press(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def signal(self, number: int) -> None:
        os.kill(self._pid, number)

    def leave(self) -> int:
        """Wait for the end of the process and return its exit code."""
        while True:
            try:
                if not os.read(self._terminal, 65_536):
                    break
            except OSError:
                break
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
