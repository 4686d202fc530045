"""Standing intents: "when X comes up, remind me of Y". Shown before the message that mentions X, once per cool-down."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.conversation.side_note import REMINDER, is_said_by_a_person, quote_lines, side_note
from hub.agent.intents.match import IntentIndex, clean_topics
from hub.agent.intents.store import IntentStore, StandingIntent
from hub.agent.parts import Store
from hub.agent.run_request import RunRequest
from hub.agent.taint.audience import common_scope
from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.errors import Forbidden, InvalidRequest, LimitExceeded, NotFound
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.memory.places import GROUP_AREA, PERSON_AREA
from hub.memory.scope import NOBODY, MemoryProvenance, MemoryScope
from hub.security.people import IMPLICIT_OWNER_ID, People
from hub.sessions.entry import TranscriptEntry
from hub.sessions.privacy import scope_of
from hub.storage.database import Database

EVENT_FIRED = "standing_intent_fired"
"""Fired when a reminder was added to a message: `intent_id`, `agent_id`, `session_key`, `run_id`."""
EVENT_CHANGED = "standing_intents_changed"
"""Fired when one was added or removed: `intent_id`, `agent_id`, `what`."""

DAY_S = 86_400
EXPIRES_DAYS = 90
EXPIRES_DAYS_LIMIT = 5 * 365 + 1
COOLDOWN_HOURS = 24.0
COOLDOWN_HOURS_LIMIT = 24.0 * 366
TEXT_LIMIT = 1_000
AREA_LIMIT = 1_000
"""Intents of one person, or one group."""
TOLD_LIMIT = 3
"""Reminders before one message; the others wait for the next."""

_OWNERS = f"{PERSON_AREA}{IMPLICIT_OWNER_ID}"
_HEAD = "Standing reminders for the message below, in the words of those who asked for them. Bring them up if they fit."


class NewIntent(Struct, frozen=True):
    """A requested reminder.

    Attributes:
        topics: Alternatives; all words of one must be in a message.
        text: The reminder.
        days: The number of days it is kept.
        every_hours: The minimum number of hours between two reminders.
    """

    topics: Sequence[str]
    text: str
    days: int = EXPIRES_DAYS
    every_hours: float = COOLDOWN_HOURS


class StandingIntents:
    """Stores reminders and returns them when their topic comes up.

    Args:
        people: The people of this home, as configured now.
        zone: The home's time zone, as configured now.
        dm_scope: `session.dm_scope`, as configured now.
    """

    def __init__(
        self,
        db: Database,
        bus: EventBus,
        clock: Clock,
        people: Callable[[], People],
        zone: Callable[[], tzinfo],
        *,
        dm_scope: Callable[[], str] = lambda: "auto",
    ) -> None:
        self._store = IntentStore(db)
        self._bus = bus
        self._clock = clock
        self._people = people
        self._zone = zone
        self._dm_scope = dm_scope
        self._intents: dict[str, StandingIntent] = {}
        self._indexes: dict[tuple[str, str], IntentIndex] = {}

    async def open(self) -> None:
        """Load the reminders."""
        self._intents.clear()
        self._indexes.clear()
        for intent in await self._store.load(self._now_ms()):
            self._file(intent)

    # -- the three things one does with them -----------------------------------------------------------------------

    async def add(
        self, new: NewIntent, source: MemoryProvenance, context: Context, *, agent_id: str, scope: MemoryScope
    ) -> StandingIntent:
        """Add a reminder; the same topics and text again only extend it. It is on disk when this returns.

        Args:
            new: The requested reminder.
            source: By whom, and in which conversation.
            context: The cause.
            agent_id: The agent that reminds.
            scope: In whose conversations: those of the person, or the group it is made in.

        Raises:
            InvalidRequest: Something of it cannot be.
            Forbidden: The conversation belongs to no one.
            LimitExceeded: There are too many.
        """
        area = _area(scope)
        text = " ".join(new.text.split())
        if not text or len(text) > TEXT_LIMIT:
            raise InvalidRequest(f"remind: expected 1 to {TEXT_LIMIT} characters")
        if not 1 <= new.days <= EXPIRES_DAYS_LIMIT:
            raise InvalidRequest(f"days: expected 1 to {EXPIRES_DAYS_LIMIT}")
        if not 0 <= new.every_hours <= COOLDOWN_HOURS_LIMIT:
            raise InvalidRequest(f"every_hours: expected 0 to {COOLDOWN_HOURS_LIMIT:g}")
        topics = clean_topics(new.topics)
        now = self._now_ms()
        self._drop_expired(now)
        expires_ms, cooldown_s = now + new.days * DAY_S * 1_000, int(new.every_hours * 3_600)
        known = self._same(agent_id, area, topics, text)
        if known is not None:
            intent = replace(
                known, expires_ms=expires_ms, cooldown_s=cooldown_s, trusted=known.trusted and source.trusted
            )
        else:
            if len(self._indexes.get((agent_id, area), ())) >= AREA_LIMIT:
                raise LimitExceeded(f"there are {AREA_LIMIT} standing reminders already; remove some first")
            key, person = source.session_key, source.person
            intent = StandingIntent(
                new_id(), agent_id, area, topics, text, now, expires_ms, cooldown_s, key, person, source.trusted
            )
        await self._store.put(intent)
        self._file(intent)
        self._tell_changed(intent, "added", context)
        return intent

    def list(self, *, agent_id: str, scope: MemoryScope) -> list[StandingIntent]:
        """Return the reminders of a scope, newest first."""
        self._drop_expired(self._now_ms())
        areas = self._areas(scope)
        found = [each for each in self._intents.values() if each.agent_id == agent_id and each.area in areas]
        return sorted(found, key=lambda intent: (-intent.created_ms, intent.id))

    async def remove(self, id: str, context: Context, *, agent_id: str, scope: MemoryScope) -> StandingIntent:
        """Remove a reminder and return it; it is gone from the disk when this returns.

        Raises:
            NotFound: There is none with this id in the scope.
        """
        intent = self._intents.get(id)
        if intent is None or intent.agent_id != agent_id or intent.area not in self._areas(scope):
            raise NotFound(f"there is no standing reminder {id[:64]!r}; the list has the ids of those there are")
        await self._store.delete(id)
        self._forget(intent)
        self._tell_changed(intent, "removed", context)
        return intent

    # -- before a message ------------------------------------------------------------------------------------------

    async def before(self, request: RunRequest, store: Store) -> None:
        """Insert the reminders that a message touches before it; a `hub.agent.parts.Before`."""
        if not self._indexes or not is_said_by_a_person(request):
            return
        people = self._people()
        scope = scope_of(request.session_key, request.context.authority, people)
        if scope == NOBODY:
            return
        # In a group, only reminders requested there are shown.
        is_shared = common_scope(request.session_key, scope, people, self._dm_scope()) != scope
        now = self._now_ms()
        touched = [
            intent
            for area in self._areas(scope)
            if (index := self._indexes.get((request.agent_id, area))) is not None
            for id in index.matching_ids(request.message.text)
            if _is_due(intent := self._intents[id], now)
            and (not is_shared or intent.session_key == request.session_key)
        ]
        if not touched:
            return
        # Those that were silent longest go first.
        touched.sort(key=lambda intent: (intent.last_fired_ms or 0, intent.created_ms))
        due = touched[:TOLD_LIMIT]
        # Taken before anything is waited for, so that two conversations at once do not both tell them.
        for intent in due:
            self._intents[intent.id] = replace(intent, last_fired_ms=now, fired=intent.fired + 1)
        try:
            for trusted in (True, False):
                if told := [intent for intent in due if intent.trusted is trusted]:
                    await store([self._note(request, told, now, trusted=trusted)])
        except BaseException:
            self._intents.update({intent.id: intent for intent in due if intent.id in self._intents})
            raise
        await self._store.record_fired([intent.id for intent in due], now)
        for intent in due:
            facts = {"run_id": request.run_id, "session_key": request.session_key, "agent_id": request.agent_id}
            self._bus.fire(EVENT_FIRED, {"intent_id": intent.id, **facts}, request.context)

    def _note(
        self, request: RunRequest, intents: Sequence[StandingIntent], now_ms: int, *, trusted: bool
    ) -> TranscriptEntry:
        text = "\n\n".join([_HEAD, *(self._said(intent) for intent in intents)])
        id = f"{request.run_id}-reminder" if trusted else f"{request.run_id}-reminder-outside"
        data = {"run_id": request.run_id, "intents": [intent.id for intent in intents]}
        return side_note(id, text, now_ms, channel=REMINDER, trusted=trusted, data=data)

    def _said(self, intent: StandingIntent) -> str:
        person = self._people().by_id(intent.person) if intent.person is not None else None
        name = person.name if person is not None else "someone here"
        day = datetime.fromtimestamp(intent.created_ms / 1_000, self._zone())
        return f"{name}, {day:%Y-%m-%d}, for when {' or '.join(intent.topics)} comes up:\n{quote_lines(intent.text)}"

    # -- inside ----------------------------------------------------------------------------------------------------

    def _areas(self, scope: MemoryScope) -> Collection[str]:
        if scope.group is not None:
            return (f"{GROUP_AREA}{scope.group}",)
        areas = {f"{PERSON_AREA}{scope.person}"} if scope.person is not None else set()
        if scope.private and (scope.person is None or self._people().by_id(IMPLICIT_OWNER_ID) is None):
            areas.add(_OWNERS)  # what was asked for before the owner had a name
        return areas

    def _same(self, agent_id: str, area: str, topics: Sequence[str], text: str) -> StandingIntent | None:
        wanted = (agent_id, area, frozenset(topics), text)
        for intent in self._intents.values():
            if (intent.agent_id, intent.area, frozenset(intent.topics), intent.text) == wanted:
                return intent
        return None

    def _file(self, intent: StandingIntent) -> None:
        self._intents[intent.id] = intent
        self._indexes.setdefault((intent.agent_id, intent.area), IntentIndex()).add(intent.id, intent.topics)

    def _forget(self, intent: StandingIntent) -> None:
        self._intents.pop(intent.id, None)
        place = (intent.agent_id, intent.area)
        index = self._indexes.get(place)
        if index is None:
            return
        index.remove(intent.id)
        if not len(index):
            del self._indexes[place]

    def _drop_expired(self, now_ms: int) -> None:
        for intent in [each for each in self._intents.values() if each.expires_ms <= now_ms]:
            self._forget(intent)  # its row goes at the next start

    def _tell_changed(self, intent: StandingIntent, what: str, context: Context) -> None:
        self._bus.fire(EVENT_CHANGED, {"intent_id": intent.id, "agent_id": intent.agent_id, "what": what}, context)

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1_000)


def _area(scope: MemoryScope) -> str:
    if scope.group is not None:
        return f"{GROUP_AREA}{scope.group}"
    if scope.person is not None:
        return f"{PERSON_AREA}{scope.person}"
    if scope.private:
        return _OWNERS
    raise Forbidden("a standing reminder needs a person of this home, or a group, that it is for")


def _is_due(intent: StandingIntent, now_ms: int) -> bool:
    if intent.expires_ms <= now_ms:
        return False
    # A clock that was set back must not keep it silent for longer than its cool-down.
    since_ms = None if intent.last_fired_ms is None else now_ms - intent.last_fired_ms
    return since_ms is None or since_ms < 0 or since_ms >= intent.cooldown_s * 1_000
