"""A hub with ESPHome devices, whose pauses are short."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.context import SYSTEM, Context
from tests.hub_fixture import HubFixture
from tests.servers.esphome_device import EsphomeDouble

KEY = "QRTIErOb/fcE9Ukd/5qA3RGYMn0Y+p06U58SCtOXvPc="
OTHER_KEY = "uwILJSSjv1QXG0vbzOCpkB5vQOBVFv6AHNrlLxDTWkI="


class QuickClock(Clock):
    """Waits a hundredth of what is asked."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)


@asynccontextmanager
async def home(folder: Path, *devices: Mapping[str, Any], **further: Any) -> AsyncIterator[HubFixture]:
    """Run a hub with such items of `esphome:`."""
    hub = HubFixture(
        folder / "home",
        further.pop("base_url", "http://127.0.0.1:9/v1"),
        sections={"esphome": list(devices), **further.pop("sections", {})},
        integrations=("esphome", *further.pop("integrations", ("openai_compatible",))),
        clock=further.pop("clock", QuickClock()),
        **further,
    )
    async with hub:
        yield hub


def at(device: EsphomeDouble, **more: Any) -> dict[str, Any]:
    """Return the configuration of a device."""
    return {"host": "127.0.0.1", "port": device.port, **more}


def shows(hub: HubFixture, entity_id: str, state: str, **attributes: Any) -> bool:
    """Whether an entity is in a state, with such attributes among its own."""
    now = hub.states.get(entity_id)
    return now is not None and now.state == state and attributes.items() <= now.attributes.items()


def problem(hub: HubFixture) -> str:
    """Return what the repairs say of the devices."""
    return " ".join(str(each.text) for each in hub.repairs.all() if each.source.startswith("esphome"))


async def call(hub: HubFixture, service: str, entity_id: str, **data: Any) -> None:
    """Call a service as the home does."""
    domain, _, name = service.partition(".")
    await hub.services.call(domain, name, {"entity_id": entity_id, **data}, context=Context(SYSTEM))
