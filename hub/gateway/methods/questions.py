"""`question.*`: what agents ask people, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import All, AnyOf, Length, Optional, Required, Schema, boolean, string
from hub.gateway.calls.contract import Method, MethodCall
from hub.tools.approval import QUESTION, Approval, ApprovalState
from hub.tools.approval_rights import QUESTION_SCOPE
from hub.tools.approvals import Approvals
from hub.tools.questions import ANSWER_LIMIT, choices_of

OWNER = "gateway"
ONLY = "answer"
"""The id of the one question that each request has."""

_NAME = All(string, Length(min=1, max=128))
_ANSWER = All(string, Length(min=1, max=ANSWER_LIMIT))
_ONE = Schema({Required("id"): _NAME})
_RESOLVE = Schema(
    {
        Required("id", description="Its id or its short code."): _NAME,
        Optional("answer", description="A choice, its number, or other words."): _ANSWER,
        Optional("answers", description="The same in the protocol's own shape."): {
            Required("answers"): {Required(ONLY): AnyOf(_ANSWER, All([_ANSWER], Length(min=1, max=1)))}
        },
        Optional("cancel", default=False, description="Decline to answer."): boolean,
    }
)
_STATES = {
    ApprovalState.PENDING: "pending",
    ApprovalState.ANSWERED: "answered",
    ApprovalState.EXPIRED: "expired",
}


class QuestionMethods:
    """The methods about questions.

    Args:
        approvals: Has the questions.
    """

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("question.list", self._list, OWNER, Schema({}), QUESTION_SCOPE),
            Method("question.get", self._get, OWNER, _ONE, QUESTION_SCOPE),
            Method("question.resolve", self._resolve, OWNER, _RESOLVE, QUESTION_SCOPE, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {"questions": [as_question(each) for each in self._approvals.questions()]}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        found = await self._approvals.get(call.params["id"])
        if found is None or found.kind != QUESTION:
            raise NotFound(f"there is no question {call.params['id'][:80]!r}")
        return {"question": as_question(found)}

    async def _resolve(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        text = params.get("answer")
        if "answers" in params:
            given = params["answers"]["answers"][ONLY]
            text = given if isinstance(given, str) else given[0]
        if (text is None) is not params["cancel"]:
            raise InvalidRequest("give answer, or cancel: true to decline")
        ended = await self._approvals.answer(params["id"], text, call.context)
        if ended.answer is None:
            return {"status": "cancelled", "answer": None}
        return {"status": state_of(ended), "answer": ended.answer, "answers": {"answers": {ONLY: [ended.answer]}}}


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
    """Return the protocol's word for how far a question has come."""
    return _STATES.get(question.state, "cancelled")
