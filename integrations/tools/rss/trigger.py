"""`feed`: a new item in an RSS or Atom feed. Items found at the first look do not count as new."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import duration
from hub.automation.definition.phrases import quote, span
from hub.automation.schedule.contract import Due
from hub.automation.schedule.every import Every
from hub.automation.triggers.arming import report_errors
from hub.core.errors import HubError, Unavailable
from hub.core.events import Unsubscribe
from hub.core.executors import DOCUMENTS
from hub.core.phrases import phrase
from hub.core.schema import All, Optional, Range, Required, url
from hub.security.egress import Egress
from integrations.tools.rss.feeds import Feed, FeedState, FeedStateFile, look

INTERVAL_S = 900.0
SHORTEST_S = 60.0
FIRED_LIMIT = 20
"""New items of one look that fire, the newest; the first says how many others there were."""
FAILURES_TOLD = 3
"""So many looks in a row have to fail before the owner gets a notice: servers have bad minutes."""


class _Watcher:
    """Checks one feed whenever it is due."""

    def __init__(self, address: str, egress: Egress, host: TriggerHost) -> None:
        self._address = address
        self._egress = egress
        self._host = host
        self._file = FeedStateFile(host.parts.home, f"{host.automation_id}\n{address}", host.parts.documents)
        self._seen: FeedState | None = None
        self._task: asyncio.Task[None] | None = None
        self._failures = 0

    def due(self, _: Due | None = None) -> None:
        """Begin a check, unless one is in progress."""
        if self._task is None or self._task.done():
            self._task = self._host.parts.tasks.spawn(self._look(), name=f"feed of {self._host.automation_id}")

    def close(self) -> None:
        """Stop checking."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        if self._seen is None:
            self._seen = await asyncio.to_thread(self._file.read)
        try:
            feed = await look(self._address, self._egress, self._seen)
            new = self._seen.take(feed.items) if feed is not None else []
            if feed is not None:
                await DOCUMENTS.run(self._file.write, self._seen)
        except HubError as error:
            self._failures += 1
            if self._failures == FAILURES_TOLD:
                self._host.fail(f"the feed {self._address} cannot be read: {error.message}")
            return
        self._failures = 0
        if feed is not None:
            self._fire(feed, new)

    def _fire(self, feed: Feed, new: list[Mapping[str, Any]]) -> None:
        """Fire for each new item, the oldest first."""
        release = max(0, len(new) - FIRED_LIMIT)
        about = {"title": feed.title, "link": feed.link, "url": self._address}
        for item in new[release:]:
            words = f"new in {feed.title or self._address}"
            self._host.fire({"feed": about, "item": item, "release": release, "description": words}, tainted=True)
            release = 0


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    egress = host.parts.source(Egress)
    if egress is None:
        raise Unavailable("feeds cannot be fetched here")
    watcher = _Watcher(config["url"], egress, host)
    spread = int.from_bytes(sha256(config["url"].encode()).digest()[:8]) % int(config["every"])
    entry = host.parts.timetable.add(Every(config["every"], anchor=float(spread)), watcher.due)
    watcher.due()

    def end() -> None:
        entry()
        watcher.close()

    return end


KINDS = {
    "feed": TriggerKind(
        name="feed",
        fields={
            Required("url", description="Address of an RSS or Atom feed."): url,
            Optional("every", default=INTERVAL_S, description="How often it is checked."): All(
                duration, Range(min=SHORTEST_S, msg="expected at least one minute")
            ),
        },
        arm=report_errors(_arm),
        explain=lambda config: phrase(
            "when something new appears in {feed}, checked every {span}",
            feed=quote(config["url"]),
            span=span(config["every"]),
        ),
        description="Something new in a feed.",
    )
}
