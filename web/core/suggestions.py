"""Suggestions of forms: the names of things in this home, for each kind of selector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from hub.entities.entries import AreaEntry, FloorEntry, LabelEntry
    from hub.hub import Hub

SUGGESTED_LIMIT = 2_000

Option = tuple[str, str]
"""A value, and what people call it."""


class Suggestions(Protocol):
    """The suggestions of selectors."""

    def options(self, selector: Mapping[str, Any]) -> tuple[Option, ...]:
        """Return the options or suggestions of a selector."""
        ...


class NameCatalog:
    """Finds the names of things.

    Args:
        hub: The hub.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def options(self, selector: Mapping[str, Any]) -> tuple[Option, ...]:
        """Return what can be chosen or is suggested for a selector, as `InputField.as_dict` has it."""
        match selector["type"]:
            case "entity":
                found = self._entities(selector)
            case "area" | "floor" | "label" | "device" as kind:
                found = self._registered(kind)
            case "agent" | "conversation_agent":
                found = [(agent.id, agent.name or agent.id) for agent in self._hub.agents.all()]
            case "person":
                found = [(person.id, person.name or person.id) for person in self._hub.people.all()]
            case "channel":
                found = self._channels(address=bool(selector.get("address")))
            case "session":
                found = self._sessions()
            case "model":
                found = self._models()
            case "tool":
                found = [(tool.name, tool.name) for tool in self._hub.tools.all()]
            case "select":
                found = [_option(each) for each in selector["options"]]
            case _:
                found = []
        return tuple(found[:SUGGESTED_LIMIT])

    def _entities(self, selector: Mapping[str, Any]) -> list[Option]:
        filters = [{"domain": selector["domain"]}] if "domain" in selector else selector.get("filter", [])
        domains = {domain for each in filters for domain in each.get("domain", ())}
        states = self._hub.states.all()
        return [
            (state.entity_id, state.name) for state in states if not domains or state.entity_id.split(".")[0] in domains
        ]

    def _registered(self, kind: str) -> list[Option]:
        registry = self._hub.entities.registry
        if kind == "device":
            return [(each.id, each.shown_name) for each in registry.devices.values()]
        entries: Iterable[AreaEntry | FloorEntry | LabelEntry] = registry.areas.values()
        if kind != "area":
            entries = registry.floors.values() if kind == "floor" else registry.labels.values()
        return [(each.id, each.name) for each in entries]

    def _channels(self, *, address: bool) -> list[Option]:
        names = dict.fromkeys(attached.channel.name for attached in self._hub.channels.all())
        own = [("last", "last"), ("none", "none")] if address else []
        return [*own, *((name, name) for name in names)]

    def _sessions(self) -> list[Option]:
        kept = [(session.key, session.name or session.key) for session in self._hub.sessions.list()]
        return [("main", "main"), ("isolated", "isolated"), *kept]

    def _models(self) -> list[Option]:
        status = self._hub.models.status()
        resolved = (status.get("resolved") or {}).get("ref")
        return [(name, name) for name in dict.fromkeys([*status["aliases"], *([resolved] if resolved else [])])]


def _option(each: Any) -> Option:
    return (str(each["value"]), str(each["label"])) if isinstance(each, Mapping) else (str(each), str(each))
