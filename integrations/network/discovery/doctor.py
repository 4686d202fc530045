"""Check that there is no second hub in the local network."""

from __future__ import annotations

from collections.abc import Iterator

from hub.core.container import has_own_network
from hub.core.errors import HubError
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, warning

_HUB = "_homarus._tcp"


def _second_hub(context: CheckContext) -> Iterator[Finding]:
    if context.running is None or (context.config.get("discovery") or {}).get("mdns") == "off":
        return
    try:
        found = context.ask("discovery.list")["found"]
    except HubError:  # the check of the integrations says why it does not work
        return
    for each in found:
        if each["type"] == _HUB and each["state"] != "ignored":
            yield warning(
                f"Another hub, {each['name']}, announces itself in this network. Two hubs with the same accounts take "
                "each other's messages.",
                f"{each['address']}:{each['port']}",
                context.command(f"discover --ignore {each['id']}"),
            )


def _own_network(context: CheckContext) -> Iterator[Finding]:
    if (context.config.get("discovery") or {}).get("mdns") != "off" and has_own_network():
        yield warning(
            "The hub runs in a container with a network of its own: it finds nothing in the home, and nobody finds it. "
            "Give the container the network of its machine (`network_mode: host`), or switch discovery off.",
            "docs/container.md",
            "homarus config set discovery.mdns off",
        )


CHECKS = {
    "own_network": Check("own_network", "The network of the home", _own_network),
    "second_hub": Check("second_hub", "Other hubs in the network", _second_hub),
}
