"""The services `hub.check|reload|restart|stop`, `persistent_notification.*` and `logbook.log`: the hub itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from hub.core.context import Context
from hub.core.events import EventBus, Unsubscribe
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.repairs import Repair, RepairFix, Repairs, Severity
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.entities.helpers.table import RELOADED

SOURCE = "persistent_notification"
EVENT_NOTICE = "persistent_notification"
"""A notice was added or removed: `update_type`, and `notification`."""
EVENT_LOGGED = "logbook_entry"
NOTICES_LIMIT = 100

_ID = All(string, Length(min=1, max=128))


class HubControl(Struct, frozen=True):
    """The functions of the hub that these services call.

    Attributes:
        check: Returns the errors of the configuration files as they are now.
        reload: Reloads and applies the configuration; returns the result.
        restart, stop: Asks for it; returns at once.
    """

    check: Callable[[], Awaitable[list[dict[str, Any]]]]
    reload: Callable[[], Awaitable[Mapping[str, Any]]]
    restart: Callable[[], None]
    stop: Callable[[], None]


def register_hub(services: ServiceRegistry, control: HubControl) -> Unsubscribe:
    """Register the services `hub.*`, and return a function that removes them."""

    async def check(call: ServiceCall) -> Mapping[str, Any]:
        errors = await control.check()
        return {"valid": not errors, "errors": errors}

    async def reload(call: ServiceCall) -> Mapping[str, Any]:
        return await control.reload()

    async def restart(call: ServiceCall) -> None:
        control.restart()

    async def stop(call: ServiceCall) -> None:
        control.stop()

    optional, told = ResponseMode.OPTIONAL, "Reload the configuration"
    removers = [
        services.register("hub", "check", check, None, optional, description="Check the configuration files"),
        services.register("hub", "reload", reload, None, optional, description="Reload the configuration"),
        services.register("hub", "restart", restart, description="Restart the hub"),
        services.register("hub", "stop", stop, description="Stop the hub"),
        *(services.register(domain, "reload", reload, None, optional, description=told) for domain in RELOADED),
    ]
    return _all(removers)


def register_notices(services: ServiceRegistry, repairs: Repairs, bus: EventBus) -> Unsubscribe:
    """Register `persistent_notification.create|dismiss|dismiss_all`: notices among the repairs of the dashboard.

    Returns:
        A function that removes them.
    """

    def tell(update: str, notices: Iterable[Repair], context: Context) -> None:
        for each in notices:
            created = datetime.fromtimestamp(each.raised_at, UTC)
            notice = {"notification_id": each.id, "title": each.title, "message": each.text, "created_at": created}
            bus.fire(EVENT_NOTICE, {"update_type": update, "notification": notice}, context)

    async def create(call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        id = data.get("notification_id") or new_id()
        known = [each for each in repairs.all() if each.source == SOURCE]
        if len(known) >= NOTICES_LIMIT and all(each.id != id for each in known):
            repairs.clear(SOURCE, min(known, key=lambda each: each.raised_at).id)
        title = data.get("title") or data["message"].partition("\n")[0][:200]
        dismissal = {"service": "persistent_notification.dismiss", "data": {"notification_id": id}}
        fix = RepairFix("service.call", dismissal, phrase("Dismiss"))
        raised = repairs.raise_(SOURCE, id, title, data["message"], severity=Severity.WARNING, fix=fix)
        tell("added", [raised], call.context)
        return {"notification_id": id}

    async def dismiss(call: ServiceCall) -> None:
        if (known := repairs.get(SOURCE, call.data["notification_id"])) is not None:
            repairs.clear(SOURCE, known.id)
            tell("removed", [known], call.context)

    async def dismiss_all(call: ServiceCall) -> None:
        known = [each for each in repairs.all() if each.source == SOURCE]
        repairs.clear(SOURCE)
        tell("removed", known, call.context)

    notice = Schema(
        {
            Required("message", description="Text of the notice."): All(string, Length(min=1, max=10_000)),
            Optional("title", description="Title."): All(string, Length(min=1, max=200)),
            Optional("notification_id", description="A notice with the same id replaces the earlier one."): _ID,
        }
    )
    named = Schema({Required("notification_id", description="Its id."): _ID})
    domain = SOURCE
    removers = [
        services.register(
            domain, "create", create, notice, ResponseMode.OPTIONAL, description="Show a notice on the dashboard"
        ),
        services.register(domain, "dismiss", dismiss, named, description="Dismiss a notice"),
        services.register(domain, "dismiss_all", dismiss_all, description="Dismiss all notices"),
    ]
    return _all(removers)


def register_logbook(services: ServiceRegistry, bus: EventBus) -> Unsubscribe:
    """Register `logbook.log`, which adds a row to the timeline, and return a function that removes it."""

    async def log(call: ServiceCall) -> None:
        bus.fire(EVENT_LOGGED, dict(call.data), call.context)

    entry = Schema(
        {
            Required("name", description="Who or what."): All(string, Length(min=1, max=200)),
            Required("message", description="What happened."): All(string, Length(min=1, max=1_000)),
            Optional("entity_id", description="The entity that it is about."): All(string, Length(max=200)),
            Optional("domain", description="What it belongs to."): All(string, Length(max=64)),
        }
    )
    return services.register("logbook", "log", log, entry, description="Add a row to the timeline")


def _all(removers: list[Unsubscribe]) -> Unsubscribe:
    def remove() -> None:
        for each in removers:
            each()

    return remove
