"""A device: connected to for as long as the hub runs, with its entities."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aioesphomeapi.client import APIClient
from aioesphomeapi.core import (
    APIConnectionError,
    BadMACAddressAPIError,
    BadNameAPIError,
    EncryptionHelloAPIError,
    EncryptionPlaintextAPIError,
    HandshakeAPIError,
    InvalidAuthAPIError,
    InvalidEncryptionKeyAPIError,
    RequiresEncryptionAPIError,
)
from aioesphomeapi.model import (
    COMPONENT_TYPE_TO_INFO,
    APIVersion,
    DeviceInfo as EsphomeInfo,
    EntityInfo,
    EntityState,
    Event,
    VoiceAssistantFeature,
)

from hub.core.errors import Conflict, HubError, InvalidRequest, Unavailable
from hub.core.phrases import phrase
from hub.core.slugs import slugify
from hub.entities.description import DeviceInfo, EntityDescription
from hub.voice.contract import SatelliteInfo
from integrations.devices.esphome.entity import FAMILIES, Data, Family, Send
from integrations.devices.esphome.satellite import EsphomeSatellite, RingingSatellite
from integrations.devices.esphome.sounds import OfferedSounds

if TYPE_CHECKING:
    from hub.entities.entities import Command, EntityHandle
    from hub.host import IntegrationHost

RETRY_FIRST_S, RETRY_LIMIT_S = 2.0, 30.0
_KINDS = {kind: name for name, kind in COMPONENT_TYPE_TO_INFO.items()}
_log = logging.getLogger(__name__)


class EsphomeDevices:
    """The devices of the home, of which none is followed twice."""

    def __init__(self, host: IntegrationHost) -> None:
        self.host = host
        self.known: dict[str, str] = {}
        """Where the connected ones are, by what identifies them."""
        self.sounds = OfferedSounds(host)

    async def follow(self, config: Mapping[str, Any]) -> None:
        """Keep a device connected until cancelled."""
        await EsphomeDevice(self, config).follow()


class EsphomeDevice:
    """A device as it is configured.

    Args:
        config: An item of `esphome:`.
    """

    def __init__(self, devices: EsphomeDevices, config: Mapping[str, Any]) -> None:
        self._devices, self.host, self._config = devices, devices.host, config
        self._client: APIClient | None = None
        self._info: EsphomeInfo | None = None
        self._entities: dict[str, tuple[EntityInfo, Family, EntityHandle]] = {}
        self._satellite: EsphomeSatellite | None = None
        self._remove_satellite: Callable[[], Any] = bool
        self._by_state: dict[tuple[type[EntityState], int, int], str] = {}
        self._place = f"{config['host']}:{config['port']}"
        self._source = f"esphome {self._place}"
        self._storage = devices.host.storage(slugify(self._place))
        self._stored: Any = None

    @property
    def name(self) -> str:
        """What it is called, for people."""
        info = self._info
        return str((info and (info.friendly_name or info.name)) or self._config.get("name") or self._place)

    async def follow(self) -> None:
        """Keep it connected until cancelled."""
        await self._recall()
        try:
            await self._keep_connected()
        finally:  # what is configured no more is no trouble
            self.host.repairs.clear(self._source)

    async def _keep_connected(self) -> None:
        pause_s = RETRY_FIRST_S
        while True:
            try:
                await self._live()
                pause_s = RETRY_FIRST_S
                _log.info("%s went away", self.name)
            except HubError as error:
                was_there = self._info is not None and isinstance(error, Unavailable)
                _log.log(logging.DEBUG if was_there else logging.WARNING, "%s: %s", self.name, error.message)
                if not was_there:  # one that sleeps or is switched off is away, and no fault
                    title = phrase("The ESPHome device {name} cannot be used", name=self.name)
                    self.host.repairs.raise_(self._source, "connection", title, error.message)
            await self.host.clock.sleep(pause_s)
            pause_s = min(2 * pause_s, RETRY_LIMIT_S)

    def send(self, command: Callable[[APIClient], Any]) -> None:
        """Send something to it.

        Raises:
            Unavailable: It is not connected.
        """
        if self._client is None:
            raise Unavailable(phrase("{name} cannot be reached now", name=self.name))
        try:
            command(self._client)
        except APIConnectionError as error:
            raise Unavailable(phrase("{name} cannot be reached now", name=self.name)) from error

    async def _live(self) -> None:
        """Connect, and return when the connection has ended.

        Raises:
            HubError: It cannot be connected to, or is not the one that is meant.
        """
        key = self._config.get("encryption_key")
        gone = asyncio.Event()

        async def stopped(_: bool) -> None:
            gone.set()

        client = APIClient(
            self._config["host"],
            self._config["port"],
            None,
            client_info="Homarus",
            noise_psk=None if key is None else key.reveal(),
            timezone=str(self.host.time_zone),
        )
        try:
            await client.connect(on_stop=stopped, login=True, log_errors=False)
            info, entities, _ = await client.device_info_and_list_entities()
            identity = self._require_meant(info)
            self._devices.known[identity] = self._place
            try:
                self._info, self._client = info, client
                self.host.repairs.clear(self._source)
                features = info.voice_assistant_feature_flags_compat(client.api_version or APIVersion(1, 0))
                self._take(identity, info, entities)
                client.subscribe_states(self._said)
                if (satellite := self._satellite_of(identity, info, features)) is not None:
                    await satellite.came(client, features, entities)
                await self._remember(info, entities, features)
                await gone.wait()
            finally:
                self._client = None
                if self._satellite is not None:
                    self._satellite.went()
                del self._devices.known[identity]
                for *_, handle in self._entities.values():
                    handle.available(False)
        except (APIConnectionError, OSError) as error:
            raise self._told(error) from error
        finally:
            client.force_disconnect()

    def _require_meant(self, info: EsphomeInfo) -> str:
        """Return what identifies the device, after it was compared with what is configured.

        Raises:
            InvalidRequest: It is another one.
            Conflict: It is followed already, at another address.
        """
        name, mac = self._config.get("name"), self._config.get("mac")
        for key, wanted, is_it in (
            ("name", name, name == info.name),
            ("mac", mac, _hex(mac or "") == _hex(info.mac_address)),
        ):
            if wanted is not None and not is_it:
                raise InvalidRequest(
                    phrase(
                        "At {place} answers another device, {found}, and nothing was sent to it; esphome: {key} says "
                        "{wanted}. Correct host if the device has a new address, or {key} if it was replaced",
                        place=self._place,
                        found=f"{info.name} ({info.mac_address})",
                        key=key,
                        wanted=wanted,
                    )
                )
        identity = _hex(info.mac_address) or info.name
        if (other := self._devices.known.get(identity)) is not None:
            text = phrase(
                "{place} is the same device as {other}: remove one of them from esphome:",
                place=self._place,
                other=other,
            )
            raise Conflict(text)
        return identity

    def _told(self, error: Exception) -> HubError:
        """Return what went wrong, for people."""
        name = self.name
        match error:
            case InvalidEncryptionKeyAPIError():
                text = phrase(
                    "The key of {name} is not the right one. It stands under api: encryption: key: of the device's "
                    "ESPHome configuration, and belongs into esphome: encryption_key",
                    name=name,
                )
            case RequiresEncryptionAPIError():
                text = phrase(
                    "{name} is encrypted: the key under api: encryption: key: of its ESPHome configuration belongs "
                    "into esphome: encryption_key",
                    name=name,
                )
            case EncryptionPlaintextAPIError() | EncryptionHelloAPIError():
                text = phrase(
                    "{name} does not encrypt, but esphome: encryption_key is set: add api: encryption: to the device's "
                    "ESPHome configuration, or remove the key here",
                    name=name,
                )
            case InvalidAuthAPIError():
                text = phrase(
                    "{name} asks for a password, which ESPHome has given up: give the device api: encryption: instead",
                    name=name,
                )
            case BadNameAPIError() | BadMACAddressAPIError() | HandshakeAPIError():
                text = phrase("{name} refuses the connection: {why}", name=name, why=str(error))
            case _:
                return Unavailable(phrase("{place} cannot be reached: {why}", place=self._place, why=str(error)))
        return InvalidRequest(text)

    def _take(self, identity: str, info: EsphomeInfo, entities: Sequence[EntityInfo]) -> None:
        """Add the entities that it has, change those that it has in another form, and remove those that are gone."""
        devices = {0: self.device_info(identity, info)}
        areas = {each.area_id: each.name for each in info.areas}
        for each in info.devices:
            devices[each.device_id] = DeviceInfo(
                frozenset({f"{identity}_{each.device_id}"}),
                name=each.name,
                via_device=identity,
                suggested_area=areas.get(each.area_id),
            )
        self._by_state.clear()
        seen: set[str] = set()
        for entity in entities:
            if (family := FAMILIES.get(type(entity))) is None:
                continue
            own = f"{entity.device_id}-{entity.object_id}" if entity.device_id else entity.object_id
            unique_id = f"{identity}-{family.domain}-{own}"
            if unique_id in seen:  # a sensor and a text sensor of the same name
                unique_id = f"{unique_id}-text"
            seen.add(unique_id)
            description = _description(unique_id, entity, family, devices.get(entity.device_id, devices[0]))
            commands = {name: self._command(send) for name, send in family.commands(entity).items()}
            if unique_id in self._entities:
                handle = self._entities[unique_id][2]
                handle.update(description, commands)
                handle.available(True)
            else:
                handle = self.host.entities.add(description, commands)
            self._entities[unique_id] = entity, family, handle
            if family.state is not None:
                self._by_state[family.state, entity.device_id, entity.key] = unique_id
        for unique_id in self._entities.keys() - seen:
            self._entities.pop(unique_id)[2].remove(forget=True)

    def device_info(self, identity: str, info: EsphomeInfo) -> DeviceInfo:
        """Return the device as the registry knows it."""
        maker, _, model = info.project_name.rpartition(".")
        mac = _hex(info.mac_address)
        return DeviceInfo(
            frozenset({identity}),
            frozenset({("mac", ":".join(mac[at : at + 2] for at in range(0, 12, 2)))})
            if len(mac) == 12
            else frozenset(),
            name=info.friendly_name or info.name,
            manufacturer=maker or info.manufacturer or "ESPHome",
            model=model or info.model,
            sw_version=info.project_version or info.esphome_version,
            suggested_area=self._config.get("area") or info.area.name or info.suggested_area or None,
        )

    def _satellite_of(self, identity: str, info: EsphomeInfo, features: int) -> EsphomeSatellite | None:
        """Return the satellite that it is, after it was added; None if it can neither listen nor speak."""
        has_voice = bool(features & (VoiceAssistantFeature.VOICE_ASSISTANT | VoiceAssistantFeature.ANNOUNCE))
        if has_voice and not features & VoiceAssistantFeature.API_AUDIO:
            title = phrase("{name} cannot be talked to", name=self.name)
            text = phrase("Its ESPHome is older than 2024.4 and sends sound in another way: update the device")
            self.host.repairs.raise_(self._source, "voice", title, text)
            has_voice = False
        kind = RingingSatellite if features & VoiceAssistantFeature.TIMERS else EsphomeSatellite
        if self._satellite is not None and (not has_voice or type(self._satellite) is not kind):
            self._remove_satellite()
            self._satellite = None
        if not has_voice:
            return None
        device = self.host.entities.registry.device_for(self.host.domain, self.device_info(identity, info))
        rings = kind is RingingSatellite
        about = SatelliteInfo(f"esphome_{slugify(identity)}", self.name, self.host.domain, device.id, rings=rings)
        if self._satellite is None:
            self._satellite = kind(about, self.send, self._devices.sounds, self.host.clock)
            self._satellite.line, self._remove_satellite = self.host.satellites.add(self._satellite)
        return self._satellite

    async def _remember(self, info: EsphomeInfo, entities: Sequence[EntityInfo], features: int) -> None:
        """Write down what it has, for the next start."""
        has = [[_KINDS[type(each)], each.to_dict()] for each in entities if type(each) in FAMILIES]
        data = {"info": info.to_dict(), "entities": has, "features": features}
        if data != self._stored:
            await self._storage.save(data)
            self._stored = data

    async def _recall(self) -> None:
        """Show what it had when it was there last, as away."""
        try:
            stored = await self._storage.load()
            if stored is None:
                return
            info = EsphomeInfo.from_dict(stored["info"])
            entities = [COMPONENT_TYPE_TO_INFO[kind].from_dict(each) for kind, each in stored["entities"]]
            identity = self._require_meant(info)
            self._take(identity, info, entities)
            self._satellite_of(identity, info, stored["features"])
        except (HubError, KeyError, TypeError, ValueError) as error:
            _log.warning("%s: what it had before is not known any more: %s", self.name, error)
            return
        self._info = info
        for *_, handle in self._entities.values():
            handle.available(False)

    def _command(self, send: Send) -> Command:
        async def run(data: Data) -> None:
            self.send(lambda client: send(client, data))

        return run

    def _said(self, state: EntityState) -> None:
        unique_id = self._by_state.get((type(state), state.device_id, state.key))
        if unique_id is None:
            return
        info, family, handle = self._entities[unique_id]
        if isinstance(state, Event):
            handle.set(self.host.clock.now().isoformat(timespec="milliseconds"), {"event_type": state.event_type})
            return
        try:
            handle.set(*family.read(info, state))
        except (ValueError, ArithmeticError) as error:
            _log.debug("%s: a state is not understood: %s", handle.entity_id, error)


def _description(unique_id: str, info: EntityInfo, family: Family, device: DeviceInfo) -> EntityDescription:
    category = info.entity_category
    return EntityDescription(
        family.domain,
        unique_id,
        name=info.name or None,
        device=device,
        device_class=getattr(info, "device_class", "") or None,
        unit=getattr(info, "unit_of_measurement", "") or None,
        icon=info.icon or None,
        entity_category=category.name.lower() if category else None,
        attributes=family.attributes(info),
        enabled_by_default=not info.disabled_by_default,
    )


def _hex(mac: str) -> str:
    return mac.replace(":", "").replace("-", "").lower()
