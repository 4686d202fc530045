"""Announces the hub in the local network and looks for what others announce there, by multicast DNS (RFC 6762, 6763).

Spoken by https://github.com/python-zeroconf/python-zeroconf, on the addresses of local networks only.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.core.clock import Clock
from hub.gateway.access.local_ca import fingerprint
from hub.gateway.calls.settings import HttpSettings
from hub.integration.manifest import ServiceMatcher
from integrations.network.discovery.found import COMPATIBLE, OURS, FoundServices, is_lan_address, read_service

if TYPE_CHECKING:
    from zeroconf import Zeroconf
    from zeroconf.asyncio import AsyncZeroconf

_log = logging.getLogger(__name__)

LOOK_AGAIN_S = 60.0
"""How often the addresses of this machine are looked at."""
RESOLVE_LIMIT_MS = 3_000
RESOLVERS = 4
QUEUE_LIMIT = 500
LABEL_LIMIT_BYTES = 63


def lan_addresses() -> list[str]:
    """Return this machine's IPv4 addresses in local networks."""
    import ifaddr

    found = {str(ip.ip) for each in ifaddr.get_adapters() for ip in each.ips if ip.is_IPv4}
    return sorted(each for each in found if is_lan_address(each))


def txt_record(http: HttpSettings, port: int, home_name: str | None, machine: str) -> tuple[str, dict[str, str]]:
    """Return the name under which the hub announces itself, and its TXT record, as OpenClaw's apps read it.

    The record holds no path, person or version; with TLS, the certificate's fingerprint, which apps show to a person
    before they trust it.

    Args:
        home_name: The home's name, when it may be announced.
        machine: This machine's name.
    """
    text = {"role": "gateway", "transport": "gateway", "gatewayPort": str(port), "lanHost": f"{machine}.local"}
    if home_name is not None:
        text["displayName"] = home_name
    if http.tls is not None:
        text |= {"gatewayTls": "1", "gatewayTlsSha256": fingerprint(http.tls[0])}
    name = "".join(each for each in home_name or machine if each.isprintable() and each != ".")
    return name.encode()[:LABEL_LIMIT_BYTES].decode("utf-8", "ignore").strip() or "homarus", text


class Lan:
    """The hub's place in the local network.

    Args:
        http: How the gateway is served; on loopback only, it is not announced.
        announcement: The hub's name and TXT record, and its port.
        matchers: The services to look for, by type.
        found: Receives the services.
    """

    def __init__(
        self,
        http: HttpSettings,
        announcement: tuple[str, Mapping[str, str], int],
        matchers: Mapping[str, ServiceMatcher],
        found: FoundServices,
        clock: Clock,
    ) -> None:
        self._http = http
        self._name, self._text, self._port = announcement
        self._matchers = matchers
        self._found = found
        self._clock = clock
        self._queue: asyncio.Queue[tuple[str, str]] = asyncio.Queue(QUEUE_LIMIT)

    async def run(self) -> None:
        """Announce and look around until cancelled; begin again when the machine's addresses change."""
        while True:
            addresses = lan_addresses()
            if addresses:
                await self._live_on(addresses)
            else:
                await self._clock.sleep(LOOK_AGAIN_S)

    async def _live_on(self, addresses: Sequence[str]) -> None:
        from zeroconf import IPVersion
        from zeroconf.asyncio import AsyncServiceBrowser, AsyncZeroconf

        try:
            zeroconf = AsyncZeroconf(interfaces=list(addresses), ip_version=IPVersion.V4Only)
        except OSError as error:
            _log.warning("multicast DNS does not work on this machine: %s", error)
            await self._clock.sleep(LOOK_AGAIN_S)
            return
        try:
            types = [f"{each}.local." for each in self._matchers]
            browser = AsyncServiceBrowser(zeroconf.zeroconf, types, handlers=[self._changed])
            async with asyncio.TaskGroup() as tasks:
                work = [tasks.create_task(self._resolve(zeroconf, addresses)) for _ in range(RESOLVERS)]
                work.append(tasks.create_task(self._announce(zeroconf, addresses)))
                while lan_addresses() == addresses:
                    await self._clock.sleep(LOOK_AGAIN_S)
                for each in work:
                    each.cancel()
            await browser.async_cancel()
        finally:
            self._found.clear()
            await zeroconf.async_close()

    async def _announce(self, zeroconf: AsyncZeroconf, addresses: Sequence[str]) -> None:
        from zeroconf import NonUniqueNameException
        from zeroconf.asyncio import AsyncServiceInfo

        if self._http.loopback:
            return
        served = [each for each in addresses if self._http.host in (each, "0.0.0.0", "::")]  # noqa: S104
        for type in (OURS, COMPATIBLE) if served else ():
            info = AsyncServiceInfo(
                f"{type}.local.",
                f"{self._name}.{type}.local.",
                port=self._port,
                properties=dict(self._text),
                server=f"{self._text['lanHost']}.",
                parsed_addresses=served,
            )
            try:
                await (await zeroconf.async_register_service(info, allow_name_change=True))
            except NonUniqueNameException:
                _log.warning("the hub is not announced: its name is taken in this network")

    def _changed(self, zeroconf: Zeroconf, service_type: str, name: str, state_change: Any) -> None:
        if state_change.name == "Removed":
            self._found.put(name, None)
        elif not self._queue.full():
            self._queue.put_nowait((service_type, name))

    async def _resolve(self, zeroconf: AsyncZeroconf, own: Sequence[str]) -> None:
        """Ask for the address of each service, one after the other."""
        from zeroconf import IPVersion
        from zeroconf.asyncio import AsyncServiceInfo

        while True:
            service_type, name = await self._queue.get()
            info = AsyncServiceInfo(service_type, name)
            if not await info.async_request(zeroconf.zeroconf, RESOLVE_LIMIT_MS):
                continue
            addresses = info.parsed_addresses(IPVersion.V4Only)
            matcher = self._matchers[service_type.removesuffix(".local.")]
            if matcher.type in (OURS, COMPATIBLE) and info.port == self._port and set(addresses) & set(own):
                continue  # this hub itself
            self._found.put(name, read_service(name, addresses, info.port, matcher, info.decoded_properties))


def machine_name() -> str:
    """Return this machine's name, without its domain."""
    return socket.gethostname().partition(".")[0] or "homarus"
