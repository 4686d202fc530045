"""Sensors and binary sensors whose state is read from a text, which is asked for now and then."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.schema import show
from hub.core.slugs import slugify
from hub.core.states import STATE_LENGTH_LIMIT
from hub.entities.description import EntityDescription
from hub.entities.entities import Command, FirstState
from hub.template.contract import TemplateFailed, is_template
from hub.template.native import as_bool
from integrations.devices.json_path import first_at

if TYPE_CHECKING:
    from hub.host import IntegrationHost

_log = logging.getLogger(__name__)

RETRY_LIMIT_S = 300.0
"""How long at most something that fails is left alone, unless it asks for longer or is seldom asked for."""
_ON = frozenset({"true", "on", "open", "yes"})
_NOT_NUMERIC = (None, "date", "enum", "timestamp")
_SHOWN = ("name", "icon", "picture")


class ReadEntity:
    """A sensor or binary sensor that is read from a text.

    Args:
        domain: `sensor` or `binary_sensor`.
        settings: What the configuration says of it.
        name: What it is called when it says nothing of that.
        taken: Unique ids of those before it; its own is added.
        commands: Its services.
    """

    def __init__(
        self,
        host: IntegrationHost,
        domain: str,
        settings: Mapping[str, Any],
        name: str,
        taken: set[str],
        commands: Mapping[str, Command] | None = None,
    ) -> None:
        self._host, self._domain, self._settings = host, domain, settings
        given = settings.get("name", name)
        self._name: str = name if is_template(given) else given
        key = f"{domain}.{settings.get('unique_id') or slugify(self._name)}"
        unique_id = next(each for each in (key, *(f"{key}_{n}" for n in range(2, len(taken) + 3))) if each not in taken)
        taken.add(unique_id)
        fixed = {"state_class": settings["state_class"]} if "state_class" in settings else {}
        self._fixed: Mapping[str, Any] = fixed
        self._last: tuple[Any, ...] = (self._name, None, None)
        self._described = EntityDescription(
            domain,
            unique_id,
            self._name,
            device_class=settings.get("device_class"),
            unit=settings.get("unit_of_measurement"),
            attributes=fixed,
            is_full_name=True,
            force_update=settings["force_update"],
        )
        self._state: str | None = None
        self._told: dict[str, str] = {}
        self.handle = host.entities.add(self._described, commands)
        self.handle.available(False)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the configuration says of it."""
        return self._settings

    def fail(self) -> None:
        """Be unavailable: there is no text."""
        self.handle.available(False)

    def read(self, text: str) -> None:
        """Show what a text says."""
        seen: dict[str, Any] = {"value": text, "this": self._host.states.get(self.handle.entity_id)}
        with suppress(ValueError, RecursionError):
            seen["value_json"] = json.loads(text)
        available = self._rendered("availability", seen)
        if available is not None and not as_bool(available):
            self.handle.available(False)
            return
        value = self._rendered("value_template", seen) if "value_template" in self._settings else text
        try:
            self._state = self._is_on(value) if self._domain == "binary_sensor" else self._sensed(value)
            self._told.pop("state", None)
        except ValueError as error:
            self._tell("state", str(error))
        name, icon, picture = (self._rendered(key, seen) for key in _SHOWN)
        if (shown := (name or self._name, icon or None, picture or None)) != self._last:
            self._last = shown
            pictured = {"entity_picture": shown[2]} if shown[2] else {}
            self._described = replace(
                self._described, name=shown[0], icon=shown[1], attributes={**self._fixed, **pictured}
            )
        now = FirstState(self._state, self._attributes(seen))
        self.handle.become(self._described, now, is_available=True)

    def _rendered(self, key: str, seen: Mapping[str, Any]) -> str | None:
        """Return what one of its templates gives; None where there is none, or it cannot be rendered."""
        text = self._settings.get(key)
        if text is None:
            return None
        templates = self._host.automation.templates
        try:
            found = str(templates.compile(text, f"{self.handle.entity_id} {key}").render(seen, parse_result=False))
        except TemplateFailed as error:
            self._tell(key, error.message)
            return None
        self._told.pop(key, None)
        return found

    def _attributes(self, seen: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that it takes from the JSON."""
        names = self._settings.get("json_attributes")
        if not names:
            return {}
        found = seen.get("value_json")
        if "json_attributes_path" in self._settings:
            found = first_at(found, self._settings["json_attributes_path"])
        elif isinstance(found, list):
            found = found[0] if found else None
        if not isinstance(found, dict):
            self._tell("json_attributes", phrase("there is no JSON with keys and values in the answer"))
            return {}
        self._told.pop("json_attributes", None)
        return {name: found[name] for name in names if name in found}

    def _is_on(self, value: str | None) -> str | None:
        text = str(value).lower()
        try:
            return "on" if int(text) else "off"
        except ValueError:
            return "on" if text in _ON else "off"

    def _sensed(self, value: str | None) -> str | None:
        """Return the state of a sensor.

        Raises:
            ValueError: It is none; the one before stays.
        """
        if value is None:
            return None
        kind = self._settings.get("device_class")
        if kind in ("timestamp", "date"):
            return self._moment(value, kind)
        numeric = kind not in _NOT_NUMERIC or "state_class" in self._settings or "unit_of_measurement" in self._settings
        if numeric:
            try:
                float(value)
            except ValueError:
                raise ValueError(phrase("expected a number, got {value}", value=show(value))) from None
        if len(value) > STATE_LENGTH_LIMIT:
            self._tell("length", phrase("a state has at most {most} characters", most=STATE_LENGTH_LIMIT))
            return None
        return value

    def _moment(self, value: str, kind: str) -> str | None:
        """Return a moment as it is shown, in UTC to the second, or a day; None for what is neither."""
        try:
            if kind == "date":
                return date.fromisoformat(value).isoformat()
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            what = phrase("a date") if kind == "date" else phrase("a time with its zone")
            self._tell("state", phrase("expected {what}, got {value}", what=what, value=show(value)))
            return None
        return moment.astimezone(UTC).isoformat(timespec="seconds")

    def _tell(self, key: str, text: str) -> None:
        """Log what is wrong, once until it works again."""
        if key not in self._told:
            self._told[key] = text
            _log.warning("%s: %s", self.handle.entity_id, text)


class Reading:
    """A text that is asked for now and then, and the entities that are read from it.

    Args:
        what: What is asked, for the log.
        every_s: How often.
        ask: Returns the text; raises `HubError`.
    """

    def __init__(
        self,
        host: IntegrationHost,
        what: str,
        every_s: float,
        ask: Callable[[], Awaitable[str]],
        entities: Sequence[ReadEntity],
    ) -> None:
        self._host, self._what, self._every_s, self._ask, self._entities = host, what, every_s, ask, entities
        self._failures = 0
        self._gate = asyncio.Lock()
        for each in entities:
            each.handle.refresh = self.look

    async def live(self) -> None:
        """Ask as long as the hub runs; less and less often while it fails."""
        while True:
            wait_s = await self.look()
            await self._host.clock.sleep(wait_s)

    async def look(self) -> float:
        """Ask now; return how long to wait before the next time."""
        async with self._gate:
            try:
                text = await self._ask()
            except HubError as error:
                return self._failed(error)
        if self._failures:
            _log.info("%s answers again", self._what)
        self._failures = 0
        for each in self._entities:
            each.read(text)
        return self._every_s

    def _failed(self, error: HubError) -> float:
        self._failures += 1
        if self._failures == 1:
            _log.warning("%s: %s; it is asked again, less and less often", self._what, error.message)
        for each in self._entities:
            each.fail()
        wait_s = min(self._every_s * 2 ** min(self._failures - 1, 10), max(self._every_s, RETRY_LIMIT_S))
        return max(error.retry_after_s or 0.0, float(wait_s))


def forget_gone(host: IntegrationHost, sections: Sequence[str], taken: set[str]) -> None:
    """Forget the entities that the configuration has no more, unless a part of it is broken.

    Args:
        sections: Where they are configured.
        taken: The unique ids of those that it has.
    """
    if any(host.config.broken_items.get(each) for each in sections):
        return
    for entry in list(host.entities.registry.entities.values()):
        if entry.source == host.domain and entry.unique_id not in taken:
            host.entities.registry.remove("entity", entry.entity_id)
