"""The services about automations: trigger, turn_on, turn_off, toggle, reload."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.automation.definition.values import variables
from hub.automation.engine.automations import SECTION, Automations
from hub.core.schema import Described, Invalid, Optional, Required, Schema, as_list, boolean, show
from hub.core.services import Handler, ResponseMode, ServiceCall, ServiceRegistry

NAMES_LIMIT = 100


def _names(value: Any) -> list[str]:
    found = [each.strip() for each in value.split(",")] if isinstance(value, str) else as_list(value)
    if not found or len(found) > NAMES_LIMIT or not all(isinstance(each, str) and each for each in found):
        raise Invalid(f"expected the entity id, id or name of an automation, or several, got {show(value)}")
    return list(found)


_WHICH = {
    Required("entity_id", description="Automations by entity id, id or name."): Described(
        _names, {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, "automations"
    )
}


def register_automation_services(
    services: ServiceRegistry, automations: Automations, reload: Callable[[], Awaitable[None]]
) -> Callable[[], None]:
    """Register them; a model can call none of them.

    Args:
        reload: reads files and expands blueprints again.

    Returns:
        A function that removes them.
    """

    def named(call: ServiceCall) -> list[str]:
        names: list[str] = call.data["entity_id"]
        if names == ["all"]:
            return [each.id for each in automations.all() if each.state != "unavailable"]
        return [] if names == ["none"] else names

    async def trigger(call: ServiceCall) -> Mapping[str, Any]:
        runs = []
        for name in named(call):
            begun = await automations.trigger(
                name, call.data["variables"], call.context, skip_conditions=call.data["skip_condition"]
            )
            runs.append({"automation": name, "run_id": begun.run_id, "reason": begun.not_run, "text": begun.text})
        return {"runs": runs}

    async def turn_on(call: ServiceCall) -> None:
        for name in named(call):
            await automations.get(name).turn_on()

    async def turn_off(call: ServiceCall) -> None:
        for name in named(call):
            await automations.get(name).turn_off(stop_runs=call.data["stop_actions"])

    async def toggle(call: ServiceCall) -> None:
        for name in named(call):
            automation = automations.get(name)
            await (automation.turn_off() if automation.is_on else automation.turn_on())

    async def reload_all(call: ServiceCall) -> None:
        await reload()

    stop = Optional("stop_actions", default=True, description="Whether running automations are stopped.")
    skip = Optional("skip_condition", default=True, description="Whether to run even if the conditions are not met.")
    over = Optional("variables", default=dict, description="Variables of this run.")
    table: list[tuple[str, Handler, Mapping[Any, Any], str]] = [
        ("trigger", trigger, {**_WHICH, skip: boolean, over: variables}, "Run automations now."),
        ("turn_on", turn_on, _WHICH, "Enable automations; a pause ends."),
        ("turn_off", turn_off, {**_WHICH, stop: boolean}, "Disable automations."),
        ("toggle", toggle, _WHICH, "Toggle automations."),
        ("reload", reload_all, {}, "Reload automations, scripts and blueprints."),
    ]
    removers = [
        services.register(
            SECTION,
            name,
            handler,
            Schema(dict(schema)),
            ResponseMode.OPTIONAL if name == "trigger" else ResponseMode.NONE,
            description=description,
        )
        for name, handler, schema, description in table
    ]

    removers.append(services.register("script", "reload", reload_all, description="Reload scripts and blueprints."))

    def remove() -> None:
        for each in removers:
            each()

    return remove
