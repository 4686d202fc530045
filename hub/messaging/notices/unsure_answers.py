"""Answers that may not have reached a chat: the chat gets one notice, and can have them sent again.

One notice covers all of them. One that may not have arrived either is repeated later, a few
times: else a platform that loses every acknowledgement would have the chat filled.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from hub.core.clock import Clock
from hub.core.errors import Conflict, NotFound
from hub.core.events import Event, EventBus
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.messaging.channels import EVENT_CHANNEL_STATUS
from hub.messaging.commands.command_buttons import CommandButtons
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandReply
from hub.messaging.contract import ChannelState
from hub.messaging.outbox import outbox_rows
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.outbox_rows import ChatKey, NewMessage, OutboxRow, RowSource
from hub.messaging.outbox.sending import AGE_LIMIT_S, EVENT_MESSAGE_SENT, EVENT_MESSAGE_UNKNOWN
from hub.messaging.texts import say
from hub.storage.database import Database

WAITS_S = (60.0, 600.0)
"""Before a notice that may not have arrived is said again."""
NOTICES_LIMIT = 1 + len(WAITS_S)


class UnsureAnswers:
    """Tells chats about such answers, and sends them again on request.

    Args:
        db: The hub database.
        outbox: Sends, and knows the channels.
        tasks: Owner of the telling.
        language: The language of the home.
        buttons: Makes the button to send them again.
    """

    def __init__(
        self,
        db: Database,
        outbox: Outbox,
        bus: EventBus,
        clock: Clock,
        tasks: TaskOwner,
        *,
        language: Callable[[], str],
        buttons: CommandButtons,
    ) -> None:
        self._db = db
        self._outbox = outbox
        self._clock = clock
        self._tasks = tasks
        self._language = language
        self._buttons = buttons
        self._bus = bus
        self._hears_what_is_sent = False
        self._said: dict[ChatKey, int] = {}  # notices in a row of which none is known to have arrived
        bus.listen(EVENT_MESSAGE_UNKNOWN, self._unknown)
        bus.listen(EVENT_CHANNEL_STATUS, self._connected, {"state": ChannelState.CONNECTED.value})

    def command(self) -> ChatCommand:
        """Return /resend."""
        return ChatCommand("resend", self._resend, Category.SESSION)

    def _unknown(self, event: Event) -> None:
        self._tasks.spawn(self._follow_up(event.data["outbox_id"]), name="tell of an unsure answer")

    def _sent(self, event: Event) -> None:
        """Retry an uncertain notice, after a later message has arrived."""
        chat = (event.data["channel"], event.data["account"], event.data["peer"])
        if self._said.pop(chat, None):
            self._tasks.spawn(self._tell(chat), name="tell of an unsure answer")

    def _connected(self, event: Event) -> None:
        found = self._tell_all(event.data["channel"], event.data["account"])
        self._tasks.spawn(found, name="tell of unsure answers")

    async def _follow_up(self, outbox_id: str) -> None:
        with suppress(NotFound):  # somebody dropped it
            row = await self._outbox.get(outbox_id)
            if row.source is RowSource.NOTICE:
                said = self._said.get(row.chat, 1)
                if said >= NOTICES_LIMIT:
                    return
                await self._clock.sleep(WAITS_S[said - 1])
            elif row.chat in self._said:  # the notice that is said again stands for this one too
                return
            await self._tell(row.chat)

    async def _tell_all(self, channel: str, account: str) -> None:
        chats = await self._db.read(lambda connection: outbox_rows.unsure_chats(connection, channel, account))
        for chat in chats:
            await self._tell(chat)

    async def _tell(self, chat: ChatKey) -> None:
        """Write the notice, unless the chat has one for all uncertain answers."""
        row = await self._db.read(partial(outbox_rows.unnotified_answer, chat=chat, since_ms=self._since_ms()))
        if row is not None and self._said.get(chat, 0) < NOTICES_LIMIT:
            if not self._hears_what_is_sent:  # not from the start: it is asked about every message
                self._hears_what_is_sent = True
                self._bus.listen(EVENT_MESSAGE_SENT, self._sent)
            await self._outbox.write(row.address, partial(self._insert, chat=chat))

    def _insert(self, connection: SqlConnection, chat: ChatKey) -> list[str]:
        row = outbox_rows.unnotified_answer(connection, chat, self._since_ms())
        said = self._said.get(chat, 0)
        if row is None or said >= NOTICES_LIMIT:
            return []
        # Counted with the row: a reconnection may replace it before anybody hears that it was lost.
        self._said[chat] = said + 1
        outbox_rows.drop_lost_notices(connection, chat)
        message = self._notice(row)
        return self._outbox.insert(connection, row.address, message, caused_by=row.context_id, source=RowSource.NOTICE)

    def _notice(self, row: OutboxRow) -> NewMessage:
        language = self._language()
        reply = CommandReply(say("unsure.told", language), ((say("unsure.resend", language), "/resend"),))
        return self._buttons.message(row.address, reply, plain=say("unsure.told_plain", language))

    async def _resend(self, call: CommandCall) -> str:
        """Send again what may not have arrived in this chat, as the answer to the command."""
        address = call.message.address
        chat = (address.channel, address.account, address.peer)
        rows = await self._db.read(partial(outbox_rows.unsure, chat=chat, since_ms=self._since_ms()))
        for row in rows:
            with suppress(NotFound, Conflict):  # it was pressed twice
                await self._outbox.retry(row.id)
        return "" if rows else say("unsure.nothing", self._language())

    def _since_ms(self) -> int:
        return int((self._clock.time() - AGE_LIMIT_S) * 1000)
