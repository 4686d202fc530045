"""The kinds of triggers, conditions and actions: found by the word in the YAML, imported on first use.

A kind of automations themselves is a module with one constant `KIND`; a word from a file never names a module. Other
parts of the hub have theirs in `trigger.py`, listed in the table of surfaces, and integrations in a module that their
manifest declares.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib import import_module
from itertools import chain
from typing import Any, TypeVar

from hub.automation.contract import ActionKind, ConditionKind, TriggerKind
from hub.core.phrases import phrase
from hub.core.schema import Invalid, show
from hub.core.surface_table import read_table
from hub.integration.catalog import find
from hub.integration.schemas import schemas

AnyKind = TriggerKind | ConditionKind | ActionKind
K = TypeVar("K", TriggerKind, ConditionKind, ActionKind)
Offers = Mapping[str, Callable[[], Any]]
"""Kinds: name → what returns it, or raises `Invalid` when it cannot be loaded."""

TRIGGERS: Mapping[str, str] = {
    **{name: name for name in ("event", "state", "numeric_state", "template", "time", "time_pattern", "sun")},
    **{name: name for name in ("at", "every", "cron", "calendar", "message", "heartbeat", "agent", "node", "hub")},
    **{name: name for name in ("hook", "device", "zone", "geo_location", "tag", "persistent_notification")},
}
CONDITIONS: Mapping[str, str] = {
    **dict.fromkeys(("and", "or", "not"), "logic"),
    **{name: name for name in ("state", "numeric_state", "template", "time", "sun", "trigger", "zone")},
    **{name: name for name in ("agent", "budget", "presence", "heartbeat", "device")},
}
ACTIONS: Mapping[str, str] = {
    "action": "service",
    "event": "event",
    "delay": "delay",
    "wait_template": "wait_template",
    "wait_for_trigger": "wait_for_trigger",
    "condition": "condition",
    "if": "if_then",
    "choose": "choose",
    "repeat": "repeat",
    "sequence": "sequence",
    "parallel": "parallel",
    "variables": "variables",
    "stop": "stop",
    "set_conversation_response": "conversation_response",
    "device_id": "device",
}
"""Key that tells a step from others → module; in the order in which a step is looked through."""

SAME_TRIGGER: Mapping[str, str] = {"homeassistant": "hub"}
"""Words of Home Assistant that mean one of ours."""

_OWN: Mapping[str, Mapping[str, str]] = {"trigger": TRIGGERS, "condition": CONDITIONS, "action": ACTIONS}
SORTS: Mapping[str, str] = {"trigger": phrase("trigger"), "condition": phrase("condition"), "action": phrase("action")}


class Kinds:
    """The kinds that the automations of one hub may use: the hub's, and those that its integrations offer.

    Args:
        offers: Returns the kinds that integrations offer, of a sort: `trigger`, `condition` or `action`. One of the hub
            cannot be replaced; an offered kind replaces one of a bundled integration.
    """

    def __init__(self, offers: Callable[[str], Offers] = lambda _: {}) -> None:
        self._offers = offers

    def names(self, sort: str) -> tuple[str, ...]:
        """Return the names of all kinds of a sort."""
        return tuple(dict.fromkeys(chain.from_iterable(self._sources(sort))))

    def trigger(self, name: str) -> TriggerKind:
        """Return the kind of trigger with this name.

        Raises:
            Invalid: There is none, and the message names the nearest; or its integration's module cannot be loaded.
        """
        return self._find(TriggerKind, SAME_TRIGGER.get(name, name))

    def condition(self, name: str) -> ConditionKind:
        """Return the kind of condition with this name; see `trigger`."""
        return self._find(ConditionKind, name)

    def action(self, name: str) -> ActionKind:
        """Return the kind of step with this key; see `trigger`."""
        return self._find(ActionKind, name)

    def of(self, sort: str, name: str) -> AnyKind:
        """Return the kind of a sort with this name; see `trigger`."""
        found: AnyKind = getattr(self, sort)(name)
        return found

    def step_key(self, step: Mapping[str, Any]) -> str | None:
        """Return the key that tells which kind of step this is, or None when it has none."""
        return next((key for kinds in self._sources("action") for key in kinds if key in step), None)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Make these kinds known to validators and explanations, within a context or a decorated function."""
        token = _IN_USE.set(self)
        try:
            yield
        finally:
            _IN_USE.reset(token)

    def _find(self, of: type[K], name: str) -> K:
        sort = sort_of(of)
        load = next((kinds[name] for kinds in self._sources(sort) if name in kinds), None)
        if load is None:
            raise Invalid(_unknown(sort, name, self.names(sort)))
        kind = load()
        if not isinstance(kind, of):
            raise Invalid(
                phrase(
                    "the integration that brings {name} offers a {found}, not a {expected}",
                    name=name,
                    found=type(kind).__name__,
                    expected=of.__name__,
                )
            )
        return kind

    def _sources(self, sort: str) -> Iterator[Offers]:
        """Yield the kinds of a sort, those first that come before others of the same name."""
        yield _own(sort)
        yield self._offers(sort)
        yield _bundled(sort)


OUR_KINDS = Kinds()
_IN_USE: ContextVar[Kinds] = ContextVar("kinds", default=OUR_KINDS)


def kinds_in_use() -> Kinds:
    """Return the kinds known to the current validation or explanation; outside `Kinds.in_use`, the program's."""
    return _IN_USE.get()


def sort_of(kind: type[AnyKind]) -> str:
    """Return the sort of a kind: `trigger`, `condition` or `action`."""
    return kind.__name__.removesuffix("Kind").lower()


@cache
def _own(sort: str) -> Offers:
    """Return the kinds of automations themselves, and those of other parts of the hub."""
    parts = read_table().get(f"{sort}s", {})
    return {
        **{name: partial(_kind, sort, name) for name in _OWN[sort]},
        **{row["name"]: partial(_kind_of, part, sort, row["name"]) for part, rows in parts.items() for row in rows},
    }


@cache
def _bundled(sort: str) -> Offers:
    """Return the kinds of the integrations that come with the program, whether or not a home uses or replaces them."""
    return schemas(find(None)).kinds(sort)


@cache
def _kind(sort: str, name: str) -> Any:
    module = _OWN[sort][name]
    return getattr(import_module(f"hub.automation.{sort}s.{module}"), name.upper() if module == "logic" else "KIND")


@cache
def _kind_of(part: str, sort: str, name: str) -> Any:
    return import_module(f"hub.{part}.{sort}").KINDS[name]


def _unknown(sort: str, name: str, known: Iterable[str]) -> str:
    if "." in name:
        return phrase(
            "there is no {sort} {name}: no {sort} belongs to a domain here; use state",
            sort=SORTS[sort],
            name=show(name),
        )
    near = difflib.get_close_matches(name, list(known), n=1)
    if near:
        return phrase(
            "there is no {sort} {name}; did you mean {near}?", sort=SORTS[sort], name=show(name), near=near[0]
        )
    return phrase(
        "there is no {sort} {name}; there are: {known}", sort=SORTS[sort], name=show(name), known=", ".join(known)
    )
