"""Looks for hubs in the local network from a machine on which none runs, as a laptop with the command line alone."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct

from hub.core.errors import Unavailable
from hub.integration.manifest import ServiceMatcher
from integrations.network.discovery.found import COMPATIBLE, OURS, read_service
from integrations.network.discovery.lan import RESOLVE_LIMIT_MS, lan_addresses

LOOK_S = 3.0
HUBS_LIMIT = 50


class FoundHub(Struct, frozen=True):
    """A hub, or a gateway that speaks its protocol, as it announces itself: anybody there can claim to be one."""

    name: str
    address: str
    port: int
    tls: bool

    @property
    def url(self) -> str:
        """The address of its dashboard."""
        return f"{'https' if self.tls else 'http'}://{self.address}:{self.port}"


async def find_hubs(look_s: float = LOOK_S) -> list[FoundHub]:
    """Return the hubs that announce themselves within so many seconds; nothing is connected to.

    Raises:
        Unavailable: This machine is in no local network, or multicast DNS does not work on it.
    """
    from zeroconf import IPVersion
    from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

    addresses = lan_addresses()
    if not addresses:
        raise Unavailable("this machine has no address in a local network, so no hub can be looked for")
    try:
        zeroconf = AsyncZeroconf(interfaces=addresses, ip_version=IPVersion.V4Only)
    except OSError as error:
        raise Unavailable(f"multicast DNS does not work on this machine: {error}") from error
    names: dict[str, str] = {}

    def note(*, service_type: str, name: str, **_: Any) -> None:
        if len(names) < HUBS_LIMIT:
            names[name] = service_type

    try:
        browser = AsyncServiceBrowser(zeroconf.zeroconf, [f"{each}.local." for each in (OURS, COMPATIBLE)], [note])
        await asyncio.sleep(look_s)
        await browser.async_cancel()
        infos = [AsyncServiceInfo(kind, name) for name, kind in names.items()]
        answers = await asyncio.gather(*(each.async_request(zeroconf.zeroconf, RESOLVE_LIMIT_MS) for each in infos))
    finally:
        await zeroconf.async_close()
    found: dict[tuple[str, int], FoundHub] = {}
    for info, answered in sorted(zip(infos, answers, strict=True), key=lambda each: each[0].type, reverse=True):
        kind = info.type.removesuffix(".local.")
        read = read_service(info.name, info.parsed_addresses(IPVersion.V4Only), info.port, ServiceMatcher(kind, ""))
        if answered and read is not None:  # our own name comes last, and takes the place of the compatible one
            tls = (info.properties or {}).get(b"gatewayTls") == b"1"
            found[read.address, read.port] = FoundHub(read.name, read.address, read.port, tls)
    return sorted(found.values(), key=lambda each: (each.name, each.address, each.port))
