"""The audit: who changed, approved, signed in, paired or restored what, and from where; imported with the first entry.

Entries come from the calls of methods, whoever makes them (dashboard, command line, apps), and from events where no
call is behind: a command in a chat, an edited file, a sign-in. They are written in the background.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.events import Event
from hub.core.phrases import phrase
from hub.core.repairs import Repairs
from hub.core.sql import SqlConnection
from hub.core.surfaces import MethodCall
from hub.core.tasks import TaskOwner
from hub.security.redaction import Redactor
from hub.storage.audit_log import HEAD, AuditLog, Head, Verification, verify
from hub.storage.database import Database

_log = logging.getLogger(__name__)

ABOUT = frozenset(
    {
        *("account", "agentId", "agent_id", "approved", "channel", "decision", "deviceId", "domain", "enabled"),
        *("entity_id", "expires", "file", "id", "identity", "ignored", "kind", "model", "name", "off", "on", "only"),
        *("path", "provider", "requestId", "role", "scopes", "source", "state", "version"),
    }
)
"""Parameters that say what a call was about; all others may hold words and secrets, and are not kept."""
ABOUT_EVENTS = frozenset({"title", "changed", "edited", "from", "to", "seconds", "estimate", "price"})
"""The same of events."""
TEXT_LIMIT = 200
WAITING_LIMIT = 10_000
RECENT = 20
FILES = "files"
"""Who edited a file on this machine is not known."""


class _Open:
    """The entry of a call that goes on; events that it causes say more about it."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {}
        self.is_open = True


_CURRENT: ContextVar[_Open | None] = ContextVar("audited call", default=None)


class Audit:
    """Keeps the audit log.

    Args:
        folder: The folder of the log.
        db: Keeps the last hash.
    """

    def __init__(
        self, folder: Path, db: Database, clock: Clock, tasks: TaskOwner, redactor: Redactor, repairs: Repairs
    ) -> None:
        self._log = AuditLog(folder)
        self._db = db
        self._clock = clock
        self._tasks = tasks
        self._redactor = redactor
        self._repairs = repairs
        self._waiting: deque[dict[str, Any]] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._guard = asyncio.Lock()

    # --- recording ---

    async def record_call(self, call: MethodCall, answer: Coroutine[Any, Any, Any]) -> Any:
        """Answer a method's call, and record who made it and how it ended."""
        opened = _Open()
        token = _CURRENT.set(opened)
        outcome = "aborted"
        try:
            found = await answer
            outcome = "ok"
            return found
        except HubError as error:
            outcome = error.code
            raise
        finally:
            opened.is_open = False
            _CURRENT.reset(token)
            caller = call.caller
            # Those of a method's first call were not checked yet: a client may have sent none.
            params: Any = call.params
            given = params if isinstance(params, Mapping) else {}
            known = {key: value for key, value in given.items() if key in ABOUT}
            self.record(
                call.method,
                {**known, **opened.about},
                who=caller.authority.principal,
                person=caller.authority.person,
                credential=caller.credential_id,
                address=caller.address,
                outcome=outcome,
            )

    def note(self, event: Event) -> None:
        """Record an event, or say more about the call that caused it."""
        data = event.data
        about = {key: value for key, value in data.items() if key in ABOUT or key in ABOUT_EVENTS}
        opened = _CURRENT.get()
        if opened is not None and opened.is_open:
            opened.about |= about
            return
        authority = event.context.authority
        who = FILES if data.get("edited") else str(data.get("who", authority.principal))
        self.record(
            event.type,
            about,
            who=who,
            person=authority.person,
            credential=data.get("credential"),
            address=data.get("address") or data.get("channel"),
            outcome=data.get("outcome", "ok"),
        )

    def record(
        self,
        what: str,
        about: Mapping[str, Any],
        *,
        who: str,
        person: str | None = None,
        credential: str | None = None,
        address: str | None = None,
        outcome: str = "ok",
    ) -> None:
        """Record something; it is on disk soon after."""
        if len(self._waiting) >= WAITING_LIMIT:
            return
        entry = {
            "at": datetime.fromtimestamp(self._clock.time(), UTC).isoformat(timespec="milliseconds"),
            "who": who,
            **({"person": person} if person else {}),
            **({"credential": credential} if credential else {}),
            **({"from": address} if address else {}),
            "what": what,
            "about": {key: _bounded(value) for key, value in about.items()},
            "outcome": outcome,
        }
        self._waiting.append(self._redactor.redact_data(entry))
        if self._writing is None or self._writing.done():
            self._writing = self._tasks.spawn(self._write(), name="write the audit log")

    async def flush(self) -> None:
        """Wait until what was recorded is on disk."""
        if self._writing is not None and not self._writing.done():
            await asyncio.wait({self._writing})
        await self._write()

    async def _write(self) -> None:
        async with self._guard:
            while self._waiting:
                try:
                    head = await asyncio.to_thread(self._log.append, self._waiting)
                except HubError as error:  # they wait for the next entry
                    _log.error("the audit log cannot be written: %s", error.message)
                    self._repairs.raise_("audit", "write", phrase("The audit log cannot be written"), error.message)
                    return
                self._repairs.clear("audit", "write")
                try:
                    await self._db.write(partial(_keep_head, head=head))
                except HubError as error:
                    _log.error("the last hash of the audit log cannot be kept: %s", error.message)

    # --- reading ---

    async def latest(self, limit: int, before: int | None = None) -> list[dict[str, Any]]:
        """Return the latest entries, newest first."""
        await self.flush()
        return await asyncio.to_thread(self._log.latest, limit, before)

    async def verify(self) -> Verification:
        """Verify the whole log against the hash in the hub database."""
        await self.flush()
        head = await self._db.read(read_head)
        return await asyncio.to_thread(verify, self._log.folder, head)


def read_head(connection: SqlConnection) -> Head | None:
    """Return the last line as the hub database knows it; None where it knows none, as after a restore."""
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (HEAD,)).fetchone()
    return None if found is None else Head.decode(found[0])


def _keep_head(connection: SqlConnection, *, head: Head) -> None:
    connection.execute(
        "INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (HEAD, head.encode()),
    )


def _bounded(value: Any) -> Any:
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_bounded(each) for each in list(value)[:RECENT]]
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)[:TEXT_LIMIT]
    return str(value)[:TEXT_LIMIT]
