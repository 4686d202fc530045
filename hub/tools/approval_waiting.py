"""A pending approval, in memory."""

from __future__ import annotations

import asyncio

from hub.tools.approval import Approval, ApprovalDecision


class WaitingApproval:
    """A pending approval, with its waiters."""

    __slots__ = ("answer", "answered", "approval", "ends_monotonic_s", "timer", "waiters")

    def __init__(self, approval: Approval, ends_monotonic_s: float) -> None:
        self.approval = approval
        self.ends_monotonic_s = ends_monotonic_s
        self.answer: asyncio.Future[ApprovalDecision] = asyncio.get_running_loop().create_future()
        self.answered = False
        """Whether it was answered; from then on no one else can, even before the answer is on disk."""
        self.timer: asyncio.Task[None] | None = None
        self.waiters = 0

    def tell(self, decision: ApprovalDecision) -> None:
        """Give the waiters the outcome."""
        if self.timer is not None and self.timer is not asyncio.current_task():
            self.timer.cancel()
        if not self.answer.done():
            self.answer.set_result(decision)
