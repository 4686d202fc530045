"""`heartbeat`: an agent has checks that are due, and is not busy with a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.core.phrases import phrase
from hub.core.schema import Optional, boolean, slug


async def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    found = await asking.parts.services.call(
        "agent",
        "heartbeat_due",
        {key: config[key] for key in ("agent", "skip_unchanged") if key in config},
        context=asking.context,
        wants_response=True,
    )
    answer = found or {}
    return ConditionVerdict(bool(answer.get("due")), str(answer.get("reason", "")), {"agent": config.get("agent")})


def _explain(config: Mapping[str, Any]) -> str:
    return phrase("{agent} has something to look after", agent=config.get("agent") or phrase("the agent"))


KIND = ConditionKind(
    name="heartbeat",
    fields={
        Optional("agent", description="The agent whose HEARTBEAT.md it is; the default agent if omitted."): slug,
        Optional("skip_unchanged", default=True, description="Skip when nothing changed since the last check."): (
            boolean
        ),
    },
    explain=_explain,
    description="An agent has checks that are due or system events, and is not answering anybody.",
    check_later=_check,
)
