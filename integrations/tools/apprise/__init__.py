"""Apprise: the tool `notify` and the service `apprise.send`, for notifications through the services that Apprise knows.

Their destinations are configured by the owner; a model or an automation chooses among those names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.context import Authority
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.services import ServiceCall
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.apprise.sending import LEVELS, Notification, Notifier

if TYPE_CHECKING:
    from hub.host import IntegrationHost

NOTIFIES = Annotations(destructive=False, open_world=False, owner_only=False, egress=True)
TITLE_CHARS = 250
TEXT_CHARS = 10_000


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Register the tool and the service."""
    notifier = Notifier(config["targets"], config["timeout"])
    names = tuple(sorted(config["targets"]))
    schema = Schema(
        {
            Required("target", description="The place."): In(names),
            Required("text"): All(string, Length(min=1, max=TEXT_CHARS)),
            Optional("title", default=""): All(string, Length(max=TITLE_CHARS)),
            Optional("level", default="info"): In(LEVELS),
        }
    )

    async def run(call: ToolCall) -> ToolResult:
        await notifier.send(Notification(**call.arguments))
        return ToolResult(f"sent to {call.arguments['target']}")

    async def serve(call: ServiceCall) -> None:
        await notifier.send(Notification(**call.data))

    host.tools.add(
        Tool(
            "notify",
            "Send a notification to a place that the owner configured, beside your answer.",
            from_schema(schema),
            run,
            "message",
            NOTIFIES,
            approval=why_ask,
            timeout_s=config["timeout"] + 30,
        )
    )
    host.services.register("send", serve, schema, description="Send a notification")


def why_ask(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why the owner has to approve a notification: it leaves the conversation on somebody else's word."""
    if authority.owner and not authority.tainted:
        return None
    return phrase(
        "it sends a notification to {target}, which the owner did not ask for", target=str(arguments.get("target"))
    )
