"""`question.*`: agents' questions to people, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import All, AnyOf, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import Method, MethodCall
from hub.tools.approval import QUESTION
from hub.tools.approval_rights import QUESTION_SCOPE
from hub.tools.approval_shapes import ONLY, as_question, state_of
from hub.tools.approvals import Approvals
from hub.tools.questions import ANSWER_LIMIT

OWNER = "gateway"

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
