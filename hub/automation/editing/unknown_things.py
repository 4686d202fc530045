"""Warnings about entities, devices, areas, floors and labels that nothing in this home provides.

What has announced itself once is in the stored registries; this is a warning, not an error: it may appear later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hub.automation.definition.values import ALL_OR_NONE, is_template
from hub.config.checked import Config
from hub.config.suggest import did_you_mean
from hub.core.phrases import phrase
from hub.core.schema import REGISTRY_ID, as_list
from hub.core.slugs import object_id
from hub.entities.domains import DOMAINS, TARGET_KEYS
from hub.entities.entries import RegistryData
from hub.entities.helpers.schema import helper_ids
from hub.entities.registry import FILE

Keys = tuple[str | int, ...]
INTEGRATIONS, PROVIDES = ".storage/integrations", "provides.json"

_REGISTRIES = {"device_id": "devices", "area_id": "areas", "floor_id": "floors", "label_id": "labels"}
_KINDS = {
    "device_id": phrase("device"),
    "area_id": phrase("area"),
    "floor_id": phrase("floor"),
    "label_id": phrase("label"),
}
_ENTITY = re.compile(rf"[a-z_][a-z0-9_]*\.[a-z0-9_]+|{REGISTRY_ID.pattern}")
_MAY_NAME_ONE = ("above", "below", "at", "zone")
"""Keys whose text is an entity where it looks like one."""
_OTHERS_WORDS = frozenset({"data", "data_template", "event_data", "variables", "trigger_variables", "arguments"})
_SHOWN_ELSEWHERE = frozenset({"automation", "heartbeat"})
"""Domains whose entities are no matter of the registries, and always there."""


def mappings(value: Any, keys: Keys) -> Iterator[tuple[dict[str, Any], Keys]]:
    """Yield each mapping of a definition with its keys, except data of services and foreign data."""
    if isinstance(value, dict):
        yield value, keys
        if called_service(value) is not None:
            return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(each, (dict, list)) and key not in _OTHERS_WORDS:
            yield from mappings(each, (*keys, key))


def called_service(value: Mapping[str, Any]) -> str | None:
    """Return the service that a mapping calls; None if it calls none, or a template names it."""
    name = value.get("action")
    return name if isinstance(name, str) and not is_template(name) else None


class HomeNames:
    """The names known in a home that is not running.

    Args:
        config: The checked configuration, with scripts and people.
        registries: The content of the registries.
        made: Entities that integrations make of the configuration.
        away: Returns whether what an integration showed once is there no more.
        is_open: Whether something in use may show entities that are in no registry.
    """

    def __init__(
        self,
        config: Config,
        registries: RegistryData,
        *,
        made: Iterable[str] = (),
        away: Callable[[str], bool] = lambda _: False,
        is_open: bool,
    ) -> None:
        self._is_open = is_open
        scripts: Mapping[str, Any] = config.get("script") or {}
        gone = {each for each in {entry.source for entry in registries.entities} if away(each)}
        self._entities = {each.entity_id for each in registries.entities if each.source not in gone}
        self._entities |= {f"script.{key}" for key in scripts}
        self._entities |= {*helper_ids(config), *made}
        self._entities |= {f"person.{object_id(each['id'])}" for each in config.get("people") or ()}
        self._entity_ids = {each.unique_id for each in registries.entities}
        self._places = {key: {each.id for each in getattr(registries, name)} for key, name in _REGISTRIES.items()}
        self._places["device_id"].update(id for each in registries.devices for id in each.identifiers)

    def unknown(self, value: Mapping[str, Any], keys: Keys) -> Iterator[tuple[Keys, str, str]]:
        """Yield each unknown name in a mapping of a definition: its keys, a message and a hint."""
        if (name := called_service(value)) is not None:
            if name.partition(".")[0] in {*DOMAINS, "homeassistant", *_SHOWN_ELSEWHERE, "script"}:
                for place in ("target", "data"):
                    yield from self._named(value.get(place), (*keys, place))
            return
        yield from self._named(value, keys)
        for key in _MAY_NAME_ONE:
            for each in as_list(value.get(key)):
                if isinstance(each, str) and _ENTITY.fullmatch(each):
                    yield from self._thing("entity_id", each, (*keys, key))

    def _named(self, target: Any, keys: Keys) -> Iterator[tuple[Keys, str, str]]:
        for key in TARGET_KEYS if isinstance(target, dict) else ():
            given = target.get(key)
            for index, id in enumerate(as_list(given)):
                if isinstance(id, str) and not is_template(id) and id.lower() not in ALL_OR_NONE:
                    yield from self._thing(key, id, (*keys, key, index) if isinstance(given, list) else (*keys, key))

    def _thing(self, key: str, id: str, keys: Keys) -> Iterator[tuple[Keys, str, str]]:
        if key != "entity_id":
            if id not in self._places[key]:
                told = phrase("there is no {kind} {id} in this home", kind=_KINDS[key], id=id)
                yield keys, told, did_you_mean(id, self._places[key])
        elif REGISTRY_ID.fullmatch(id):
            if id not in self._entity_ids:
                yield keys, phrase("nothing in this home has the registry id {id}", id=id), ""
        elif id not in self._entities:
            domain = id.partition(".")[0]
            if domain not in _SHOWN_ELSEWHERE and not (self._is_open and domain in DOMAINS):
                alike = [each for each in self._entities if each.startswith(f"{domain}.")]
                yield keys, phrase("nothing in this home provides {entity}", entity=id), did_you_mean(id, alike)


class Provided(msgspec.Struct):
    """Names of services and events of another program that an integration has brought."""

    services: list[str] = []
    events: list[str] = []


def provided_names(home: Path | None, domains: Iterable[str]) -> Provided:
    """Return what integrations brought when they ran last, from the `provides.json` that each may keep."""
    found = Provided()
    if home is None:
        return found
    for domain in sorted(domains):
        try:
            kept = (home / INTEGRATIONS / domain / PROVIDES).read_bytes()
            brought = msgspec.json.decode(kept, type=Provided)
        except (OSError, ValueError):
            continue
        found.services += brought.services
        found.events += brought.events
    return found


class _Kept(msgspec.Struct):
    data: RegistryData


def stored_registries(home: Path | None) -> RegistryData | None:
    """Return the stored registries of a home; None if they cannot be read, or there is no home."""
    if home is None:
        return None
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=_Kept).data
    except FileNotFoundError:
        return RegistryData()
    except (OSError, ValueError):
        return None
