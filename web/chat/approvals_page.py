"""Pending approvals and questions: exactly what will run, or what is asked, and forms to answer.

A question that was just answered keeps its place, without buttons, so that nothing moves under a finger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web

from hub.core.errors import InvalidRequest
from hub.core.schema import All, In, Length, Required, Schema, secret, string
from hub.core.surfaces import HttpCall
from hub.tools.agent_secrets import AgentSecrets, asked_for
from hub.tools.approval import QUESTION, Approval, shown
from hub.tools.approval_rights import SCOPE
from hub.tools.approvals import Approvals
from hub.tools.methods.secrets import GIVEN
from hub.tools.questions import ANSWER_LIMIT, SECRET, choices_of
from web.core.form import read_fields
from web.core.live import Frame
from web.core.render import Renderer, json_response, see_other, wants_json
from web.core.texts import APPROVAL_KINDS, APPROVAL_STATES

ANSWER = Schema(
    {Required("id"): All(string, Length(min=1, max=128)), Required("answer"): In(["approve", "always", "deny"])},
)
QUESTION_ANSWER = Schema(
    {
        Required("id"): All(string, Length(min=1, max=128)),
        Required("answer"): All(string, Length(min=1, max=ANSWER_LIMIT)),
    }
)
SECRET_ANSWER = Schema({Required("id"): All(string, Length(min=1, max=128)), Required("value"): secret})
STAYS_MS = 600_000
DECIDED_SHOWN = 5
LOOKED_AT = 20


class ApprovalsPage:
    """The card of approvals and questions, and its forms.

    Args:
        approvals: Has them.
        secrets: Where what is given in a masked field is kept.
    """

    def __init__(
        self, renderer: Renderer, approvals: Approvals, secrets: AgentSecrets, wall_time: Callable[[], float]
    ) -> None:
        self._renderer = renderer
        self._approvals = approvals
        self._secrets = secrets
        self._wall_time = wall_time

    def pending(self) -> list[Approval]:
        """Return the pending approvals and questions."""
        return [*self._approvals.pending(), *self._approvals.questions()]

    async def answer(self, call: HttpCall) -> web.StreamResponse:
        """`POST /approvals/answer`: approve or deny one."""
        fields = read_fields(call, ANSWER)
        word = fields["answer"]
        ended = await self._approvals.resolve(fields["id"], word != "deny", call.context(), always=word == "always")
        return json_response({"state": ended.state.value}) if wants_json(call.request) else see_other("/")

    async def answer_question(self, call: HttpCall) -> web.StreamResponse:
        """`POST /questions/answer`: answer a question of an agent."""
        fields = read_fields(call, QUESTION_ANSWER)
        ended = await self._approvals.answer(fields["id"], fields["answer"], call.context())
        return json_response({"state": ended.state.value}) if wants_json(call.request) else see_other("/")

    async def answer_secret(self, call: HttpCall) -> web.StreamResponse:
        """`POST /secrets/answer`: give a secret that an agent asks for."""
        fields = read_fields(call, SECRET_ANSWER)

        async def keep(question: Approval) -> None:
            if (asked := asked_for(question)) is None:
                raise InvalidRequest(f"{question.code} asks for words, not for a secret")
            await self._secrets.keep(*asked, fields["value"])

        ended = await self._approvals.answer(fields["id"], GIVEN, call.context(), keep=keep)
        return json_response({"state": ended.state.value}) if wants_json(call.request) else see_other("/")

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the card."""
        html = self._renderer.fragment("approvals", language, approvals=await self._shown())
        return ({"t": "html", "id": "approvals", "html": html},)

    async def data(self, call: HttpCall) -> list[dict[str, Any]] | None:
        """Return the data of the card; None for those who may not answer."""
        if call.caller is None or not call.caller.authority.has(SCOPE):
            return None
        return await self._shown()

    async def _shown(self) -> list[dict[str, Any]]:
        pending = self.pending()
        since = int(self._wall_time() * 1000) - STAYS_MS
        decided = [each for each in await self._approvals.latest(LOOKED_AT) if (each.decided_ms or 0) > since]
        waiting = {each.id for each in pending}
        kept = [each for each in decided if each.id not in waiting][:DECIDED_SHOWN]
        return [self._one(each) for each in sorted([*pending, *kept], key=lambda each: (each.created_ms, each.id))]

    def _one(self, approval: Approval) -> dict[str, Any]:
        if approval.kind == QUESTION:
            return self._question(approval)
        return {
            "id": approval.id,
            "code": approval.code,
            "kind": APPROVAL_KINDS.get(approval.kind, APPROVAL_KINDS["other"]),
            "title": approval.title,
            "text": approval.text,
            "details": shown(approval.details),
            "may_persist": approval.may_persist,
            "state": approval.state.value,
            "state_text": APPROVAL_STATES[approval.state.value],
            "until": self._renderer.when(approval.expires_ms),
            "iso": self._renderer.iso(approval.expires_ms),
        }

    def _question(self, question: Approval) -> dict[str, Any]:
        return {
            "id": question.id,
            "code": question.code,
            "question": question.details["question"],
            "choices": choices_of(question),
            "secret": question.details.get(SECRET),
            "state": question.state.value,
            "until": self._renderer.when(question.expires_ms),
            "iso": self._renderer.iso(question.expires_ms),
        }
