"""A run without effects: records what it would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field


class DryRun(Struct):
    """The record of a dry run: nothing is called, fired or sent, and no time passes.

    Attributes:
        calls: `{"path", "service", "data"}` of each; an event has the service `event.<type>`.
        skipped: `{"path", "text"}` of each delay and wait.
        limit: How many calls are kept.
    """

    calls: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    limit: int = 1_000

    def call(self, path: str, service: str, data: Mapping[str, Any]) -> None:
        """Record a call that would be made."""
        if len(self.calls) < self.limit:
            self.calls.append({"path": path, "service": service, "data": dict(data)})

    def skip(self, path: str, text: str) -> None:
        """Record a wait that would take place."""
        if len(self.skipped) < self.limit:
            self.skipped.append({"path": path, "text": text})
