"""The command about who may write beside the people of this home: /allowlist."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.config.store import ConfigStore, ReloadResult
from hub.core.errors import InvalidRequest, NotFound
from hub.messaging.access.pairing import Pairings
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandPlace, Commands
from hub.messaging.contract import Address
from hub.messaging.texts import say

KEY = "allow_from"


class AllowlistCommand:
    """Lists and changes `allow_from` of the accounts of channels; who is paired is listed too, and can be removed.

    Args:
        reload: Reads the configuration again and puts it into force.
    """

    def __init__(
        self,
        language: Callable[[], str],
        config: ConfigStore,
        channels: ChannelRegistry,
        pairings: Pairings,
        reload: Callable[[], Awaitable[ReloadResult]],
    ) -> None:
        self._language = language
        self._config = config
        self._channels = channels
        self._pairings = pairings
        self._reload = reload

    async def run(self, call: CommandCall) -> str:
        """Answer the command."""
        if call.word in ("", "list"):
            return self._listed()
        identity = call.rest.strip()
        channel = identity.partition(":")[0]
        accounts = [each.channel.account for each in self._channels.all() if each.channel.name == channel]
        here = call.message.address
        account = here.account if here.channel == channel else next(iter(accounts), "")
        if len([part for part in identity.split(":", 2) if part]) != 3 or account not in accounts:
            raise InvalidRequest(say("allowlist.identity", self._language()))
        keys, stated = self._stated(channel, account)
        if call.word == "add":
            wanted = list(dict.fromkeys([*stated, identity]))
        elif identity in stated:
            wanted = [each for each in stated if each != identity]
        else:
            await self._pairings.revoke(channel, identity, call.context)
            return say("allowlist.removed", self._language(), identity=identity)
        await asyncio.to_thread(self._config.editor.set_value, (*keys, KEY), wanted)
        await self._reload()
        return say(
            "allowlist.added" if call.word == "add" else "allowlist.removed", self._language(), identity=identity
        )

    def _listed(self) -> str:
        lines = []
        for each in self._channels.all():
            name, account = each.channel.name, each.channel.account
            paired = self._pairings.paired(Address(name, "", account, account_id=each.status.account_id))
            if may := sorted(each.access.allow_from | paired):
                lines.append(f"- {name} ({account}): {', '.join(may)}")
        language = self._language()
        return "\n".join([say("allowlist.title", language), *lines]) if lines else say("allowlist.empty", language)

    def _stated(self, channel: str, account: str) -> tuple[tuple[str | int, ...], list[str]]:
        """Return where an account is written, and whom it states."""
        raw: Any = self._config.current.raw.get(channel)
        if isinstance(raw, Mapping):
            return (channel,), _texts(raw.get(KEY))
        for index, each in enumerate(raw if isinstance(raw, list) else []):
            if isinstance(each, Mapping) and each.get("account", "default") == account:
                return (channel, index), _texts(each.get(KEY))
        raise NotFound(say("allowlist.unwritten", self._language(), channel=channel, account=account))


def _texts(stated: Any) -> list[str]:
    return [str(each) for each in stated] if isinstance(stated, list) else [str(stated)] if stated else []


def add_allowlist_command(
    commands: Commands,
    config: ConfigStore,
    channels: ChannelRegistry,
    pairings: Pairings,
    reload: Callable[[], Awaitable[ReloadResult]],
) -> None:
    """Add /allowlist, which is an owner's."""
    command = AllowlistCommand(commands.language, config, channels, pairings, reload)
    commands.add(
        ChatCommand(
            "allowlist",
            command.run,
            Category.MANAGEMENT,
            owner_only=True,
            where=CommandPlace.DIRECT,
            arguments="[list|add IDENTITY|remove IDENTITY]",
            choices=("list", "add", "remove"),
        )
    )
