"""Idempotency: a repeated key gets the first answer, and nothing is done twice.

Keys count per principal and method for 24 hours, together with a hash of the parameters. The row is committed before
anything is done; a duplicate that arrives meanwhile attaches to the first. A call cut off by a crash is repeated only
by methods that find out themselves what was done (`Method.repeatable`); for the others the client gets an error. Those
need not wait for the disk twice: their row is committed with the first thing that they write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any

import orjson
from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import Conflict, HubError, InvalidRequest, Unavailable
from hub.core.sql import SqlConnection
from hub.core.surfaces import Method, MethodCall
from hub.core.tasks import TaskOwner
from hub.gateway.calls.method_table import IDEMPOTENCY_KEY
from hub.storage.database import Database

KEEP_S = 86_400.0

Later = Callable[[Mapping[str, Any]], Awaitable[None]]
_Key = tuple[str, str, str]


class _Flight(Struct):
    """A request in progress, and its waiters."""

    params_hash: str
    first: asyncio.Future[Any]
    second: Mapping[str, Any] | None = None
    waiting: list[Later] = field(default_factory=list)


class Idempotency:
    """Runs methods with effects, once per key.

    Args:
        db: The hub database.
        clock: Gives the age of keys.
        tasks: Owns the tasks that act, so that a client that leaves does not stop them half way.
    """

    def __init__(self, db: Database, clock: Clock, tasks: TaskOwner) -> None:
        self._db = db
        self._clock = clock
        self._tasks = tasks
        self._flights: dict[_Key, _Flight] = {}

    async def call(self, method: Method, call: MethodCall) -> Any:
        """Run a method, or return its earlier answer.

        Raises:
            InvalidRequest: The key was used with other parameters.
            Conflict: A crash cut the first one off, and it is not known how far it got.
            HubError: What the method raised; the key may then be used again.

        Cancelling it does not stop the method.
        """
        key = call.params.get(IDEMPOTENCY_KEY)
        if key is None:
            return await self._apart(method, call)
        place = (call.caller.authority.principal, method.name, key)
        params_hash = sha256(orjson.dumps(call.params, option=orjson.OPT_SORT_KEYS)).hexdigest()
        flight = self._flights.get(place)
        if flight is None:
            flight = _Flight(params_hash, asyncio.get_running_loop().create_future())
            self._flights[place] = flight
            if call.respond_later is not None:
                flight.waiting.append(call.respond_later)
            self._tasks.spawn(self._fly(place, flight, method, call), name=f"method {method.name}")
        else:
            _judge_same(flight.params_hash, params_hash, key)
            await self._attach(flight, call)
        return await asyncio.shield(flight.first)

    async def prune(self) -> None:
        """Forget keys that are older than 24 hours."""
        before = self._now_ms() - int(KEEP_S * 1000)
        await self._db.write(
            lambda conn: conn.execute("DELETE FROM idempotency WHERE created_ms < ?", (before,)).rowcount
        )

    async def _apart(self, method: Method, call: MethodCall) -> Any:
        outcome = await asyncio.shield(self._tasks.spawn(_outcome(method, call), name=f"method {method.name}"))
        if isinstance(outcome, HubError):
            raise outcome
        return outcome

    async def _attach(self, flight: _Flight, call: MethodCall) -> None:
        if call.respond_later is None:
            return
        if flight.second is None:
            flight.waiting.append(call.respond_later)
            return
        await asyncio.shield(flight.first)
        self._tasks.spawn(_tell(call.respond_later, flight.second), name="second answer")

    async def _fly(self, place: _Key, flight: _Flight, method: Method, call: MethodCall) -> None:
        lasting = False
        try:
            known = await self._claim(place, flight.params_hash, method)
            if known is not None:
                _judge_same(known[0], flight.params_hash, place[2])
                answers = orjson.loads(known[1] or b"[]")
                if len(answers) >= method.answers:
                    flight.first.set_result(answers[0])
                    if method.answers > 1:
                        await self._give_second(flight, answers[1])
                    return
                if not method.repeatable:
                    raise Conflict(
                        f"the hub stopped while {method.name} was under way; see whether it took effect, and use a "
                        f"new {IDEMPOTENCY_KEY} to do it again"
                    )
            first = await method.handler(replace(call, respond_later=self._later(place, flight, method)))
            await self._keep(place, [first], method)
            lasting = method.answers > 1 and flight.second is None
            flight.first.set_result(first)
        except HubError as error:
            await self._give_up(place)
            _fail(flight, error)
        except asyncio.CancelledError:
            _fail(flight, Unavailable("the hub is stopping", retry_after_s=5))
            raise
        except Exception as error:  # passed to the waiters and to the owner of the task
            _fail(flight, HubError(f"{method.name} failed: {type(error).__name__}"))
            raise
        finally:
            if not lasting:
                self._flights.pop(place, None)

    def _later(self, place: _Key, flight: _Flight, method: Method) -> Later:
        async def respond(payload: Mapping[str, Any]) -> None:
            first = await asyncio.shield(flight.first)
            await self._keep(place, [first, payload], method)
            await self._give_second(flight, payload)
            self._flights.pop(place, None)

        return respond

    async def _give_second(self, flight: _Flight, payload: Mapping[str, Any]) -> None:
        flight.second = payload
        waiting, flight.waiting = flight.waiting, []
        for later in waiting:
            await _tell(later, payload)

    async def _claim(self, place: _Key, params_hash: str, method: Method) -> tuple[str, str | None] | None:
        """Insert the row, or return hash and answers of the existing one."""

        def insert(connection: SqlConnection) -> None:
            connection.execute(
                "INSERT INTO idempotency(principal, method, key, params_hash, created_ms, state)"
                " VALUES(?, ?, ?, ?, ?, 'started') ON CONFLICT(principal, method, key) DO UPDATE"
                " SET params_hash = excluded.params_hash, created_ms = excluded.created_ms, state = 'started',"
                " responses = NULL",
                (*place, params_hash, now),
            )

        def claim(connection: SqlConnection) -> tuple[str, str | None] | None:
            row = connection.execute(
                "SELECT params_hash, responses, created_ms FROM idempotency"
                " WHERE principal = ? AND method = ? AND key = ?",
                place,
            ).fetchone()
            if row is not None and row[2] >= now - int(KEEP_S * 1000):
                return row[0], row[1]
            if not method.repeatable:
                insert(connection)
            return None

        now = self._now_ms()
        known = await self._db.write(claim)  # behind all rows that were posted; without a change it waits for no disk
        if known is None and method.repeatable and not self._db.post(insert):
            await self._db.write(insert)
        return known

    async def _keep(self, place: _Key, answers: list[Any], method: Method) -> None:
        text = orjson.dumps(answers if method.kept is None else [method.kept(each) for each in answers]).decode()
        state = "done" if len(answers) >= method.answers else "started"

        def write(connection: SqlConnection) -> None:
            connection.execute(
                "UPDATE idempotency SET responses = ?, state = ? WHERE principal = ? AND method = ? AND key = ?",
                (text, state, *place),
            )

        if not method.repeatable or not self._db.post(write):
            await self._db.write(write)

    async def _give_up(self, place: _Key) -> None:
        await self._db.write(
            lambda conn: (
                conn.execute(
                    "DELETE FROM idempotency WHERE principal = ? AND method = ? AND key = ? AND state = 'started'"
                    " AND responses IS NULL",
                    place,
                ).rowcount
            )
        )

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


def _judge_same(first: str, second: str, key: str) -> None:
    if first != second:
        raise InvalidRequest(f"{IDEMPOTENCY_KEY}: {key[:64]!r} was used before with other parameters")


def _fail(flight: _Flight, error: HubError) -> None:
    if not flight.first.done():
        flight.first.set_exception(error)
        flight.first.exception()  # waiters get it; no waiters are fine


async def _tell(later: Later, payload: Mapping[str, Any]) -> None:
    await later(payload)


async def _outcome(method: Method, call: MethodCall) -> Any:
    """Return a method's answer, or its refusal, which is an answer too."""
    try:
        return await method.handler(call)
    except HubError as error:
        return error
