"""A kind of helper: its keys, services and attributes, and what it holds, as plain data and pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeAlias

from msgspec import Struct

from hub.core.states import EntityState

Settings: TypeAlias = Mapping[str, Any]
"""What the configuration says of one helper, validated."""


class HeldEvent(Struct, frozen=True):
    """An event that a helper fires; its entity id is added to the data."""

    type: str
    data: Mapping[str, Any] = {}


class HeldCall(Struct, frozen=True):
    """A service that a helper calls, for whoever did something to it."""

    domain: str
    service: str
    data: Mapping[str, Any]


class Held(Struct, frozen=True, omit_defaults=True):
    """What a helper holds. It is kept over a restart, without the events and calls.

    Attributes:
        state: Its state; None while it is not known.
        attributes: Beside those that its settings give.
        due: When it is looked at again; seconds since the epoch.
        events: What happened to it just now.
        calls: What it does because of that.
        memory: What it needs to go on, which nobody sees.
        tainted: Whether words from outside are in it.
    """

    state: str | None = None
    attributes: Mapping[str, Any] = {}
    due: float | None = None
    events: tuple[HeldEvent, ...] = ()
    calls: tuple[HeldCall, ...] = ()
    memory: Mapping[str, Any] = {}
    tainted: bool = False


class Past(Struct, frozen=True):
    """What a helper needs of the history of an entity.

    Attributes:
        since: Seconds since the epoch.
        limit: The newest so many.
    """

    entity_id: str
    since: float
    limit: int


class HelperHome(Struct, frozen=True):
    """The surroundings of a helper at a moment.

    Attributes:
        now: Seconds since the epoch.
        state: Returns the state of an entity.
        states: Returns those of a domain.
        id_of: Returns the present entity id of another helper of the same section, by the id that it had at first.
        render: Returns what a template says now; raises `HubError`.
        starting: Whether the hub starts, or the helper is new; otherwise its settings have changed.
        changed: The entity whose change wakes it, if one does.
        past: Moments and states, the oldest first, once what `HelperKind.past` wants has been read.
    """

    now: float
    zone: tzinfo
    state: Callable[[str], EntityState | None]
    states: Callable[[str], list[EntityState]]
    id_of: Callable[[str], str]
    render: Callable[[str], Any]
    starting: bool = False
    changed: str | None = None
    past: Sequence[tuple[float, str]] | None = None

    @property
    def local(self) -> datetime:
        """The time on the clocks of the home."""
        return datetime.fromtimestamp(self.now, UTC).astimezone(self.zone)


Serve: TypeAlias = Callable[[Settings, Held, Mapping[str, Any], HelperHome], Held]
"""What a service makes of what is held; raises `InvalidRequest` for what cannot be."""


def unchanged(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    """Serve a service that only returns data."""
    return held


class HelperService(Struct, frozen=True):
    """A service of a kind.

    Attributes:
        fields: Those of its data.
        answer: Returns the data that it returns; only for one that `ANSWERING` of `hub/entities/domains.py` names.
    """

    serve: Serve
    fields: Mapping[Any, Any] = {}
    answer: Callable[[Settings, HelperHome], Mapping[str, Any]] | None = None


def _plain_name(key: str) -> str:
    return key.replace("_", " ")


class HelperKind(Struct, frozen=True):
    """A kind of helper.

    Attributes:
        domain: The domain of their entities, and the section that names them if there is no other.
        description: What they are, for the reference.
        fields: The keys of one, beside `name` and `icon`.
        begin: Returns what one holds at a start or with other settings, after what it held, if that is known.
        services: Its services by name.
        rule: Checks and completes the settings of one.
        shown: The attributes that its settings give.
        wake: Returns what one holds once its time is due, or what it follows has changed.
        follows: The entities that it follows, and domains, as `person.`.
        built_in: Those that there are without being named, by key; from the whole configuration.
        short: Returns the settings of one that is written in a shorter way.
        name_of: The name of one that has none.
        is_section: Whether there is a section that names them.
        is_listed: Whether its section is a list of named ones, rather than a mapping by key.
        is_kept: Whether what one holds is kept over a restart; the state of others is known again by itself.
        own_service: A service of the domain that is called as each of them is.
        has_editable: Whether it says that it cannot be edited where Home Assistant would.
        platform: What the items of that section name as their platform; without it, all of the section is theirs.
        named_in: The section that names them, where that is not their domain.
        each_of: Returns the settings of the entities, by key, that a named one stands for.
        hears_reports: Whether it is woken too when what it follows says the same again.
        past: Returns what it needs of history now, if it does; `begin` is called again with it.
        quotes: Whether words of what it follows, such as a unit, are in what it says.
    """

    domain: str
    description: str
    fields: Mapping[Any, Any]
    begin: Callable[[Settings, Held | None, HelperHome], Held]
    services: Mapping[str, HelperService]
    rule: Callable[[dict[str, Any]], dict[str, Any]] = dict
    shown: Callable[[Settings], Mapping[str, Any]] = lambda settings: {}
    wake: Callable[[Settings, Held, HelperHome], Held] | None = None
    follows: Callable[[Settings], Iterable[str]] = lambda settings: ()
    built_in: Callable[[Mapping[str, Any]], Mapping[str, Settings]] = lambda config: {}
    short: Callable[[Any], Any] = lambda value: {} if value is None else value
    name_of: Callable[[str], str] = _plain_name
    is_section: bool = True
    is_listed: bool = False
    is_kept: bool = True
    has_editable: bool = True
    own_service: HelperService | None = None
    platform: str = ""
    named_in: str = ""
    each_of: Callable[[str, Settings], Mapping[str, Settings]] = lambda key, settings: {key: settings}
    hears_reports: bool = False
    past: Callable[[Settings, Held, HelperHome], Past | None] = lambda settings, held, home: None
    quotes: bool = False

    @property
    def section(self) -> str:
        """The section that names them."""
        return self.named_in or self.domain

    @property
    def source(self) -> str:
        """What a unique id of theirs is unique within: as Home Assistant calls what makes them."""
        return self.platform or self.section

    def unique_id(self, key: str) -> str:
        """Return the unique id of one."""
        return key if self.source == self.domain else f"{self.domain}.{key}"
