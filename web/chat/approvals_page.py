"""Approvals and questions as cards: exactly what will run, or the question, and forms to answer.

A question that was just answered keeps its place, without buttons, so that nothing moves under a finger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from msgspec.structs import asdict

from hub.core.errors import InvalidRequest
from hub.core.schema import All, In, Length, Optional, Required, Schema, secret, string
from hub.core.surfaces import HttpCall
from hub.security.people import People
from hub.tools.agent_secrets import AgentSecrets, requested_secret
from hub.tools.approval import Approval, ApprovalState
from hub.tools.approval_rights import SCOPE
from hub.tools.approvals import Approvals
from hub.tools.methods.secrets import GIVEN
from hub.tools.questions import ANSWER_LIMIT
from web.chat.asks import ShownAsk
from web.core.form import read_fields
from web.core.moments import time_left
from web.core.preferences import local_path
from web.core.render import Renderer, json_response, see_other, wants_json

_ONE = {Required("id"): All(string, Length(min=1, max=128)), Optional("back", default="/"): string}
ANSWER = Schema({**_ONE, Required("answer"): In(["once", "always", "deny"])})
QUESTION_ANSWER = Schema({**_ONE, Required("answer"): All(string, Length(min=1, max=ANSWER_LIMIT))})
SECRET_ANSWER = Schema({**_ONE, Required("value"): secret})
STAYS_MS = 600_000
DECIDED_SHOWN = 5
LOOKED_AT = 20


class ApprovalsPage:
    """The cards, and their forms.

    Args:
        approvals: The pending approvals.
        secrets: Store the input of masked fields.
        people: Returns the people of this home, one of whom may have answered.
    """

    def __init__(
        self,
        renderer: Renderer,
        approvals: Approvals,
        secrets: AgentSecrets,
        people: Callable[[], People],
        wall_time: Callable[[], float],
    ) -> None:
        self._renderer = renderer
        self._approvals = approvals
        self._secrets = secrets
        self._people = people
        self._wall_time = wall_time

    def pending(self) -> list[Approval]:
        """Return the pending approvals and questions."""
        return [*self._approvals.pending(), *self._approvals.questions()]

    async def answer(self, call: HttpCall) -> web.StreamResponse:
        """`POST /approvals/answer`: allow or deny one."""
        fields = read_fields(call, ANSWER)
        word = fields["answer"]
        ended = await self._approvals.resolve(fields["id"], word != "deny", call.context(), always=word == "always")
        return _answered(call, ended, fields)

    async def answer_question(self, call: HttpCall) -> web.StreamResponse:
        """`POST /questions/answer`: answer a question of an agent."""
        fields = read_fields(call, QUESTION_ANSWER)
        return _answered(call, await self._approvals.answer(fields["id"], fields["answer"], call.context()), fields)

    async def answer_secret(self, call: HttpCall) -> web.StreamResponse:
        """`POST /secrets/answer`: give a secret that an agent asks for."""
        fields = read_fields(call, SECRET_ANSWER)

        async def keep(question: Approval) -> None:
            if (asked := requested_secret(question)) is None:
                raise InvalidRequest(f"{question.code} asks for words, not for a secret")
            await self._secrets.keep(*asked, fields["value"])

        ended = await self._approvals.answer(fields["id"], GIVEN, call.context(), keep=keep)
        return _answered(call, ended, fields)

    async def data(self, call: HttpCall) -> list[dict[str, Any]] | None:
        """Return the data of the cards; None to those who may not answer."""
        if call.caller is None or not call.caller.authority.has(SCOPE):
            return None
        pending = self.pending()
        since = int(self._wall_time() * 1000) - STAYS_MS
        decided = [each for each in await self._approvals.latest(LOOKED_AT) if (each.decided_ms or 0) > since]
        waiting = {each.id for each in pending}
        kept = [each for each in decided if each.id not in waiting][:DECIDED_SHOWN]
        in_order = sorted([*pending, *kept], key=lambda each: (each.created_ms, each.id))
        return [asdict(self.shown(each, call.caller.authority.principal)) for each in in_order]

    async def of_session(self, key: str) -> list[ShownAsk]:
        """Return the questions to people in a conversation, oldest first."""
        return [self.shown(each) for each in await self._approvals.of_session(key)]

    def shown(self, approval: Approval, viewer: str = "") -> ShownAsk:
        """Return the card of an approval or a question.

        Args:
            viewer: The principal of the viewer, who is called "you"; empty when there are many.
        """
        waits = approval.state is ApprovalState.PENDING
        return ShownAsk.of(
            approval,
            left=time_left(approval.expires_ms / 1000 - self._wall_time()) if waits else "",
            who=self._name_of(approval.decided_by or "", viewer),
            time=self._renderer.when(approval.decided_ms),
        )

    def _name_of(self, principal: str, viewer: str) -> str:
        """Return the name of the person who answered; empty for the viewer, and for the one person of a home."""
        people = self._people()
        return "" if principal in ("", viewer) or len(people.all()) <= 1 else people.name_of(principal)


def _answered(call: HttpCall, ended: Approval, fields: Mapping[str, str]) -> web.StreamResponse:
    if wants_json(call.request):
        return json_response({"state": ended.state.value})
    return see_other(local_path(fields["back"]))
