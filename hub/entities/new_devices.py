"""New devices, which agents may use once a person has accepted them."""

from __future__ import annotations

import asyncio

from hub.core.events import Event, EventBus
from hub.core.phrases import phrase
from hub.core.repairs import RepairFix, Repairs, Severity
from hub.core.tasks import TaskOwner
from hub.entities.entries import DeviceEntry
from hub.entities.registry import HomeRegistry

TOLD_AFTER_S = 0.5
"""Devices that announce themselves within this time share one notification."""
NAMES_SHOWN = 10
_REPAIR = ("entities", "new")


def new_ones(registry: HomeRegistry) -> dict[str, str]:
    """Return the entries that agents may not use yet: names of devices, and of entities without one, by id."""
    found: dict[str, str] = {}
    for entry in registry.entities.values():
        if entry.is_new:
            device = registry.devices.get(entry.device_id or "")
            found.setdefault(*(device.id, device.shown_name) if device else (entry.entity_id, registry.name_of(entry)))
    return found


def accept(registry: HomeRegistry, id: str) -> str:
    """Let agents use a new device, or a new entity without one; return its name.

    Raises:
        NotFound: It does not exist.
    """
    if id in registry.entities:
        return registry.name_of(registry.update("entity", id, new=False))
    device: DeviceEntry = registry.require("device", id)
    for entry in [each for each in registry.entities.values() if each.device_id == id and each.new]:
        registry.update("entity", entry.entity_id, new=False)
    return device.shown_name


def watch_new_devices(registry: HomeRegistry, bus: EventBus, repairs: Repairs, tasks: TaskOwner) -> None:
    """Keep a repair open for the devices that agents may not use yet."""
    telling: set[asyncio.Task[None]] = set()

    async def tell() -> None:
        await asyncio.sleep(TOLD_AFTER_S)
        telling.clear()
        names = list(new_ones(registry).values())
        if not names:
            repairs.clear(*_REPAIR)
            return
        repairs.raise_(
            *_REPAIR,
            phrase("Devices announced themselves"),
            phrase(
                "{names}: the assistant can use them once you say on the page Devices that they are yours. "
                "Automations and people can use them now.",
                names=[*names[:NAMES_SHOWN], *(["…"] if len(names) > NAMES_SHOWN else [])],
            ),
            severity=Severity.WARNING,
            command="homarus entities accept --all",
            fix=RepairFix("entities.accept", {}, phrase("They are mine")),
        )

    def look(_: Event | None = None) -> None:
        if not telling:
            telling.add(tasks.spawn(tell(), name="tell of new devices"))

    for kind in ("device", "entity"):
        bus.listen(f"{kind}_registry_updated", look)
    look()
