"""Multicast DNS: the hub announces itself in the local network, and shows people what others announce there.

Not here: connecting to what was found. That is for the integration whose configuration a person confirms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Show what is found, and announce the hub."""
    if config["mdns"] == "off":
        return
    from hub.integration.catalog import find
    from integrations.network.discovery.found import FoundServices, matchers
    from integrations.network.discovery.lan import Lan, machine_name, txt_record
    from integrations.network.discovery.page import discovery_page, methods, routes
    from integrations.network.discovery.topics import follow_topics

    found = FoundServices(host)
    await found.load()
    catalog = await asyncio.to_thread(find, host.home.path)
    known = matchers(catalog, host.config.defaults)
    port = urlsplit(host.dashboard_url).port or host.http.port
    name = str(host.config.or_default("hub")["name"]) if config["mdns"] == "full" else None
    announcement = await asyncio.to_thread(txt_record, host.http, port, name, machine_name())
    lan = Lan(host.http, (*announcement, port), known, found, host.clock)
    for method in methods(found):
        host.methods.add(method)
    for route in routes(found):
        host.routes.add(route)
    host.pages.add(discovery_page(found))
    follow_topics(host, found, catalog)
    host.spawn(lan.run(), name="multicast DNS")
