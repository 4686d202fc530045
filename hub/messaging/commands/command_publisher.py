"""Publishes the list of commands to platforms, so that they can show it to people."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict

from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner
from hub.messaging.capabilities import CanPublishCommands, ListedCommand
from hub.messaging.channels import EVENT_CHANNEL_STATUS, ChannelRegistry
from hub.messaging.commands.registry import Commands
from hub.messaging.contract import ChannelState

_log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-z0-9_]{1,32}")


class CommandPublisher:
    """Publishes the commands to each channel that can list them: once it is connected, and when they change.

    A failure is logged; the next connection tries again.

    Args:
        tasks: Owner of the publishing tasks.
    """

    def __init__(self, commands: Commands, channels: ChannelRegistry, bus: EventBus, tasks: TaskOwner) -> None:
        self._commands = commands
        self._channels = channels
        self._tasks = tasks
        self._publishing: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._unlisten = (
            bus.listen(EVENT_CHANNEL_STATUS, self._status_changed, {"state": ChannelState.CONNECTED.value}),
            commands.listen(self._changed),
        )

    def close(self) -> None:
        """Stop publishing."""
        for unlisten in self._unlisten:
            unlisten()

    def published(self) -> list[ListedCommand]:
        """Return the commands as published."""
        language = self._commands.language()
        return [
            ListedCommand(
                command.name,
                command.about(language),
                command.choices,
                free=bool(command.arguments or command.accepted or not command.choices),
            )
            for command in self._commands.all()
            if command.listed and _NAME.fullmatch(command.name)
        ]

    def _status_changed(self, event: Event) -> None:
        self._publish(event.data["channel"], event.data["account"])

    def _changed(self) -> None:
        for each in self._channels.all():
            if each.status.state is ChannelState.CONNECTED:
                self._publish(each.channel.name, each.channel.account)

    def _publish(self, name: str, account: str) -> None:
        attached = self._channels.get(name, account)
        if attached is None or not isinstance(attached.channel, CanPublishCommands) or self._tasks.closed:
            return
        self._tasks.spawn(self._publish_now((name, account), attached.channel), name=f"publish commands to {name}")

    async def _publish_now(self, key: tuple[str, str], channel: CanPublishCommands) -> None:
        async with self._publishing[key]:  # one after the other, so that the newest list is the last
            try:
                await channel.publish_commands(self.published())
            except Exception as error:  # whatever a platform's library raises: messages go on without the list
                _log.warning("%s (%s) did not take the list of commands: %s", *key, error)
