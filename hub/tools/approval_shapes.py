"""Approvals and questions in the shapes of the protocol. Pure."""

from __future__ import annotations

from typing import Any

from hub.tools.approval import Approval, ApprovalState
from hub.tools.questions import choices_of

ALLOW_ONCE = "allow-once"
ALLOW_ALWAYS = "allow-always"
DENY = "deny"
ONLY = "answer"
"""The id of the one question that each request has."""
_STATUSES = {
    ApprovalState.PENDING: "pending",
    ApprovalState.APPROVED: "allowed",
    ApprovalState.DENIED: "denied",
    ApprovalState.EXPIRED: "expired",
    ApprovalState.CANCELLED: "cancelled",
}
_REASONS = {
    ApprovalState.APPROVED: "user",
    ApprovalState.DENIED: "user",
    ApprovalState.EXPIRED: "timeout",
    ApprovalState.CANCELLED: "run-aborted",
}
_STATES = {
    ApprovalState.PENDING: "pending",
    ApprovalState.ANSWERED: "answered",
    ApprovalState.EXPIRED: "expired",
}


def as_request(approval: Approval) -> dict[str, Any]:
    """Return an approval in the protocol's shape; `request.command` holds exactly what will run."""
    shown = approval.as_dict()
    return {
        "id": approval.id,
        "approvalKind": "exec",
        "request": {
            "command": shown["shown"],
            "host": approval.details.get("host") or "gateway",
            "agentId": approval.details.get("agent"),
            "sessionKey": approval.session_key,
            "ask": "always",
            "warningText": f"{approval.kind} {approval.title}: {approval.text}",
            "allowedDecisions": _allowed(approval),
        },
        "code": approval.code,
        "createdAtMs": approval.created_ms,
        "expiresAtMs": approval.expires_ms,
    }


def as_snapshot(approval: Approval) -> dict[str, Any]:
    """Return an approval in the protocol's general shape, with our additional fields."""
    shown = approval.as_dict() | {
        "urlPath": f"/approvals#{approval.id}",
        "presentation": {"kind": "exec", **presentation(approval)},
        "status": _STATUSES[approval.state],
    }
    if approval.state is ApprovalState.PENDING:
        return shown
    shown["resolvedAtMs"] = approval.decided_ms or approval.expires_ms
    shown["reason"] = _REASONS[approval.state]
    if approval.decided_by is not None:
        by = approval.decided_by
        shown["resolver"] = {"kind": "channel" if by.startswith("peer:") else "device", "id": by}
    return shown | ({"decision": decision} if (decision := decision_of(approval)) else {})


def presentation(approval: Approval) -> dict[str, Any]:
    """Return an approval's display to people, in the protocol's shape."""
    request = as_request(approval)["request"]
    return {
        "commandText": request["command"],
        "commandPreview": None,
        "warningText": request["warningText"],
        "host": request["host"],
        "nodeId": approval.details.get("nodeId"),
        "agentId": request["agentId"],
        "allowedDecisions": request["allowedDecisions"],
    }


def _allowed(approval: Approval) -> list[str]:
    return [ALLOW_ONCE, *([ALLOW_ALWAYS] if approval.may_persist else []), DENY]


def decision_of(approval: Approval) -> str | None:
    """Return the protocol's word for the outcome of an approval; None while it is pending or when nobody answered."""
    if approval.state is ApprovalState.APPROVED:
        return ALLOW_ALWAYS if approval.always else ALLOW_ONCE
    return DENY if approval.state is ApprovalState.DENIED else None


def as_question(question: Approval) -> dict[str, Any]:
    """Return a question in the protocol's shape, with its short code."""
    choices = [{"label": each} for each in choices_of(question)]
    asked = {"questionId": ONLY, "header": "", "question": question.details["question"], "options": choices}
    shown = {
        "id": question.id,
        "code": question.code,
        "status": state_of(question),
        "agentId": question.details.get("agent"),
        "sessionKey": question.session_key,
        "runId": question.run_id,
        "questions": [asked | {"multiSelect": False}],
        "createdAtMs": question.created_ms,
        "expiresAtMs": question.expires_ms,
        "resolvedBy": question.decided_by,
    }
    return {key: value for key, value in shown.items() if value is not None}


def state_of(question: Approval) -> str:
    """Return the state of a question in the protocol's terms."""
    return _STATES.get(question.state, "cancelled")
