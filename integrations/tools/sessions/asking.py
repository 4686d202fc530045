"""The tool that asks the person of a conversation: ask_user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.taint.authorship import provenance_of
from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import InvalidRequest
from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, string
from hub.sessions.store import SessionStore
from hub.tools.approval import ApprovalDecision, ApprovalState, AskOwner
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from hub.tools.questions import question_ask

GROUP = "session"
QUESTION_CHARS = 500
CHOICE_CHARS = 100
TIMEOUT_S = 300
TIMEOUT_LIMIT_S = 3_600
ASKS = Annotations(read_only=True, destructive=False, idempotent=True, open_world=False, owner_only=False, egress=False)

_QUESTION = {
    Required("question"): All(string, Length(min=1, max=QUESTION_CHARS)),
    Optional("choices", default=list, description="What can be chosen; other words are an answer too."): All(
        [All(string, Length(min=1, max=CHOICE_CHARS))], Length(max=8)
    ),
}
_ASK = Schema(
    {
        Required("questions"): All([_QUESTION], Length(min=1, max=3)),
        Optional("timeout", default=TIMEOUT_S, description="Seconds to wait for all answers."): All(
            integer, Range(min=10, max=TIMEOUT_LIMIT_S)
        ),
    }
)
_OUTCOMES = {ApprovalState.EXPIRED: "timeout", ApprovalState.DENIED: "declined"}


class QuestionTool:
    """Asks, one question after the other.

    Args:
        ask: Puts a question to people and waits for the answer.
        sessions: Know whose conversation it is.
        clock: Time for all answers together.
    """

    def __init__(self, ask: AskOwner, sessions: SessionStore, clock: Clock) -> None:
        self._ask = ask
        self._sessions = sessions
        self._clock = clock

    def all(self) -> list[Tool]:
        """Return the tool."""
        return [
            Tool(
                "ask_user",
                "Ask the person you talk with 1 to 3 questions and wait for the answers. Only when you cannot go on "
                "without them; a question at the end of your answer needs no tool. After a timeout go on with what is "
                "safe to assume, or end by asking.",
                from_schema(_ASK),
                self._run,
                GROUP,
                ASKS,
                approval=_never,
                timeout_s=TIMEOUT_LIMIT_S + 60.0,
            )
        ]

    async def _run(self, call: ToolCall) -> ToolResult:
        session = self._sessions.get(call.session_key)
        if session is None:
            raise InvalidRequest("questions need a stored conversation: ask in your answer")
        ends = self._clock.monotonic() + call.arguments["timeout"]
        answers: list[dict[str, Any]] = []
        trusted, status = True, "answered"
        for each in call.arguments["questions"]:
            left_s = ends - self._clock.monotonic()
            decision = await self._one(call, each, left_s) if left_s > 0 else None
            if decision is None or decision.answer is None:
                state = ApprovalState.EXPIRED if decision is None else decision.state
                status = _OUTCOMES.get(state, "cancelled")
                break
            by = decision.answered_by
            trusted = trusted and by is not None and provenance_of(by, call.session_key, session.person).trusted
            chose = decision.answer in each["choices"]
            answers.append({"question": each["question"], "answer": decision.answer, "is_choice": chose})
        return ToolResult.of({"status": status, "answers": answers}, trusted=trusted)

    async def _one(self, call: ToolCall, question: dict[str, Any], left_s: float) -> ApprovalDecision:
        return await self._ask(question_ask(call, question["question"], question["choices"], left_s))


def _never(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Ask for no approval: a question says no more than an answer would, and to the same person."""
    return None
