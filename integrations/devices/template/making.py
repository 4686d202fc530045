"""Makes the entities of a configuration, and forgets those that it has no more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.config.paths import KeyPath
from hub.core.services import ServiceCall
from integrations.devices.template.block import TriggeredBlock
from integrations.devices.template.delayed import TemplateBinarySensor
from integrations.devices.template.entity import TemplateEntity
from integrations.devices.template.home import TemplateHome
from integrations.devices.template.image import TemplateImage
from integrations.devices.template.schema import DOMAIN, PLATFORMS, numbered, object_id, written
from integrations.devices.template.table import KINDS

if TYPE_CHECKING:
    from hub.host import IntegrationHost

_CLASSES: Mapping[str, type[TemplateEntity]] = {"binary_sensor": TemplateBinarySensor, "image": TemplateImage}


async def make(host: IntegrationHost) -> None:
    """Make all entities; each begins with what is remembered of it."""
    home = TemplateHome(host)
    await home.open()
    home.is_starting = True
    seen: set[str] = set()
    entities: list[TemplateEntity] = []
    blocks: list[TriggeredBlock] = []
    with host.automation.kinds.in_use():
        found = await asyncio.to_thread(lambda: [*written(host.config)])  # blueprints are read
    for keys, block in found:
        made = [*_of_block(home, block, keys, seen)]
        entities += made
        if "triggers" in block:
            blocks.append(TriggeredBlock(home, block, keys, made))
    for entity in entities:
        host.on_unload(entity.close)
        entity.start()
    for triggered in blocks:
        triggered.arm()
    _forget_gone(home, seen)

    async def reload(call: ServiceCall) -> None:
        await host.services.call("hub", "reload", {}, context=call.context)

    host.services.register("reload", reload, description="Read the files of template entities again")
    host.spawn(_begin_to_tell(home, entities), name="begin to tell errors")


def _of_block(home: TemplateHome, block: Mapping[str, Any], keys: KeyPath, seen: set[str]) -> Iterator[TemplateEntity]:
    prefix = f"{block['unique_id']}-" if "unique_id" in block else ""
    triggered = "triggers" in block
    for domain, kind in KINDS.items():
        for index, settings in enumerate(block.get(domain, ())):
            wanted = object_id(kind, settings)
            place: KeyPath = (*keys, domain, index) if keys[0] == DOMAIN else (*keys, kind.legacy, wanted)
            variables = settings.get("variables") or {}
            if not triggered:
                variables = {**(block.get("variables") or {}), **variables}
            make = _CLASSES.get(domain, TemplateEntity)
            yield make(
                home,
                kind,
                {**settings, "variables": variables},
                numbered(f"{domain}.{prefix}{settings.get('unique_id', wanted)}", seen),
                place,
                triggered=triggered,
            )


def _forget_gone(home: TemplateHome, seen: set[str]) -> None:
    """Forget entities that the configuration has no more, unless a part of it is broken."""
    host = home.host
    if any(host.config.broken_items.get(each) for each in (DOMAIN, *PLATFORMS)):
        return
    home.forget_others(seen)
    for entry in list(host.entities.registry.entities.values()):
        if entry.source == DOMAIN and entry.unique_id not in seen:
            host.entities.registry.remove("entity", entry.entity_id)


async def _begin_to_tell(home: TemplateHome, entities: Sequence[TemplateEntity]) -> None:
    """Log what still does not work once the hub has started."""
    await home.host.started()
    home.is_starting = False
    for entity in entities:
        entity.tell_early()
