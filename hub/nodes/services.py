"""The services of nodes, for automations: `node.invoke` and `node.notify`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.core.errors import Forbidden, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Range, Required, Schema, boolean, number, string
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.nodes.commands import ADMIN_COMMANDS, matches
from hub.nodes.records import NodeRecord
from hub.nodes.registry import INVOKE_LIMIT_S, NodeRegistry

NOTIFY = "system.notify"
_NAME = All(string, Length(min=1, max=128))
NOTICE = {
    Required("message", description="The text."): All(string, Length(min=1, max=4_000)),
    Optional("title", description="Above it."): All(string, Length(max=200)),
    Optional("data", default=dict, description="Buttons, picture, tag and so on, as for Home Assistant's apps."): dict,
}
NOTICE_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "message": {"description": "The text.", "required": True},
    "title": {"description": "Above it."},
    "data": {"description": "Buttons, picture, tag and so on, as Home Assistant's apps take them."},
}
SHOW = "Show a notification on a phone."
_NOTICE = {
    Required("message"): All(string, Length(min=1, max=4_000)),
    Optional("title"): All(string, Length(min=1, max=200)),
}
_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "message": {"description": "The text.", "required": True},
    "title": {"description": "Above it."},
}
_SHOW = "Show a notification on a phone or computer, now or when it next connects."


class NodeServices:
    """The services.

    Args:
        services: Registers the services.
        nodes: The nodes.
        notify_phone: Shows a notification on the phone that is a device.
    """

    def __init__(
        self,
        services: ServiceRegistry,
        nodes: NodeRegistry,
        notify_phone: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        self._nodes, self._notify_phone = nodes, notify_phone
        services.register(
            "node",
            "invoke",
            self._invoke,
            Schema(
                {
                    Required("node"): _NAME,
                    Required("command"): _NAME,
                    Optional("params", default=dict): {string: object},
                    Optional("timeout_s", default=INVOKE_LIMIT_S): All(number, Range(min=1, max=600)),
                    Optional("no_wait", default=False): boolean,
                }
            ),
            ResponseMode.OPTIONAL,
            description="Ask a phone or computer to do something.",
            fields={
                "node": {"description": "Its name or id.", "required": True},
                "command": {"description": "Such as location.get.", "required": True},
                "params": {"description": "What the command takes."},
                "timeout_s": {"description": "Seconds to wait.", "default": INVOKE_LIMIT_S},
                "no_wait": {"description": "Have it done later if it is away.", "default": False},
            },
            open_world=True,
        )
        node = {"node": {"description": "Its name or id.", "required": True}, **_FIELDS}
        schema = Schema({Required("node"): _NAME, **_NOTICE})
        services.register("node", "notify", self._notify, schema, description=_SHOW, fields=node)
        schema = Schema({Required("device_id"): _NAME, **NOTICE})
        fields = {"device_id": {"description": "The device.", "required": True}, **NOTICE_FIELDS}
        services.register("mobile_app", "notify", self._notify_device, schema, description=SHOW, fields=fields)

    async def show(self, record: NodeRecord, params: Mapping[str, Any]) -> None:
        """Show a notification on a node, now or when it next connects."""
        if self._nodes.get(record.id) is None:
            await self._nodes.queue(record.id, NOTIFY, params)
        else:
            await self._nodes.invoke(record.id, NOTIFY, params)

    async def _invoke(self, call: ServiceCall) -> Mapping[str, Any]:
        data, record = call.data, self._found(call.data["node"])
        authority = call.context.authority
        if matches(ADMIN_COMMANDS, data["command"]) and (authority.tainted or not authority.owner):
            raise Forbidden(phrase("only an owner may ask a node for {command}", command=data["command"][:80]))
        if data["no_wait"] and self._nodes.get(record.id) is None:
            return (await self._nodes.queue(record.id, data["command"], data["params"])).as_item()
        return await self._nodes.invoke(record.id, data["command"], data["params"], timeout_s=data["timeout_s"])

    async def _notify(self, call: ServiceCall) -> None:
        params = {"title": call.data.get("title", "Homarus"), "body": call.data["message"]}
        await self.show(self._found(call.data["node"]), params)

    async def _notify_device(self, call: ServiceCall) -> None:
        await self._notify_phone(call.data)

    def _found(self, given: str) -> NodeRecord:
        record = self._nodes.records.find(given)
        if record is None:
            raise NotFound(phrase("there is no node {node}", node=given[:80]))
        return record
