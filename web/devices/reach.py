"""Makes the hub reachable for other devices: a certificate of this home, and the `http` section."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.config.store import ConfigStore
from hub.core.container import has_own_network
from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.surfaces import HttpCall
from hub.gateway.access.hosts import is_loopback_host, lan_address
from hub.gateway.access.local_ca import CA_FILE, LEAF_FILE, LEAF_KEY_FILE, issue, own_home_names
from hub.gateway.connection.server import Gateway

ONLY_HERE = "Only this computer can reach the hub. A phone needs its address in your network, and a certificate."
NOT_ENCRYPTED = (
    "The connection is not encrypted: others in the network could listen in, and a phone’s browser then offers neither "
    "camera nor place nor notifications."
)


class Reachable(Struct, frozen=True):
    """How the hub is reached.

    Attributes:
        needs: The missing requirement, as a text; empty when there is none.
        has_authority: Whether there is a certificate that phones install.
    """

    needs: str
    has_authority: bool


class HubReach:
    """Finds how the hub is reached, and makes it reachable from the home's network.

    Args:
        home: The hub's folder.
        gateway: Knows its own address.
        config: Saves the settings.
        apply: Applies the changed files.
    """

    def __init__(self, home: Path, gateway: Gateway, config: ConfigStore, apply: Callable[[], Awaitable[Any]]) -> None:
        self._home, self._gateway, self._config, self._apply = home, gateway, config, apply

    def look(self, call: HttpCall) -> Reachable:
        """Return how the hub is reached from the viewer's address: a proxy or tunnel counts."""
        settings, host = self._gateway.settings, call.request.host
        has_authority = (self._home / "tls" / CA_FILE).is_file()
        if call.request.secure and not is_loopback_host(host):
            return Reachable("", has_authority)
        if settings.loopback:
            return Reachable(ONLY_HERE, has_authority)
        return Reachable("" if settings.tls else NOT_ENCRYPTED, has_authority)

    def here(self, call: HttpCall) -> str:
        """Return the address by which the requesting browser reaches the hub, for a device; empty when only here."""
        host = call.request.host
        return "" if is_loopback_host(host) else f"{'wss' if call.request.secure else 'ws'}://{host}"

    async def open(self) -> str:
        """Make a certificate, listen in the home's network, and apply it: the hub restarts.

        Returns:
            The new address of the dashboard.

        Raises:
            HubError: The certificate or the configuration cannot be written; nothing listens elsewhere then.
        """
        if has_own_network():
            raise InvalidRequest(
                phrase(
                    "The hub runs in a container with a network of its own, and does not know the names of its "
                    "machine. Make a certificate for one (`homarus tls --name NAME`), or put a proxy in front: "
                    "docs/container.md."
                )
            )
        folder, editor = self._home / "tls", self._config.editor

        def write() -> str:
            issue(folder, own_home_names())
            editor.set_value(("http", "tls"), {"certificate": f"tls/{LEAF_FILE}", "key": f"tls/{LEAF_KEY_FILE}"})
            editor.set_value(("http", "host"), "0.0.0.0")  # noqa: S104  that is what was asked for
            return lan_address()

        address = await asyncio.to_thread(write)
        await self._apply()
        return f"https://{address}:{self._gateway.address[1]}"
