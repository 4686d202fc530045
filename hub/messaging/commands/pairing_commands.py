"""The command with which an owner lets strangers in from chat: /pair."""

from __future__ import annotations

from hub.messaging.access.pairing import Pairings
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandPlace, Commands
from hub.messaging.texts import say

LISTED = 20


def add_pairing_command(commands: Commands, pairings: Pairings) -> None:
    """Add /pair: alone it lists requests; with a channel and a code it approves, denies or revokes."""
    language = commands.language

    async def pair(call: CommandCall) -> str:
        match call.arguments.split():
            case []:
                return await waiting()
            case ["deny", channel, code]:
                entry = await pairings.deny(channel, code, call.context)
                return say("pair.denied", language(), identity=entry.identity)
            case ["revoke", channel, identity]:
                await pairings.revoke(channel, identity, call.context)
                return say("pair.revoked", language(), identity=identity)
            case [channel, code] | ["approve", channel, code]:
                entry = await pairings.approve(channel, code, call.context)
                return say("pair.approved", language(), identity=entry.identity)
        return say("pair.usage", language())

    async def waiting() -> str:
        found = (await pairings.entries())[:LISTED]
        if not found:
            return say("pair.nothing", language())
        lines = [" ".join(filter(None, [f"{each.channel}: {each.identity}", each.name])) for each in found]
        return "\n".join([say("pair.waiting", language()), *lines, say("pair.usage", language())])

    commands.add(
        ChatCommand(
            "pair", pair, Category.MANAGEMENT, owner_only=True, where=CommandPlace.DIRECT, arguments="[CHANNEL CODE]"
        )
    )
