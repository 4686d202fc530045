"""The commands that answer what waits for the owner's word: /approve and /deny, with the short code."""

from __future__ import annotations

from collections.abc import Callable

from hub.messaging.commands import ChatCommand, CommandCall, Commands
from hub.messaging.texts import say
from hub.tools.approvals import Approvals

LISTED = 20


def add_approval_commands(commands: Commands, approvals: Approvals, language: Callable[[], str]) -> None:
    """Add /approve and /deny; both are an owner's, and without a code they list what waits."""

    async def approve(call: CommandCall) -> str:
        return await answer(call, approved=True)

    async def deny(call: CommandCall) -> str:
        return await answer(call, approved=False)

    async def answer(call: CommandCall, *, approved: bool) -> str:
        if not call.arguments:
            return waiting()
        ended = await approvals.resolve(call.arguments, approved, call.context)
        return say("approval.approved" if approved else "approval.denied", language(), title=ended.title)

    def waiting() -> str:
        pending = approvals.pending()
        if not pending:
            return say("approval.nothing", language())
        lines = [f"{each.code}: {each.kind} {each.title}" for each in pending[:LISTED]]
        return "\n".join([say("approval.waiting", language(), count=len(pending)), *lines])

    commands.add(ChatCommand("approve", approve, owner_only=True))
    commands.add(ChatCommand("deny", deny, owner_only=True))
