"""The command about who may write beside the people of this home: /allowlist."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from hub.config.store import ConfigStore, ReloadResult
from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import as_list
from hub.messaging.access.pairing import Pairings
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandPlace, Commands
from hub.messaging.contract import Address
from hub.messaging.places import written_accounts
from hub.messaging.texts import say

KEY = "allow_from"


def add_allowlist_command(
    commands: Commands,
    config: ConfigStore,
    channels: ChannelRegistry,
    pairings: Pairings,
    reload: Callable[[], Awaitable[ReloadResult]],
) -> None:
    """Add /allowlist, which is an owner's: it lists and changes `allow_from`, and lists and removes who is paired.

    Args:
        reload: Reloads and applies the configuration.
    """
    language = commands.language

    async def allowlist(call: CommandCall) -> str:
        if call.word in ("", "list"):
            return listed()
        identity = call.rest.strip()
        channel = identity.partition(":")[0]
        accounts = [each.channel.account for each in channels.all() if each.channel.name == channel]
        here = call.message.address
        account = here.account if here.channel == channel else next(iter(accounts), "")
        if len([part for part in identity.split(":", 2) if part]) != 3 or account not in accounts:
            raise InvalidRequest(say("allowlist.identity", language()))
        place = written_accounts(config.current, channel).get(account)
        if place is None:
            raise NotFound(say("allowlist.unwritten", language(), channel=channel, account=account))
        keys, stated = place[0], [str(one) for one in as_list(place[1].get(KEY))]
        if call.word == "remove" and identity not in stated:
            await pairings.revoke(channel, identity, call.context)
        else:
            wanted = [each for each in stated if each != identity] + [identity] * (call.word == "add")
            await asyncio.to_thread(config.editor.set_value, (*keys, KEY), wanted)
            await reload()
        return say("allowlist.added" if call.word == "add" else "allowlist.removed", language(), identity=identity)

    def listed() -> str:
        lines = []
        for each in channels.all():
            name, account = each.channel.name, each.channel.account
            paired = pairings.identities_of(Address(name, "", account, account_id=each.status.account_id))
            if may := sorted(each.access.allow_from | paired):
                lines.append(f"- {name} ({account}): {', '.join(may)}")
        return "\n".join([say("allowlist.title", language()), *lines]) if lines else say("allowlist.empty", language())

    commands.add(
        ChatCommand(
            "allowlist",
            allowlist,
            Category.MANAGEMENT,
            owner_only=True,
            where=CommandPlace.DIRECT,
            arguments="[list|add IDENTITY|remove IDENTITY]",
            choices=("list", "add", "remove"),
        )
    )
