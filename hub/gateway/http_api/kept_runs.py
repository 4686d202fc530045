"""Runs of `/v1` kept for 24 hours, so that a client can continue them, read them again, and retry.

Only the principal that asked for a run can find it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import orjson
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.sql import SqlConnection, upsert
from hub.models.contract import Usage
from hub.sessions.entry import TranscriptEntry, encode_line, read_entry
from hub.storage.database import Database

KEEP_S = 86_400.0
RUNS_LIMIT = 1_000
BYTES_LIMIT = 268_435_456
CHAIN_LIMIT = 1_000
"""Responses in a row that one conversation is made of."""
_COLUMNS = "id, principal, place, request_hash, session_key, agent_id, previous, shown, echo, answer, entries, heard"


class ClientCall(Struct, frozen=True):
    """A call of a client's tool: the client's id, the model's id, and the arguments as JSON."""

    id: str
    own_id: str
    name: str
    arguments: str


class Answer(Struct, frozen=True):
    """A run's answer, for every API; `error` is a code and a message of a failed run.

    `model` and `notices` are the run's own, see `RunResult`.
    """

    run_id: str
    created_s: int
    text: str = ""
    calls: tuple[ClientCall, ...] = ()
    stop: str = "end"
    usage: Usage = Usage()
    error: Mapping[str, Any] | None = None
    status: str = "ok"
    model: str = ""
    notices: tuple[Mapping[str, Any], ...] = ()

    @property
    def beside(self) -> dict[str, Any]:
        """Return the notices shown beside the answer in every API."""
        return {"homarus": {"model": self.model, "notices": self.notices}} if self.notices else {}


class KeptRun(Struct, frozen=True):
    """A run that is kept.

    Attributes:
        id: The id of the run.
        principal: The requester.
        place: Principal, path and idempotency key, when the client gave one.
        request_hash: The hash of the request's body.
        session_key: The conversation, unless it is kept here.
        agent_id: The answering agent.
        previous: The run before it, of a conversation that is kept here.
        shown: Whether the client may read it again.
        echo: The part of the request that its answer repeats.
        answer: The answer; None while there is none.
        entries: Its input and what it added; the first `heard` are its input.
    """

    id: str
    principal: str
    place: str | None
    request_hash: str
    session_key: str | None
    agent_id: str
    previous: str | None = None
    shown: bool = False
    echo: Mapping[str, Any] = {}
    answer: Answer | None = None
    entries: tuple[TranscriptEntry, ...] = ()
    heard: int = 0


class KeptRuns:
    """The table of them.

    Args:
        db: The hub database.
        clock: Gives their age.
    """

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def keep(self, run: KeptRun) -> None:
        """Insert or replace a run; old ones, and those above the limit, are deleted."""
        answer = msgspec.json.encode(run.answer).decode() if run.answer is not None else None
        entries = b"".join(encode_line(entry.as_dict()) for entry in run.entries)
        row = (
            *(run.id, run.principal, run.place, run.request_hash, run.session_key, run.agent_id, run.previous),
            *(run.shown, orjson.dumps(run.echo).decode(), answer, entries, run.heard),
            *(len(entries) + len(answer or ""), self._now_ms()),
        )

        def write(connection: SqlConnection) -> None:
            connection.execute(upsert("api_runs", f"{_COLUMNS}, size, used_ms"), row)
            connection.execute("DELETE FROM api_runs WHERE used_ms < ?", (self._oldest_ms(),))
            connection.execute(
                "DELETE FROM api_runs WHERE id IN (SELECT id FROM (SELECT id, SUM(size) OVER newest AS bytes,"
                " ROW_NUMBER() OVER newest AS number FROM api_runs WINDOW newest AS (ORDER BY used_ms DESC, id DESC))"
                " WHERE bytes > ? OR number > ?)",
                (BYTES_LIMIT, RUNS_LIMIT),
            )

        await self._db.write(write)

    async def forget(self, run_id: str) -> None:
        """Delete a run."""
        await self._db.write(
            lambda connection: connection.execute("DELETE FROM api_runs WHERE id = ?", (run_id,)).rowcount
        )

    async def at(self, place: str) -> KeptRun | None:
        """Return the run of an idempotency key."""
        return await self._one("place = ?", place)

    async def get(self, run_id: str, principal: str) -> KeptRun | None:
        """Return a run of a principal."""
        return await self._one("id = ? AND principal = ?", run_id, principal)

    async def chain(self, run_id: str, principal: str) -> Sequence[KeptRun]:
        """Return a run and those before it in its conversation, oldest first; empty when it is not kept.

        All of them are kept for another 24 hours.
        """
        found: list[KeptRun] = []
        next_id: str | None = run_id
        while next_id is not None and len(found) < CHAIN_LIMIT and (run := await self.get(next_id, principal)):
            found.append(run)
            next_id = run.previous
        if next_id is not None and len(found) < CHAIN_LIMIT:
            return []
        ids, now = [run.id for run in found], self._now_ms()
        self._db.post(
            lambda connection: connection.executemany(
                "UPDATE api_runs SET used_ms = ? WHERE id = ?", [(now, id) for id in ids]
            )
        )
        return found[::-1]

    async def _one(self, where: str, *values: str) -> KeptRun | None:
        row = await self._db.read(
            lambda connection: connection.execute(
                f"SELECT {_COLUMNS} FROM api_runs WHERE {where} AND used_ms >= ?",  # noqa: S608  our own words
                (*values, self._oldest_ms()),
            ).fetchone()
        )
        if row is None:
            return None
        entries = [entry for line in (row[10] or b"").splitlines() if (entry := read_entry(line)) is not None]
        return KeptRun(
            *(row[0], row[1], row[2], row[3], row[4], row[5], row[6]),
            shown=bool(row[7]),
            echo=orjson.loads(row[8]),
            answer=msgspec.json.decode(row[9], type=Answer) if row[9] is not None else None,
            entries=tuple(entries),
            heard=row[11],
        )

    def _oldest_ms(self) -> int:
        return self._now_ms() - int(KEEP_S * 1000)

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)
