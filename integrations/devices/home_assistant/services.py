"""The services and events of a Home Assistant under their own names, where this home has none of that name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hub.core.context import Authority, Context
from hub.core.errors import HubError
from hub.core.schema import ALLOW_EXTRA, Schema
from hub.core.services import AgentRule, ResponseMode, ServiceCall
from hub.integration.json_storage import JsonStorage
from integrations.devices.home_assistant.socket import HomeAssistantSocket

if TYPE_CHECKING:
    from hub.host import IntegrationHost

EVENTS = (
    *("zha_event", "deconz_event", "hue_event", "knx_event", "shelly.click", "lutron_caseta_button_event"),
    *("zwave_js_value_notification", "zwave_js_notification", "ios.action_fired", "telegram_callback"),
    *("telegram_command", "telegram_text", "imap_content", "mobile_app_notification_action"),
)
"""Events of its integrations that are fired here too; nothing here fires them otherwise."""
PROVIDES = "provides"
"""Keeps the names, so that a check knows them while nothing runs."""
_CHANGES = ("service_registered", "service_removed")
OURS = frozenset({"automation", "script", "scene", "person", "homeassistant", "persistent_notification", "hub", "zone"})
"""Domains whose services would do something to Home Assistant itself, or to what only it has."""
OF_THEIRS = frozenset({"homeassistant.reload_config_entry"})
_log = logging.getLogger(__name__)

CallTheirs = Callable[[str, str, Mapping[str, Any], bool], Any]
"""Calls a service there with data, and whether it only answers; returns what it answers."""


class TheirServices:
    """Its services, registered while they are there.

    Args:
        host: The registry of the integration.
        call: Calls one there.
        theirs: Returns the ids of entities and devices there, by their ids here.
    """

    def __init__(self, host: IntegrationHost, call: CallTheirs, theirs: Callable[[], Mapping[str, str]]) -> None:
        self._host, self._call, self._theirs = host, call, theirs
        self._removers: dict[str, Callable[[], Any]] = {}
        self._is_stale = asyncio.Event()
        # A file always: `homarus check` reads it without a hub, and it is made again with each connection.
        self._kept = JsonStorage(host.home.storage / "integrations" / host.domain / f"{PROVIDES}.json")

    async def follow(self, socket: HomeAssistantSocket, changed: Callable[[], None]) -> None:
        """Hear of services that come and go there, and of its events."""
        self._is_stale.set()

        def stale(_: object) -> None:
            self._is_stale.set()
            changed()

        for each in _CHANGES:
            await socket.ask("subscribe_events", event_type=each, heard=stale)
        for each in EVENTS:
            try:
                await socket.ask("subscribe_events", event_type=each, heard=self._fire)
            except HubError as error:  # the token is not an administrator's
                _log.warning("events of Home Assistant do not come: %s", error.message)
                return

    async def read(self, socket: HomeAssistantSocket) -> None:
        """Add and remove services, if they have changed."""
        if not self._is_stale.is_set():
            return
        self._is_stale.clear()
        found: Mapping[str, Mapping[str, Any]] = await socket.ask("get_services") or {}
        wanted = {
            f"{domain}.{name}": each
            for domain, services in found.items()
            for name, each in services.items()
            if domain not in OURS or f"{domain}.{name}" in OF_THEIRS
        }
        for id in self._removers.keys() - wanted.keys():
            self._removers.pop(id)()
        for id in wanted.keys() - self._removers.keys():
            domain, _, name = id.partition(".")
            if self._host.services.registry.get(domain, name) is None:
                self._removers[id] = self._add(domain, name, wanted[id])
        await self._kept.save({"services": sorted(self._removers), "events": list(EVENTS)})

    def _add(self, domain: str, name: str, described: Mapping[str, Any]) -> Callable[[], Any]:
        answers = described.get("response")
        mode = ResponseMode.NONE
        if isinstance(answers, Mapping):
            mode = ResponseMode.OPTIONAL if answers.get("optional") else ResponseMode.ONLY

        async def run(call: ServiceCall) -> Mapping[str, Any] | None:
            data = _renamed(call.data, self._theirs())
            answer = await self._call(domain, name, data, call.wants_response)
            return answer if isinstance(answer, Mapping) else None

        return self._host.services.register(
            name,
            run,
            Schema({}, extra=ALLOW_EXTRA),
            mode,
            AgentRule.ASK,
            domain=domain,
            description=str(described.get("name") or f"{domain}.{name} of Home Assistant")[:200],
            open_world=True,
        )

    def _fire(self, event: Mapping[str, Any]) -> None:
        type, data = event.get("event_type"), event.get("data")
        if type in EVENTS and isinstance(data, Mapping):
            context = Context(Authority(f"device:{self._host.domain}", tainted=True))
            self._host.bus.fire(str(type), dict(data), context)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return data with the ids that things have there."""
    if isinstance(value, Mapping):
        return {key: _renamed(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value
