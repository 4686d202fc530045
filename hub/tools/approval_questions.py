"""Approval questions about tools and services: wording, details and time limit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hub.core.phrases import phrase
from hub.core.services import AskAboutService, ServiceQuestion
from hub.tools.approval import DIFF, DIFF_LIMIT, ApprovalDecision, Ask, AskOwner
from hub.tools.contract import ToolCall
from hub.tools.policy import belongs_here

CALL_TIMEOUT_S = 300.0
"""A run that waits for an answer holds its conversation's lane."""


def tool_question(call: ToolCall, reason: str, diff: str = "") -> Ask:
    """Return the approval question about a call, with the reason.

    Args:
        diff: What the call would change, if that is known.
    """
    details = {"tool": call.name, "arguments": _plain(call.arguments), "agent": call.agent_id}
    if diff:
        details[DIFF] = diff[:DIFF_LIMIT]
    return Ask(
        kind="tool",
        title=call.name,
        text=phrase("The assistant does not do this without you: {reason}.", reason=reason),
        details=details,
        context=call.context,
        session_key=call.session_key,
        run_id=call.run_id,
        timeout_s=CALL_TIMEOUT_S,
    )


def ask_about_services(ask: AskOwner) -> AskAboutService:
    """Return the function that asks the owner about a model's service call."""

    async def asked(question: ServiceQuestion) -> str | None:
        if not belongs_here(question.context.authority):
            return "only the people of this home may ask for one"
        decision = await ask(
            Ask(
                kind="service",
                title=question.service,
                text=phrase("The assistant wants to call this service, which needs your approval each time."),
                details={"service": question.service, "data": _plain(question.data)},
                context=question.context,
                session_key=question.session_key,
                run_id=question.run_id,
                timeout_s=CALL_TIMEOUT_S,
            )
        )
        return None if decision.approved else why_not(decision)

    return asked


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy as plain data; converted values (a duration, a path) become text."""
    plain: dict[str, Any] = json.loads(json.dumps(arguments, default=str))
    return plain


def why_not(decision: ApprovalDecision) -> str:
    """Return a refusal in words for the model."""
    return decision.reason or "the owner said no. Do not try it in another way; ask them what they want instead"
