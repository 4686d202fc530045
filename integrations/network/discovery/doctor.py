"""Check that there is no second hub in the local network."""

from __future__ import annotations

from collections.abc import Iterator

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


CHECKS = {"second_hub": Check("second_hub", "Other hubs in the network", _second_hub)}
