"""Pushes approvals and questions to clients: requested and resolved, to those who may answer."""

from __future__ import annotations

from hub.core.clock import Clock
from hub.core.events import Event, EventBus
from hub.core.surfaces import Push
from hub.gateway.push.broadcast import Broadcast
from hub.tools.approval_rights import QUESTION_SCOPE, SCOPE
from hub.tools.approval_shapes import as_question, as_request, decision_of, state_of
from hub.tools.approvals import (
    EVENT_APPROVAL_REQUESTED,
    EVENT_APPROVAL_RESOLVED,
    EVENT_QUESTION_REQUESTED,
    EVENT_QUESTION_RESOLVED,
    Approvals,
)


class ApprovalEvents:
    """Pushes pending approvals and their outcomes to clients.

    Args:
        bus: Fires its events.
        broadcast: The clients.
    """

    def __init__(self, bus: EventBus, broadcast: Broadcast, clock: Clock, approvals: Approvals) -> None:
        self._broadcast = broadcast
        self._clock = clock
        self._approvals = approvals
        self._listening = [
            bus.listen(EVENT_APPROVAL_REQUESTED, self._requested),
            bus.listen(EVENT_APPROVAL_RESOLVED, self._resolved),
            bus.listen(EVENT_QUESTION_REQUESTED, self._asked),
            bus.listen(EVENT_QUESTION_RESOLVED, self._answered),
        ]

    def close(self) -> None:
        """Stop pushing events."""
        for unsubscribe in self._listening:
            unsubscribe()
        self._listening.clear()

    async def _requested(self, event: Event) -> None:
        approval = await self._approvals.get(event.data["id"])
        if approval is not None:
            self._broadcast.push(Push("exec.approval.requested", as_request(approval), scope=SCOPE))

    async def _resolved(self, event: Event) -> None:
        approval = await self._approvals.get(event.data["id"])
        if approval is None:
            return
        payload = {
            "id": approval.id,
            "decision": decision_of(approval) or "deny",
            "state": approval.state.value,
            "resolvedBy": approval.decided_by,
            "ts": int(self._clock.time() * 1000),
        }
        self._broadcast.push(Push("exec.approval.resolved", payload, scope=SCOPE))

    async def _asked(self, event: Event) -> None:
        question = await self._approvals.get(event.data["id"])
        if question is not None:
            self._broadcast.push(Push("question.requested", as_question(question), scope=QUESTION_SCOPE))

    async def _answered(self, event: Event) -> None:
        question = await self._approvals.get(event.data["id"])
        if question is not None:
            payload = {"id": question.id, "status": state_of(question), "resolvedBy": question.decided_by}
            self._broadcast.push(Push("question.resolved", payload, scope=QUESTION_SCOPE))
