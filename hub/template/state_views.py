"""States as templates see them: read-only, in the home's time zone, and recording each access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from hub.core.plain_words import is_plain
from hub.core.states import EntityState, StateMachine
from hub.template.outside import note_outside
from hub.template.work import Exposed

if TYPE_CHECKING:
    from hub.template.work import Work

UNKNOWN = "unknown"
NO_VALUE = frozenset({"unknown", "unavailable"})


class StateView(Exposed):
    """One state."""

    __slots__ = ("_zone", "raw")

    def __init__(self, raw: EntityState, zone: Callable[[], tzinfo]) -> None:
        self.raw = raw
        self._zone = zone

    def read(self, name: str) -> Any:
        reader = _READERS.get(name)
        if reader is None:
            raise AttributeError(name)
        return reader(self)

    def local(self, seconds: float) -> datetime:
        """A moment in the home's zone."""
        return datetime.fromtimestamp(seconds, UTC).astimezone(self._zone())

    def with_unit(self, text: str | None = None) -> str:
        """The state, or `text`, followed by its unit of measurement."""
        text = self.raw.state if text is None else text
        unit = self.raw.attributes.get("unit_of_measurement")
        return f"{text} {unit}" if unit and self.raw.state not in NO_VALUE else text

    def rounded(self) -> str:
        """The state with as many decimals as its attribute `display_precision`, if any."""
        decimals = self.raw.attributes.get("display_precision")
        if not isinstance(decimals, int) or not 0 <= decimals <= 12:
            return self.raw.state
        try:
            return f"{float(self.raw.state):.{decimals}f}"
        except ValueError:
            return self.raw.state

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateView):
            return NotImplemented
        mine, theirs = self.raw, other.raw
        return (mine.entity_id, mine.state, mine.last_updated) == (theirs.entity_id, theirs.state, theirs.last_updated)

    def __hash__(self) -> int:
        return hash((self.raw.entity_id, self.raw.state, self.raw.last_updated))

    def __lt__(self, other: object) -> bool:
        return self.raw.entity_id < other.raw.entity_id if isinstance(other, StateView) else NotImplemented

    def __repr__(self) -> str:
        return f"<state {self.raw.entity_id}={self.raw.state}>"


def _context(view: StateView) -> dict[str, Any]:
    context = view.raw.context
    return {"id": context.id, "parent_id": context.parent_id}


_READERS: Mapping[str, Callable[[StateView], Any]] = {
    "entity_id": lambda view: view.raw.entity_id,
    "domain": lambda view: view.raw.entity_id.partition(".")[0],
    "object_id": lambda view: view.raw.entity_id.partition(".")[2],
    "state": lambda view: view.raw.state,
    "state_with_unit": lambda view: view.with_unit(view.rounded()),
    "attributes": lambda view: view.raw.attributes,
    "name": lambda view: view.raw.name,
    "last_changed": lambda view: view.local(view.raw.last_changed),
    "last_updated": lambda view: view.local(view.raw.last_updated),
    "context": _context,
}


class StateReader:
    """Reads the state machine and records each access in the rendering's work.

    Args:
        states: The state machine.
        zone: The home's time zone now.
        work: The work of the rendering under way.
    """

    def __init__(self, states: StateMachine, zone: Callable[[], tzinfo], work: Callable[[], Work]) -> None:
        self.states = states
        self.zone = zone
        self.work = work

    def get(self, entity_id: str) -> StateView | None:
        """One state; the access is recorded."""
        entity_id = entity_id.strip().lower()
        self.work().entities.add(entity_id)
        found = self.states.get(entity_id)
        return None if found is None else self._read(found)

    def all(self, domain: str | None = None) -> list[StateView]:
        """All states, or those of a domain, by entity id; noted and counted."""
        work = self.work()
        if domain is None:
            work.all_states = True
        else:
            work.domains.add(domain)
        found = self.states.all(domain)
        work.items(len(found))
        work.step(len(found))
        return [self._read(state) for state in found]

    def _read(self, state: EntityState) -> StateView:
        """Return a state for templates; more than plain words of a device in it are noted as words from outside."""
        authority = state.context.authority
        if authority.tainted or not authority.owner:
            self.work().outside = True
        if authority.tainted and not (is_plain(state.state) and is_plain(state.attributes)):
            note_outside()
        return StateView(state, self.zone)

    def view(self, raw: EntityState) -> StateView:
        """Return a state held by a variable, such as `trigger.to_state`."""
        return StateView(raw, self.zone)


class DomainStates(Exposed):
    """`states.light`: the states of a domain."""

    __slots__ = ("domain", "reader")

    def __init__(self, reader: StateReader, domain: str) -> None:
        self.reader = reader
        self.domain = domain

    def read(self, name: str) -> Any:
        return self.reader.get(f"{self.domain}.{name}")

    def __iter__(self) -> Iterator[StateView]:
        return iter(self.reader.all(self.domain))

    def __len__(self) -> int:
        return len(self.reader.all(self.domain))

    def __repr__(self) -> str:
        return f"<states of {self.domain}>"


class AllStates(Exposed):
    """`states`: all of them, by domain, by entity id, or called with an entity id."""

    __slots__ = ("reader",)

    def __init__(self, reader: StateReader) -> None:
        self.reader = reader

    def read(self, name: str) -> Any:
        if "." in name:
            return self.reader.get(name)
        return DomainStates(self.reader, name)

    def __call__(self, entity_id: Any, rounded: Any = None, with_unit: Any = False) -> str:
        """The state as text; `unknown` if there is no such entity."""
        view = entity_id if isinstance(entity_id, StateView) else self.reader.get(str(entity_id))
        if view is None:
            return UNKNOWN
        is_rounded = bool(with_unit) if rounded is None else bool(rounded)
        text = view.rounded() if is_rounded else view.raw.state
        return view.with_unit(text) if with_unit else text

    def __iter__(self) -> Iterator[StateView]:
        return iter(self.reader.all())

    def __len__(self) -> int:
        return len(self.reader.all())

    def __repr__(self) -> str:
        return "<all states>"
