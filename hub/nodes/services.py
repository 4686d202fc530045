"""The services of nodes, for automations: `node.invoke`, `node.notify`, and notifications in Home Assistant's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import Forbidden, NotFound
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Range, Required, Schema, boolean, number, string
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.core.slugs import slugify
from hub.nodes.commands import ADMIN_COMMANDS, matches
from hub.nodes.records import NodeRecord
from hub.nodes.registry import INVOKE_LIMIT_S, NodeRegistry
from hub.nodes.sensors import NodeSensors

NOTIFY = "system.notify"
_NAME = All(string, Length(min=1, max=128))
_NOTICE = {
    Required("message"): All(string, Length(min=1, max=4_000)),
    Optional("title"): All(string, Length(min=1, max=200)),
}
_LIKE_HOME_ASSISTANT = {**_NOTICE, Optional("data", description="Accepted for blueprints; not used."): object}
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
        sensors: Knows the devices that nodes are.
    """

    def __init__(self, services: ServiceRegistry, nodes: NodeRegistry, sensors: NodeSensors) -> None:
        self._services, self._nodes, self._sensors = services, nodes, sensors
        self._own: dict[str, tuple[str, Unsubscribe]] = {}
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
        device = {"device_id": {"description": "The device.", "required": True}, **_FIELDS}
        schema = Schema({Required("device_id"): _NAME, **_LIKE_HOME_ASSISTANT})
        services.register("mobile_app", "notify", self._notify_device, schema, description=_SHOW, fields=device)

    def follow(self, record: NodeRecord) -> None:
        """Register a service for a node that shows notifications: `notify.mobile_app_<name>`."""
        name = f"mobile_app_{slugify(record.title)[:80]}"
        if record.id in self._own and self._own[record.id][0] == name:
            return
        self.forget(record.id)
        if NOTIFY not in record.commands or self._services.get("notify", name) is not None:
            return

        async def notify(call: ServiceCall) -> None:
            await self._show(record, call.data)

        schema = Schema(_LIKE_HOME_ASSISTANT)
        self._own[record.id] = name, self._services.register("notify", name, notify, schema, description=_SHOW)

    def forget(self, node_id: str) -> None:
        """Remove the service of a node."""
        if node_id in self._own:
            self._own.pop(node_id)[1]()

    async def _invoke(self, call: ServiceCall) -> Mapping[str, Any]:
        data, record = call.data, self._found(call.data["node"])
        authority = call.context.authority
        if matches(ADMIN_COMMANDS, data["command"]) and (authority.tainted or not authority.owner):
            raise Forbidden(phrase("only an owner may ask a node for {command}", command=data["command"][:80]))
        if data["no_wait"] and self._nodes.get(record.id) is None:
            return (await self._nodes.queue(record.id, data["command"], data["params"])).as_item()
        return await self._nodes.invoke(record.id, data["command"], data["params"], timeout_s=data["timeout_s"])

    async def _notify(self, call: ServiceCall) -> None:
        await self._show(self._found(call.data["node"]), call.data)

    async def _notify_device(self, call: ServiceCall) -> None:
        await self._show(self._found(self._sensors.node_of(call.data["device_id"])), call.data)

    async def _show(self, record: NodeRecord, data: Mapping[str, Any]) -> None:
        params = {"title": data.get("title", "Homarus"), "body": data["message"]}
        if self._nodes.get(record.id) is None:
            await self._nodes.queue(record.id, NOTIFY, params)
        else:
            await self._nodes.invoke(record.id, NOTIFY, params)

    def _found(self, given: str) -> NodeRecord:
        record = self._nodes.records.find(given)
        if record is None:
            raise NotFound(phrase("there is no node {node}", node=given[:80]))
        return record
