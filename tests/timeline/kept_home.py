"""What a home has kept, written straight into its databases: for many rows, at times that a test chooses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from hub.core.clock import ManualClock
from hub.core.context import SCOPES, Authority
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.security.people import People
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.history import HistoryStore, NotedChange
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.trace_rows import NotRunRow
from hub.timeline.listing import Timeline, TimelineFilters

NOON = 1_800_000_000.0
OWNER = Authority("owner", person="ada", scopes=SCOPES, owner=True)
BOB = Authority("token:bob", person="bob", scopes=SCOPES)
PEOPLE = People.from_config(
    [
        {"id": "ada", "name": "Ada", "owner": True, "identities": []},
        {"id": "bob", "name": "Bob", "owner": False, "identities": ["telegram:user:7"]},
    ]
)
BOBS = "agent:main:telegram:direct:7"


def as_kept(value: Any) -> str:
    """JSON as the hub writes it."""
    return orjson.dumps(value).decode()


class KeptHome:
    """The databases of a home, and the timeline over them.

    Args:
        db, history: Open.
        sessions: None is named.
    """

    owner = OWNER

    def __init__(self, db: Database, history: HistoryStore, sessions: SessionStore) -> None:
        self.db, self.history, self.sessions = db, history, sessions
        self.timeline = Timeline(db, history, sessions, lambda: PEOPLE, 0)
        self._count = 0

    async def pages(
        self, wanted: TimelineFilters | None = None, authority: Authority = OWNER, *, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Return all rows, page by page."""
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = await self.timeline.page(wanted or TimelineFilters(), authority, limit=limit, cursor=cursor)
            assert len(page.rows) <= limit
            found += [row.as_dict(self.timeline.names()) for row in page.rows]
            if (cursor := page.next) is None:
                return found

    async def run(
        self,
        text: str,
        at: float,
        *,
        key: str = "agent:main:main",
        authority: Authority = OWNER,
        session_id: str | None = None,
    ) -> str:
        """A question that an agent answered; with `session_id`, in a conversation that was deleted since."""
        self._count += 1
        id, ms, by = f"r{self._count}", int(at * 1000), as_kept(authority.as_dict())
        said = {"address": {"channel": "telegram"}, "message_id": id, "sender": "x", "text": text}
        message = as_kept(said)

        def write(connection: Any) -> None:
            connection.execute(
                "INSERT INTO runs(id, agent_id, session_key, kind, state, authority, context_id, created_ms,"
                " started_ms, ended_ms, model, usage, session_id)"
                " VALUES (?, 'main', ?, 'message', 'answered', ?, ?, ?, ?, ?, 'a/b', '{}', ?)",
                (id, key, by, f"q-{id}", ms, ms, ms + 1_500, session_id),
            )
            connection.execute(
                "INSERT INTO inbox(id, channel, account, account_id, peer, message_id, received_ms, state, run_id,"
                " session_key, principal, person, message)"
                " VALUES (?, 'telegram', 'a', 'a', '7', ?, ?, 'done', ?, ?, ?, ?, ?)",
                (f"i{id}", id, ms, id, key, by, authority.person, message),
            )

        await self.db.write(write)
        return id

    async def refused(
        self,
        sender: str,
        at: float,
        chat_type: str = "direct",
        *,
        principal: str = "",
        reason: str = "not paired",
    ) -> None:
        """A message of somebody who may not write; without a name when that is empty."""
        self._count += 1
        id, ms = f"m{self._count}", int(at * 1000)
        address = {"channel": "telegram", "chat_type": chat_type}
        named = {"sender_name": sender} if sender else {}
        message = as_kept({"address": address, **named})
        by = as_kept({"principal": principal})
        await self.db.write(
            lambda connection: (
                connection.execute(
                    "INSERT INTO inbox(id, channel, account, account_id, peer, message_id, received_ms, state,"
                    " reason, principal, message)"
                    " VALUES (?, 'telegram', 'a', 'a', '9', ?, ?, 'rejected', ?, ?, ?)",
                    (id, id, ms, reason, by, message),
                ).rowcount
            )
        )

    async def approval(self, command: str, at: float, run_id: str | None = None, by: Authority = OWNER) -> None:
        """A command that was denied."""
        self._count += 1
        id, ms = f"a{self._count}", int(at * 1000)
        row = (id, as_kept({"argv": command.split()}), as_kept(by.as_dict()), run_id, ms, ms, ms + 9)
        await self.db.write(
            lambda connection: (
                connection.execute(
                    "INSERT INTO approvals(id, code, kind, title, text, details, binding, requested_by, run_id,"
                    " context_id, state, created_ms, expires_ms, decided_ms)"
                    " VALUES (?, 'C', 'exec', 't', '', ?, '', ?, ?, 'c', 'denied',"
                    " ?, ?, ?)",
                    row,
                ).rowcount
            )
        )

    def change(self, name: str, at: float, cause: str | None = None, *, parent: str | None = None) -> str:
        """A lamp that went on; returns the context of it."""
        self._count += 1
        context = cause or f"s{self._count}"
        noted = NotedChange("off", parent, "device:x", None)
        attributes = {"friendly_name": name}
        self.history.record_state(f"light.{name.lower()}", "on", attributes, context, at, noted=noted)
        return context

    def automation(self, name: str, at: float, cause: str | None = None, entity: str | None = None) -> str:
        """An automation that ran; returns the context of its run."""
        self._count += 1
        id = f"u{self._count}"
        trigger = {"platform": "state", "description": "a state", **({"entity_id": entity} if entity else {})}
        told = {"automation_id": name, "run_id": id, "told": {"kind": "automation", "name": name, "trigger": trigger}}
        self.history.record_event("automation_triggered", told, f"c-{id}", at, parent_id=cause, noted=True)
        ended = {"automation_id": name, "run_id": id, "outcome": "finished", "duration_ms": 100}
        self.history.record_event("automation_finished", ended, f"c-{id}", at + 0.1)
        return f"c-{id}"

    async def at_work(self, text: str, at: float, lamp: str, automation: str | None = None) -> None:
        """A question for which an agent switched a lamp; one that an automation asked, when that is named."""
        above = self.automation(automation, at) if automation is not None else None
        run_id = await self.run(text, at)
        own, chain = f"w-{run_id}", [f"q-{run_id}"] if above is None else [above]
        told = {"run_id": run_id, "chain": chain}
        self.history.record_event("run_started", told, own, at, parent_id=chain[-1])
        self.change(lamp, at + 0.2, cause=f"s-{run_id}", parent=own)

    def skipped(self, name: str, at: float) -> None:
        """An automation that did not run."""
        told = {"alias": name, "trigger": {"platform": "event", "description": "an event"}, "text": "it is not dark"}
        data = as_kept({**told, "steps": {}}).encode()
        self.history.record_trace(NotRunRow(int(at * 1000), name, "conditions", 1_000_000, data))


@asynccontextmanager
async def kept_home(folder: Path) -> AsyncIterator[KeptHome]:
    """Open the databases of a home that has kept nothing yet."""
    home = Home(folder)
    home.create()
    db, history = Database(home.storage / "hub.db", HUB_MIGRATIONS), HistoryStore(home.storage / "history.db")
    sessions = SessionStore(db, home, ManualClock(), EventBus(TaskOwner("test")))
    await db.open()
    await history.open()
    try:
        yield KeptHome(db, history, sessions)
    finally:
        await history.close()
        await db.close()
