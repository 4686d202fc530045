"""A live log of events while someone watches: bounded, and without secrets."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any

from hub.core.events import ANY, Event, EventBus, Unsubscribe
from hub.gateway.calls.plain_data import as_json
from hub.security.redaction import Redactor
from web.core.live import LiveUpdates
from web.core.render import Renderer

KEPT = 500
ROWS_LIMIT = 100
DATA_LIMIT = 4_000
TYPES_LIMIT = 200
IDLE_S = 600.0
"""How long it listens on after the last look."""
TOPIC = "events"


class EventLog:
    """Listens from the first visit until ten minutes after the last.

    Args:
        bus: The source of events.
        live: Announces new ones.
        redactor: Removes secrets from displayed text.
        renderer: Formats times.
        monotonic: Seconds.
    """

    def __init__(
        self, bus: EventBus, live: LiveUpdates, redactor: Redactor, renderer: Renderer, monotonic: Callable[[], float]
    ) -> None:
        self._bus = bus
        self._live = live
        self._redactor = redactor
        self._renderer = renderer
        self._monotonic = monotonic
        self._kept: deque[_Kept] = deque(maxlen=KEPT)
        self._types: dict[str, None] = {}
        self._count = 0
        self._looked = 0.0
        self._stop: Unsubscribe | None = None

    def begin(self) -> None:
        """Listen, if it does not already."""
        self._looked = self._monotonic()
        if self._stop is None:
            self._stop = self._bus.listen(ANY, self._heard)

    def close(self) -> None:
        """Stop listening and clear the log."""
        if self._stop is not None:
            self._stop()
            self._stop = None
        self._kept.clear()
        self._types.clear()

    def rows(self, type: str = "") -> list[dict[str, Any]]:
        """Return the latest events, of one type or all, newest first."""
        found: list[dict[str, Any]] = []
        for kept in reversed(self._kept):
            if type in ("", kept.event.type):
                found.append(self._shown(kept))
                if len(found) >= ROWS_LIMIT:
                    break
        return found

    def types(self) -> list[str]:
        """Return the types of the recorded events."""
        return sorted(self._types)

    def _heard(self, event: Event) -> None:
        if self._monotonic() - self._looked > IDLE_S and not self._live.watches(TOPIC):
            self.close()
            return
        self._count += 1
        self._kept.append(_Kept(self._count, event))
        if len(self._types) < TYPES_LIMIT:
            self._types[event.type] = None
        self._live.changed(TOPIC)
        self._live.changed(f"{TOPIC}:{event.type}")

    def _shown(self, kept: _Kept) -> dict[str, Any]:
        if kept.shown is None:
            event = kept.event
            data = self._redactor.redact_data(as_json(event.data))
            text = json.dumps(data, ensure_ascii=False, indent=2) if data else ""
            ts_ms = int(event.time_fired * 1000)
            kept.shown = {
                "id": kept.number,
                "type": event.type,
                "data": text[:DATA_LIMIT] + ("…" if len(text) > DATA_LIMIT else ""),
                "context_id": event.context.id,
                "iso": self._renderer.iso(ts_ms),
                "ts_ms": ts_ms,
            }
        return {**kept.shown, "when": self._renderer.when(kept.shown["ts_ms"], seconds=True)}


class _Kept:
    """An event and its rendering, made on first use."""

    __slots__ = ("event", "number", "shown")

    def __init__(self, number: int, event: Event) -> None:
        self.number = number
        self.event = event
        self.shown: dict[str, Any] | None = None
