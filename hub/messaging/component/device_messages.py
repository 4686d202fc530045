"""Devices in the owner's own chat: a message when one asks to be let in, and the command /devices."""

from __future__ import annotations

import logging
from typing import Any

from hub.core.context import system_context
from hub.core.errors import HubError, Unavailable
from hub.core.events import Event
from hub.foundation import Foundation
from hub.gateway.access.devices import EVENT_PAIR_REQUESTED, Devices
from hub.gateway.connection.server import Gateway
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandPlace
from hub.messaging.component.messaging import MessagingComponent
from hub.messaging.texts import say
from hub.nodes.registry import NodeRegistry
from hub.nodes.surfaces import EVENT_SURFACE_REQUESTED

_log = logging.getLogger(__name__)

TOLD_LIMIT = 500
LISTED = 20
SHORT = 12


class DeviceMessages:
    """Notifies an owner of pairing requests of devices, once for each device and request, and takes the decision.

    Args:
        messaging: Finds where an owner is reached, and takes the command.
        gateway: Has the devices.
        nodes: Has the commands that wait to be approved.
    """

    def __init__(self, base: Foundation, messaging: MessagingComponent, gateway: Gateway, nodes: NodeRegistry) -> None:
        self._base = base
        self._places, self._outbox = messaging.owner_places, messaging.outbox
        self._gateway = gateway
        self._nodes = nodes
        self._told: dict[tuple[Any, ...], None] = {}
        base.bus.listen(EVENT_PAIR_REQUESTED, self._device_asked)
        base.bus.listen(EVENT_SURFACE_REQUESTED, self._node_asked)
        messaging.commands.add(
            ChatCommand(
                "devices",
                self._run,
                Category.MANAGEMENT,
                owner_only=True,
                where=CommandPlace.DIRECT,
                arguments="[approve|reject ID]",
            )
        )

    async def _device_asked(self, event: Event) -> None:
        data = event.data
        wants = ", ".join([data["role"], *data["scopes"]])
        name = data.get("displayName") or data.get("clientId") or data["deviceId"][:SHORT]
        await self._tell((data["deviceId"], wants), name, wants, data["requestId"])

    async def _node_asked(self, event: Event) -> None:
        data = event.data
        record = self._nodes.records.get(data["node_id"])
        if record is not None and record.request is not None and record.request.id == data["request_id"]:
            wants = ", ".join(data["commands"])
            await self._tell((data["node_id"], wants), data["name"], wants, data["request_id"])

    async def _tell(self, key: tuple[Any, ...], name: str, wants: str, id: str) -> None:
        if key in self._told:
            return
        while len(self._told) >= TOLD_LIMIT:
            del self._told[next(iter(self._told))]
        self._told[key] = None
        place = await self._places.find()
        if place is None:
            return
        text = say("devices.asked", self._base.language(), name=name, wants=wants, id=id)
        try:
            await self._outbox.send(place.address, text, system_context(), session_key=place.session_key)
        except HubError as error:
            _log.warning("the request of a device could not be sent to an owner: %s", error.message)

    async def _run(self, call: CommandCall) -> str:
        language, devices = self._base.language(), self._devices()
        match call.arguments.split():
            case []:
                return self._listed(devices, language)
            case ["approve", id]:
                if self._nodes.records.by_request(id) is not None:
                    record = self._nodes.surfaces.approve(id, call.context.authority)
                    self._nodes.begin_work(record.id)
                    return say("devices.approved", language, name=record.title)
                grant = await devices.approve(id, call.context.authority)
                return say("devices.approved", language, name=grant.data.get("displayName") or grant.device_id[:SHORT])
            case ["reject", id]:
                if self._nodes.records.by_request(id) is not None:
                    self._nodes.surfaces.reject(id)
                else:
                    await devices.reject(id)
                return say("devices.rejected", language)
        return say("devices.usage", language)

    def _listed(self, devices: Devices, language: str) -> str:
        waiting = [
            f"{each.data.get('displayName') or each.device_id[:SHORT]} ({each.role}): {each.id}"
            for each in devices.pending()
        ]
        records = self._nodes.records.all()
        waiting += [f"{each.title}: {each.request.id}" for each in records if each.request is not None]
        paired = [
            f"{each.title}: {say('devices.connected' if self._nodes.get(each.id) else 'devices.away', language)}"
            for each in records
        ]
        if not waiting and not paired:
            return say("devices.none", language)
        lines = [say("devices.waiting", language), *waiting[:LISTED], say("devices.usage", language)] if waiting else []
        return "\n".join([*lines, *paired[:LISTED]])

    def _devices(self) -> Devices:
        if self._gateway.devices is None:
            raise Unavailable("the hub is still starting")
        return self._gateway.devices
