"""A line between a program and a server on a Unix socket, that is cut at awkward moments."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

PORT_NAME = ".s.PGSQL.5432"


class CutLine:
    """Passes on what both sides say, until what the client says is what a cut waits for.

    Args:
        server: The socket of the server.
        folder: Gets a socket of the same name.
        answers: Changes what the server says.
    """

    def __init__(self, server: Path, folder: Path, answers: Callable[[bytes], bytes] = bytes) -> None:
        self._server = server
        self._answers = answers
        self.cut_before = self.cut_after = b""
        """The next time the client says it, the line is cut: before the server hears it, or once it has answered."""
        self.cuts = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / PORT_NAME))

    def __enter__(self) -> Self:
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(str(self._server))
                except OSError:
                    client.close()
                    continue
                deaf = threading.Event()
                threading.Thread(target=self._listen, args=(client, server, deaf), daemon=True).start()
                threading.Thread(target=self._answer, args=(client, server, deaf), daemon=True).start()

    def _listen(self, client: socket.socket, server: socket.socket, deaf: threading.Event) -> None:
        with suppress(OSError):
            while said := client.recv(65_536):
                if self.cut_before and self.cut_before in said:
                    self.cut_before = b""
                    self.cuts += 1
                    break
                if self.cut_after and self.cut_after in said:
                    self.cut_after = b""
                    deaf.set()
                server.sendall(said)
        _hang_up(client, server)

    def _answer(self, client: socket.socket, server: socket.socket, deaf: threading.Event) -> None:
        with suppress(OSError):
            while said := server.recv(65_536):
                if deaf.is_set():
                    self.cuts += 1
                    break
                client.sendall(self._answers(said))
        _hang_up(client, server)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
