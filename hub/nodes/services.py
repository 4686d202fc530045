"""The services `node.invoke` and `node.notify`, for automations."""

from __future__ import annotations

from collections.abc import Mapping
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


def add_node_services(services: ServiceRegistry, nodes: NodeRegistry) -> None:
    """Register the services."""

    async def invoke(call: ServiceCall) -> Mapping[str, Any]:
        data, record = call.data, _found(nodes, call.data["node"])
        authority = call.context.authority
        if matches(ADMIN_COMMANDS, data["command"]) and (authority.tainted or not authority.owner):
            raise Forbidden(phrase("only an owner may ask a node for {command}", command=data["command"][:80]))
        if data["no_wait"] and nodes.get(record.id) is None:
            return (await nodes.queue(record.id, data["command"], data["params"])).as_item()
        return await nodes.invoke(record.id, data["command"], data["params"], timeout_s=data["timeout_s"])

    async def notify(call: ServiceCall) -> None:
        record = _found(nodes, call.data["node"])
        params = {"title": call.data.get("title", "Homarus"), "body": call.data["message"]}
        if nodes.get(record.id) is None:
            await nodes.queue(record.id, NOTIFY, params)
        else:
            await nodes.invoke(record.id, NOTIFY, params)

    services.register(
        "node",
        "invoke",
        invoke,
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
    services.register(
        "node",
        "notify",
        notify,
        Schema(
            {
                Required("node"): _NAME,
                Required("message"): All(string, Length(min=1, max=4_000)),
                Optional("title"): All(string, Length(min=1, max=200)),
            }
        ),
        description="Show a notification on a phone or computer, now or when it next connects.",
        fields={
            "node": {"description": "Its name or id.", "required": True},
            "message": {"description": "The text.", "required": True},
            "title": {"description": "Above it."},
        },
    )


def _found(nodes: NodeRegistry, given: str) -> NodeRecord:
    record = nodes.records.find(given)
    if record is None:
        raise NotFound(phrase("there is no node {node}", node=given[:80]))
    return record
