"""A chat platform of the test's own: pushes each message until it is acknowledged, and keeps what it was sent.

It lives in the test's process and outlives the hubs that are killed; `custom_integrations/numbers` speaks to it.
"""

from __future__ import annotations

import json
import socketserver
import threading
from collections import Counter
from types import TracebackType
from typing import Any, Self


class NumbersPlatform:
    """The platform.

    Attributes:
        acknowledged: Ids of messages that a hub took.
        sent: How often each reply came in, by its id.
        texts: The text of each reply.
    """

    def __init__(self) -> None:
        self.acknowledged: set[str] = set()
        self.sent: Counter[str] = Counter()
        self.texts: dict[str, str] = {}
        self._pending: dict[str, dict[str, str]] = {}
        self._lines: dict[str, Any] = {}
        self._guard = threading.Lock()
        platform = self

        class Account(socketserver.StreamRequestHandler):
            """One connection of an account."""

            def handle(self) -> None:
                """Serve it until the hub is gone."""
                try:
                    account = json.loads(self.rfile.readline())["hello"]
                    platform._connected(account, self.wfile)
                    for line in self.rfile:
                        platform._told(account, json.loads(line))
                except (OSError, ValueError):
                    return

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Account)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def say(self, account: str, id: str, text: str) -> None:
        """Let somebody say something to an account."""
        with self._guard:
            self._pending.setdefault(account, {})[id] = text
            self._push(account, id, text)

    def waiting(self) -> int:
        """Return how many messages no hub has acknowledged."""
        with self._guard:
            return sum(map(len, self._pending.values()))

    def _connected(self, account: str, line: Any) -> None:
        with self._guard:
            self._lines[account] = line
            for id, text in self._pending.get(account, {}).items():
                self._push(account, id, text)

    def _told(self, account: str, told: dict[str, Any]) -> None:
        with self._guard:
            if "ack" in told:
                self.acknowledged.add(told["ack"])
                self._pending[account].pop(told["ack"], None)
                return
            self.sent[told["send"]] += 1
            self.texts[told["send"]] = told["text"]
            self._write(account, {"sent": told["send"]})

    def _push(self, account: str, id: str, text: str) -> None:
        self._write(account, {"id": id, "text": text})

    def _write(self, account: str, told: dict[str, Any]) -> None:
        try:
            if account in self._lines:
                self._lines[account].write(json.dumps(told).encode() + b"\n")
        except (OSError, ValueError):
            del self._lines[account]  # the hub was killed

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
