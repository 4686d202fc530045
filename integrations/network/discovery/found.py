"""Services found in the local network that wait for a person's decision: set up or ignored.

A name in the network is a claim that anybody there can make. What is found is shown and nothing else: no connection is
made to it, and nothing is sent, before a person says so. Only its address and port are believed, and only when the
address is one of a local network; of its TXT record nothing is read but the keys that a manifest names, and those are
shown to whoever sets it up.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.config.paths import KeyPath
from hub.config.spans import Tagged
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.slugs import slugify
from hub.host import IntegrationHost
from hub.integration.catalog import CatalogEntry
from hub.integration.manifest import ServiceMatcher
from hub.security.addresses import Reach, judge

FOUND_LIMIT = 200
IGNORED_LIMIT = 1_000
NAME_LIMIT = 63
OURS = "_homarus._tcp"
COMPATIBLE = "_openclaw-gw._tcp"
_IGNORED = "ignored"
_OWN = re.compile(r"\{(address|port|name|slug|txt\.[A-Za-z0-9_]+)\}")
_TXT = re.compile(r"\{txt\.([A-Za-z0-9_]+)\}")
_MISSING: Any = ()


class FoundService(Struct, frozen=True):
    """A service that announces itself.

    Attributes:
        id: Stays the same as long as it announces itself by this name.
        name: By which it announces itself; anybody can take any name.
        txt: What its TXT record has under the keys that the matcher names.
    """

    id: str
    name: str
    address: str
    port: int
    matcher: ServiceMatcher
    txt: Mapping[str, str] = {}

    @property
    def at(self) -> str:
        """Its address, for people."""
        return f"{self.address}:{self.port}" if self.port else "MQTT"

    @property
    def secrets(self) -> Sequence[str]:
        """The keys whose values a person must give."""
        wanted = self.matcher.secrets_if
        return self.matcher.secrets if not wanted or wanted in self.txt else ()

    def value(self) -> dict[str, Any]:
        """Return the configuration that setting it up writes, without secrets, and without what it does not say."""
        own = {"address": self.address, "port": str(self.port), "name": self.name, "slug": slugify(self.name)}
        own |= {f"txt.{key}": each for key, each in self.txt.items()}
        filled: dict[str, Any] = {}
        for key, value in self.matcher.value.items():
            if value == "{port}":
                filled[key] = self.port
            elif not isinstance(value, str):
                filled[key] = value
            elif text := _OWN.sub(lambda found: own.get(found[1], ""), value):
                filled[key] = text
        return filled


def matchers(catalog: Mapping[str, CatalogEntry], sections: Iterable[str]) -> dict[str, ServiceMatcher]:
    """Return the services that the manifests know, by type; what can be set up comes first.

    Args:
        sections: The hub's own sections of the configuration. What goes into one that there is not cannot be set up.
    """
    known: dict[str, ServiceMatcher] = {}
    places = {*catalog, *sections}
    for entry in catalog.values():
        for each in entry.manifest.zeroconf if entry.manifest is not None else ():
            matcher = each if each.key.partition(".")[0] in places else replace(each, key="")
            if each.type not in known or not known[each.type].key:
                known[each.type] = matcher
    return known


def read_service(
    name: str,
    addresses: Iterable[str],
    port: int | None,
    matcher: ServiceMatcher,
    txt: Mapping[str, str | None] | None = None,
) -> FoundService | None:
    """Return a service as it is shown; None when it names no address of a local network.

    Args:
        name: Its full name, `Kitchen._mqtt._tcp.local.`
        txt: Its TXT record.
    """
    local = next((each for each in addresses if is_lan_address(each)), None)
    if local is None or not port:
        return None
    id = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:12]
    own = _printable(name.removesuffix(f".{matcher.type}.local."))
    named = {matcher.secrets_if, *_TXT.findall(" ".join(str(each) for each in matcher.value.values()))}
    said = {key: _printable(each or "") for key, each in (txt or {}).items() if key in named}
    return FoundService(id, own, local, port, matcher, said)


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)[:NAME_LIMIT]


def is_lan_address(address: str) -> bool:
    """Whether an address belongs to another machine in the local network, as far as it shows."""
    ip = ipaddress.ip_address(address)
    return judge(address).reach is Reach.PRIVATE and ip.is_private and not ip.is_loopback


class FoundServices:
    """The services that are there now, and those that a person ignores.

    Args:
        host: Keeps the ignored ones, and writes the configuration.
    """

    def __init__(self, host: IntegrationHost) -> None:
        self._host = host
        self._storage = host.storage(_IGNORED)
        self._found: dict[str, FoundService] = {}
        self._ignored: list[str] = []
        self._changing = asyncio.Lock()

    async def load(self) -> None:
        """Read which ones are ignored."""
        self._ignored = list(await self._storage.load([]))

    def put(self, name: str, service: FoundService | None) -> None:
        """Add, update or remove a service by its full name."""
        self._found.pop(name, None)
        if service is not None and len(self._found) < FOUND_LIMIT:
            self._found[name] = service

    def clear(self) -> None:
        """Forget everything found: the network has changed."""
        self._found = {name: each for name, each in self._found.items() if not each.port}

    def all(self) -> list[FoundService]:
        """Return the found services; a hub that also announces itself to OpenClaw's apps counts once."""
        hubs = {(each.address, each.port) for each in self._found.values() if each.matcher.type == OURS}
        shown = [
            each
            for each in self._found.values()
            if each.matcher.type != COMPATIBLE or (each.address, each.port) not in hubs
        ]
        return sorted(shown, key=lambda each: (each.matcher.name, each.name, each.id))

    def waiting(self) -> int:
        """Return how many wait for a person's word."""
        return sum(self.state(each) == "new" for each in self.all())

    def state(self, service: FoundService) -> str:
        """Return `new`, `ignored`, `configured`, or `seen`: it cannot be set up."""
        if service.id in self._ignored:
            return "ignored"
        if not service.matcher.key:
            return "seen"
        return "configured" if self._is_configured(service) else "new"

    async def ignore(self, id: str) -> None:
        """Ask no more about a service.

        Raises:
            NotFound: It is not there.
        """
        self._get(id)
        if id not in self._ignored:
            self._ignored = [*self._ignored, id][-IGNORED_LIMIT:]
            await self._storage.save(self._ignored)

    async def set_up(self, id: str, secrets: Mapping[str, str], expected: str | None = None) -> None:
        """Write a service into the configuration, as a person asked.

        Args:
            secrets: The values that its matcher asks for.
            expected: The address and port that the person saw.

        Raises:
            NotFound: It is not there.
            Conflict: It is configured already, or moved to another address since the person saw it.
            InvalidRequest: It cannot be set up, or a value is missing.
            ConfigInvalid: The configuration would not be valid with it.
        """
        async with self._changing:
            service = self._get(id)
            matcher = service.matcher
            if expected is not None and expected != service.at:
                raise Conflict(f"{service.name} is now at {service.at}; review it before you set it up")
            if not matcher.key:
                raise InvalidRequest(f"no integration sets up a {matcher.name}")
            if self._is_configured(service):
                raise Conflict(f"{matcher.key} is in the configuration already; change it there")
            if missing := [each for each in service.secrets if not secrets.get(each)]:
                raise InvalidRequest(f"{matcher.name}: {', '.join(missing)} is missing")
            keys: KeyPath = tuple(matcher.key.split("."))
            start = matcher.key.replace(".", "_") + (f"_{slugify(service.name)}" if matcher.is_list else "")
            names = {each: f"{start}_{each}" for each in service.secrets}
            value: Any = {**service.value(), **{each: Tagged("!secret", name) for each, name in names.items()}}
            given = {name: secrets[each] for each, name in names.items()}
            if matcher.is_list:
                there = self._configured(matcher)
                if there and not isinstance(there, list):
                    raise InvalidRequest(f"{matcher.key} is one device; write it as a list, then more can be added")
                keys, value = ((*keys, len(there)), value) if there else (keys, [value])
            await self._host.configure(keys, value, given)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the found services as plain data."""
        return [
            {
                "id": each.id,
                "kind": each.matcher.name,
                "type": each.matcher.type,
                "name": each.name,
                "address": each.address,
                "port": each.port,
                "at": each.at,
                "state": self.state(each),
                "key": each.matcher.key,
                "value": each.value(),
                "secrets": list(each.secrets),
            }
            for each in self.all()
        ]

    def _get(self, id: str) -> FoundService:
        for each in self._found.values():
            if each.id == id:
                return each
        raise NotFound(f"nothing with the id {id} is in the local network now; see homarus discover")

    def _is_configured(self, service: FoundService) -> bool:
        found = self._configured(service.matcher)
        if not service.matcher.is_list:
            return found is not _MISSING
        items = found if isinstance(found, list) else [found]
        return any(_is_same(each, service) for each in items if isinstance(each, Mapping))

    def _configured(self, matcher: ServiceMatcher) -> Any:
        """Return what is configured where a service goes; `_MISSING` without its key."""
        found: Any = self._host.config.raw
        for key in matcher.key.split("."):
            if not isinstance(found, Mapping) or key not in found:
                return _MISSING
            found = found[key]
        return found


def _is_same(item: Mapping[str, Any], service: FoundService) -> bool:
    """Whether an item of a list is the found device, by its hardware address or else by where it is."""
    value = service.value()
    mac, found = item.get("mac"), value.get("mac")
    if mac and found:
        return _hex(mac) == _hex(found)
    where = [key for key, each in service.matcher.value.items() if "{address}" in str(each) or "{port}" in str(each)]
    return any(key in item for key in where) and all(item.get(key, value[key]) == value[key] for key in where)


def _hex(mac: Any) -> str:
    return str(mac).replace(":", "").replace("-", "").lower()
