"""The commands /approve and /deny, which decide pending approvals by their short code."""

from __future__ import annotations

from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandPlace, CommandReply, Commands
from hub.messaging.texts import say
from hub.tools.approval import ALWAYS
from hub.tools.approvals import Approvals

LISTED = 20


def add_approval_commands(commands: Commands, approvals: Approvals) -> None:
    """Add /approve and /deny; both are for owners, and without a code they list pending approvals."""
    language = commands.language

    async def approve(call: CommandCall) -> str | CommandReply:
        return await answer(call, approved=True)

    async def deny(call: CommandCall) -> str | CommandReply:
        return await answer(call, approved=False)

    async def answer(call: CommandCall, *, approved: bool) -> str | CommandReply:
        if not call.arguments:
            return waiting("approve" if approved else "deny")
        code, always = call.arguments, False
        if approved and call.rest == ALWAYS:
            code, always = call.word, True
        ended = await approvals.resolve(code, approved, call.context, always=always)
        return say("approval.approved" if approved else "approval.denied", language(), title=ended.title)

    def waiting(name: str) -> str | CommandReply:
        pending = approvals.pending()
        if not pending:
            return say("approval.nothing", language())
        lines = [f"{each.code}: {each.kind} {each.title}" for each in pending[:LISTED]]
        menu = tuple((each.code, f"/{name} {each.code}") for each in pending[:LISTED])
        return CommandReply("\n".join([say("approval.waiting", language(), count=len(pending)), *lines]), menu)

    for name, run, arguments in (("approve", approve, f"[CODE] [{ALWAYS}]"), ("deny", deny, "[CODE]")):
        commands.add(
            ChatCommand(name, run, Category.MANAGEMENT, owner_only=True, where=CommandPlace.DIRECT, arguments=arguments)
        )
