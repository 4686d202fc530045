"""Conversations with clients of the gateway: the methods of chat, and the events of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hub.core.component import Component
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.gateway.connection.server import Gateway
from hub.gateway.push.events import RunEvents
from hub.gateway.push.schedule_events import ScheduleEvents
from hub.messaging.channels import ChannelRegistry
from hub.messaging.inbox.inbox import Inbox
from hub.sessions.component import SessionMethodsComponent


class ChatComponent(Component):
    """Takes messages of clients, and tells clients of the runs that answer."""

    name = "chat"

    def __init__(
        self, gateway: Gateway, *, sessions: SessionMethodsComponent, inbox: Inbox, channels: ChannelRegistry
    ) -> None:
        self._gateway = gateway
        self._sessions, self._inbox, self._channels = sessions, inbox, channels
        self._events = RunEvents(gateway.bus, gateway.broadcast, gateway.clock)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that begins to tell clients of runs."""
        return [Stage("events of runs", self._open)]

    def methods(self) -> MethodGroups:
        """Return the methods of chat."""
        return {"chat": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.messaging.methods.chat import ChatMethods
        from hub.messaging.methods.chat_views import ChatViews

        keys, store = self._sessions.sessions, self._sessions.store
        chat = ChatMethods(
            keys=keys,
            sessions=store,
            inbox=self._inbox,
            events=self._events,
            clock=self._gateway.clock,
            channels=self._channels,
        )
        return [*chat.methods(), *ChatViews(keys, store, self._sessions.rows, self._gateway.methods).methods()]

    async def _open(self) -> None:
        gateway = self._gateway
        self._events.start()
        ScheduleEvents(gateway.bus, gateway.broadcast, gateway.clock, self._events.chat_final)
