"""The event bus: delivers events to listeners, in order.

Firing costs the same however many listeners wait for something else: listeners with a `where` are indexed per event
type by their whole set of keys, so that one look-up per distinct key set finds them.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from msgspec import Struct

from hub.core.context import Context, system_context
from hub.core.errors import InvalidRequest, LimitExceeded
from hub.core.tasks import TaskOwner

_log = logging.getLogger(__name__)

ANY = "*"
QUEUE_LIMIT = 10_000
EXPANSION_LIMIT = 1_000

Listener = Callable[["Event"], Any]
PutOff = Callable[[Callable[[Any], None], Sequence[Any]], object]
"""Takes a function and what it is to be called with, one after the other, soon."""
Unsubscribe = Callable[[], None]


class Event(Struct, eq=False):
    """Something that happened: its type, its data, when (seconds since the epoch) and why."""

    type: str
    data: dict[str, Any]
    context: Context
    time_fired: float

    def __repr__(self) -> str:
        return f"Event({self.type!r}, {self.data!r})"


class _Subscription:
    __slots__ = ("active", "callback", "is_coroutine", "order", "put_off")

    def __init__(self, callback: Listener, order: int, put_off: PutOff | None) -> None:
        self.callback = callback
        self.order = order
        self.put_off = put_off
        self.active = True
        self.is_coroutine = _is_coroutine(callback)

    @property
    def name(self) -> str:
        """The name of the listener in logs."""
        callback = self.callback
        return f"{getattr(callback, '__module__', '?')}.{getattr(callback, '__qualname__', repr(callback))}"


def _is_coroutine(callback: Listener) -> bool:
    code = getattr(callback, "__code__", None)
    if code is not None:  # a plain function or method, of which `inspect` finds the same ten times as slowly
        return bool(code.co_flags & inspect.CO_COROUTINE)
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(
        getattr(callback, "__call__", None)  # noqa: B004  an object with an async __call__ is a coroutine listener
    )


class _Topic:
    """The listeners of one event type."""

    __slots__ = ("indexed", "plain", "rest")

    def __init__(self) -> None:
        self.plain: tuple[_Subscription, ...] = ()
        # key set -> values of those keys -> subscriptions
        self.indexed: dict[tuple[str, ...], dict[tuple[Any, ...], tuple[_Subscription, ...]]] = {}
        self.rest: tuple[tuple[_Subscription, dict[str, Any]], ...] = ()

    def empty(self) -> bool:
        return not (self.plain or self.indexed or self.rest)

    def matching(self, data: Mapping[str, Any]) -> list[_Subscription]:
        found = list(self.plain)
        for keys, table in self.indexed.items():
            try:
                hit = table.get(tuple(map(data.__getitem__, keys)))
            except (KeyError, TypeError):
                continue
            if hit:
                found.extend(hit)
        for subscription, where in self.rest:
            if all(key in data and _equal(data[key], wanted) for key, wanted in where.items()):
                found.append(subscription)
        if len(found) > len(self.plain):  # those are in order
            found.sort(key=_order)
        return found


def _order(subscription: _Subscription) -> int:
    return subscription.order


def _equal(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, (list, tuple, set, frozenset)) else bool(value == wanted)


class EventBus:
    """Fires events and passes them to listeners, first in, first out.

    What a callback fires is queued and drained before the outermost `fire` returns. All methods are called from the
    event loop's thread.

    Args:
        tasks: Owner of the tasks that run coroutine listeners.
        wall_time: Seconds since the epoch.
    """

    def __init__(self, tasks: TaskOwner, wall_time: Callable[[], float] = time.time) -> None:
        self._tasks = tasks
        self._wall_time = wall_time
        self._topics: dict[str, _Topic] = {}
        self._queue: deque[Event] = deque()
        self._draining = False
        self._count = 0

    def fire(self, type: str, data: dict[str, Any] | None = None, context: Context | None = None) -> None:
        """Notify all listeners of `type` (and of `*`).

        Args:
            type: Event type, for example `state_changed`.
            data: Plain data; not to be changed afterwards.
            context: The cause; a fresh system context by default.

        Raises:
            LimitExceeded: Callbacks fire each other without end; the message names the event that began it.
        """
        event = Event(type, data if data is not None else {}, context or system_context(), self._wall_time())
        if self._draining:
            if len(self._queue) >= QUEUE_LIMIT:
                raise LimitExceeded(f"more than {QUEUE_LIMIT} events wait to be handled; the last one was {type!r}")
            self._queue.append(event)
            return
        self._draining = True
        handled = 0
        try:
            while True:
                if (topic := self._topics.get(event.type)) is not None:
                    matching = topic.matching(event.data) if topic.indexed or topic.rest else topic.plain
                    if matching:
                        self._call(matching, event)
                if (every := self._topics.get(ANY)) is not None:
                    self._call(every.plain, event)
                if not self._queue:
                    return
                handled += 1
                if handled > QUEUE_LIMIT:
                    dropped = len(self._queue)
                    self._queue.clear()
                    raise LimitExceeded(
                        f"event {type!r} set off more than {QUEUE_LIMIT} further events (now at {event.type!r}); "
                        f"listeners fire each other in a loop. {dropped} events were dropped.",
                        details={"origin": type, "last": event.type, "dropped": dropped},
                    )
                event = self._queue.popleft()
        finally:
            self._draining = False

    def listen(
        self, type: str, callback: Listener, where: Mapping[str, Any] | None = None, *, put_off: PutOff | None = None
    ) -> Unsubscribe:
        """Call `callback(event)` for each event of `type` whose data matches `where`.

        Args:
            type: Event type, or `*` for all.
            callback: A function, run inline, or a coroutine function, run as an owned task.
            where: Keys and the values they must have; a list means any of its values.
            put_off: Decides when listeners that can wait are called; those of one bus share it.

        Returns:
            A function that unsubscribes; calling it twice does no harm.
        """
        if type == ANY and where:
            raise InvalidRequest("a listener to every event type cannot have a `where`")
        self._count += 1
        subscription = _Subscription(callback, self._count, put_off)
        topic = self._topics.setdefault(type, _Topic())
        entries = _index_entries(where) if where else None
        if entries is not None:
            for keys, values in entries:
                table = topic.indexed.setdefault(keys, {})
                table[values] = (*table.get(values, ()), subscription)
        elif where:
            topic.rest = (*topic.rest, (subscription, dict(where)))
        else:
            topic.plain = (*topic.plain, subscription)

        def unsubscribe() -> None:
            if not subscription.active:
                return
            subscription.active = False
            self._remove(type, topic, subscription, entries)

        return unsubscribe

    async def wait_for(
        self, type: str, where: Mapping[str, Any] | None = None, *, timeout_s: float | None = None
    ) -> Event:
        """Return the next matching event.

        Raises:
            TimeoutError: None came within `timeout_s` seconds.

        Cancelling it unsubscribes.
        """
        arrived: asyncio.Future[Event] = asyncio.get_running_loop().create_future()

        def arrive(event: Event) -> None:
            if not arrived.done():
                arrived.set_result(event)

        unsubscribe = self.listen(type, arrive, where)
        try:
            async with asyncio.timeout(timeout_s):
                return await arrived
        finally:
            unsubscribe()

    def has_listeners(self, type: str, data: Mapping[str, Any] | None = None) -> bool:
        """Return whether anybody listens to exactly this type, and to an event of it with such data."""
        topic = self._topics.get(type)
        return topic is not None and (data is None or bool(topic.matching(data)))

    def listener_counts(self) -> dict[str, int]:
        """Return the number of listeners by event type."""
        return {
            type: len(topic.plain)
            + len(topic.rest)
            + sum(len(hit) for t in topic.indexed.values() for hit in t.values())
            for type, topic in self._topics.items()
        }

    def _call(self, subscriptions: Iterable[_Subscription], event: Event, *, at_once: bool = False) -> None:
        later: list[_Subscription] = []
        for subscription in subscriptions:
            if not subscription.active:
                continue
            if subscription.put_off is not None and not at_once:
                later.append(subscription)
                continue
            try:
                if subscription.is_coroutine:
                    coroutine: Coroutine[Any, Any, Any] = subscription.callback(event)
                    self._tasks.spawn(coroutine, name=subscription.name)
                else:
                    subscription.callback(event)
            except Exception:  # a failing listener is logged with its origin and never stops another
                _log.exception("listener %s failed on event %r", subscription.name, event.type)
        if later and (put_off := later[0].put_off) is not None:
            put_off(lambda each: self._call((each,), event, at_once=True), later)

    def _remove(
        self,
        type: str,
        topic: _Topic,
        subscription: _Subscription,
        entries: list[tuple[tuple[str, ...], tuple[Any, ...]]] | None,
    ) -> None:
        topic.plain = tuple(kept for kept in topic.plain if kept is not subscription)
        topic.rest = tuple(kept for kept in topic.rest if kept[0] is not subscription)
        for keys, values in entries or ():
            table = topic.indexed.get(keys)
            if table is None or values not in table:
                continue
            left = tuple(kept for kept in table[values] if kept is not subscription)
            if left:
                table[values] = left
            else:
                del table[values]
            if not table:
                del topic.indexed[keys]
        if topic.empty() and self._topics.get(type) is topic:
            del self._topics[type]


def _index_entries(where: Mapping[str, Any]) -> list[tuple[tuple[str, ...], tuple[Any, ...]]] | None:
    """Return the (keys, values) that index a `where`, or None if it cannot be indexed."""
    keys = tuple(sorted(where))
    choices = [
        list(dict.fromkeys(value)) if isinstance(value, (list, tuple, set, frozenset)) and _hashable(value) else [value]
        for value in (where[key] for key in keys)
    ]
    total = 1
    for options in choices:
        total *= len(options)
        if not all(_is_hashable(option) for option in options):
            return None
    if total > EXPANSION_LIMIT:
        return None
    return [(keys, values) for values in product(*choices)]


def _hashable(values: Any) -> bool:
    return all(_is_hashable(value) for value in values)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
