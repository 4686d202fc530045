"""What comes from Feishu, over the long connection or the webhook: told to the hub before it is acknowledged."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.errors import HubError
from hub.messaging.contract import ButtonPressed, DeliveryState, Inbound, Quote, Receiver
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.feishu.api import FeishuApi
from integrations.channels.feishu.events import (
    FeishuRoom,
    FeishuScene,
    command_of,
    members_of,
    message_of,
    person_of,
    pressed_of,
    reaction_of,
    recalled_of,
    room_of,
    text_of,
)
from integrations.channels.http_api import PlatformError
from integrations.channels.persistent_map import PersistentMap

_log = logging.getLogger(__name__)

LOOK_UP_LIMIT_S = 2.0
"""Feishu waits three seconds for an answer."""
CHATS_KEPT = 2_000
REMEMBERED = 2_000
SENT_REMEMBERED = 1_000


class SentMessage(Struct, frozen=True):
    """A message of the bot's.

    Attributes:
        chat: Its chat.
        has_buttons: Whether its card has more than a text.
    """

    chat: str
    has_buttons: bool


class FeishuIntake:
    """Takes the events of one app.

    Attributes:
        me: The bot's own id, once Feishu said it.
        sent: The latest messages of the bot, by their ids.
    """

    def __init__(self, api: FeishuApi, receive: Receiver, account: str) -> None:
        self._api = api
        self._receive = receive
        self._account = account
        self.me = ""
        self.sent: dict[str, SentMessage] = {}
        self._people = PersistentMap(receive, "chats", CHATS_KEPT, str)
        """With whom chats are."""
        self._rooms: dict[str, FeishuRoom] = {}
        self._names: dict[str, str | None] = {}

    async def load(self) -> None:
        """Read what earlier runs learned; call it once the account is known."""
        await self._people.load()

    def beat(self) -> None:
        """Note that the connection lives."""
        self._receive.progress()

    async def note_sent(self, id: str, message: SentMessage, person: str | None) -> None:
        """Remember a message of the bot's, and with whom its chat is."""
        _keep(self.sent, id, message, SENT_REMEMBERED)
        if person is not None:
            await self._note_person(message.chat, person)

    async def _note_person(self, chat: str, person: str) -> None:
        if chat and self._people.get(chat) != person:
            try:
                await self._people.put(chat, person)
            except HubError as error:
                _log.warning("feishu: with whom a chat is, is not kept: %s", error)

    async def take(self, data: bytes) -> dict[str, Any] | None:
        """Take an event; when this returns it is stored, or of no interest.

        Returns:
            What to answer whoever pressed a button.

        Raises:
            HubError: It is not stored; Feishu must deliver it again.
        """
        said: list[Inbound] = []
        with skip_if_malformed("feishu: an event"):
            whole = json.loads(data)
            header = whole["header"]
            self._receive.progress()
            said += await self._read(header["event_type"], header["event_id"], whole["event"])
        for inbound in said:
            receipt = await offer(self._receive, inbound)
            if receipt is not None and receipt.notice and isinstance(inbound, ButtonPressed):
                return {"toast": {"type": "info", "content": receipt.notice}}
        return None

    async def _read(self, kind: str, id: str, event: Mapping[str, Any]) -> list[Inbound]:
        match kind:
            case "im.message.receive_v1":
                return await self._message(event)
            case "im.message.recalled_v1":
                return [recalled_of(event, id, await self._scene(event["chat_id"]))]
            case "im.message.reaction.created_v1" | "im.message.reaction.deleted_v1":
                if event.get("operator_type") == "app":
                    return []
                chat = await self._chat_of(event["message_id"])
                scene = await self._scene(chat, person_of(event["user_id"]))
                return [reaction_of(event, id, scene, added=kind.endswith("created_v1"))]
            case "card.action.trigger":
                scene = await self._scene(event["context"]["open_chat_id"], person_of(event["operator"]))
                return [pressed_of(event, id, scene)]
            case "im.chat.member.user.added_v1" | "im.chat.member.user.deleted_v1":
                scene = await self._scene(event["chat_id"])
                return [*members_of(event, id, scene, joined=kind.endswith("added_v1"))]
            case "application.bot.menu_v6":
                return [command_of(event, id, self._account)]
            case "im.chat.updated_v1" | "im.chat.disbanded_v1":
                self._rooms.pop(event["chat_id"], None)
        return []

    async def _message(self, event: Mapping[str, Any]) -> list[Inbound]:
        room = room_of(event)
        inbound = message_of(event, FeishuScene(room, self._account, self.me, self.sent))
        if inbound is None:
            return []
        if not self._receive.admits(inbound):
            return [inbound]
        if room.person is not None:
            await self._note_person(room.id, room.person)
        else:
            inbound = replace(inbound, group_name=(await self._room(room.id)).name)
        name = await self._name(event["sender"]["sender_id"])
        quoted = await self._quote(inbound.reply_to) if inbound.reply_to else None
        return [replace(inbound, sender_name=name, quoted=quoted)]

    async def _scene(self, chat: str, person: str | None = None) -> FeishuScene:
        room = await self._room(chat)
        if room.person == "":  # a direct chat that is not known yet
            room = replace(room, person=person)
        return FeishuScene(room, self._account, self.me)

    async def _room(self, chat: str) -> FeishuRoom:
        """Return a chat; without its name where the app may not read it."""
        if person := self._people.get(chat):
            return FeishuRoom(chat, person)
        if chat not in self._rooms:
            data = await self._asked(f"im/v1/chats/{chat}")
            if data is None:
                return FeishuRoom(chat)
            person = "" if data.get("chat_mode") == "p2p" else None
            _keep(self._rooms, chat, FeishuRoom(chat, person, data.get("name") or None), REMEMBERED)
        return self._rooms[chat]

    async def _chat_of(self, message: str) -> str:
        if message in self.sent:
            return self.sent[message].chat
        items = (await self._api.call("GET", f"im/v1/messages/{message}", limit_s=LOOK_UP_LIMIT_S))["data"]["items"]
        return str(items[0]["chat_id"])

    async def _name(self, ids: Mapping[str, Any]) -> str | None:
        """Return the name of somebody, where the app may read it."""
        person = person_of(ids)
        if person not in self._names:
            kind = "union_id" if ids.get("union_id") else "open_id"
            data = await self._asked(f"contact/v3/users/{person}", params={"user_id_type": kind})
            if data is None:
                return None
            _keep(self._names, person, (data.get("user") or {}).get("name") or None, REMEMBERED)
        return self._names[person]

    async def _quote(self, message: str) -> Quote | None:
        for item in (await self._asked(f"im/v1/messages/{message}") or {}).get("items") or ():
            try:
                text = text_of(item["msg_type"], json.loads(item["body"]["content"]), item.get("mentions") or ())
            except (LookupError, TypeError, ValueError, AttributeError):
                return None
            return Quote(text) if text else None
        return None

    async def _asked(self, path: str, **request: Any) -> Mapping[str, Any] | None:
        """Return what an answer holds, nothing where the app may not ask, and None when it failed for now.

        A message is not kept waiting for what it can do without.
        """
        try:
            data = (await self._api.call("GET", path, limit_s=LOOK_UP_LIMIT_S, **request)).get("data")
        except PlatformError as error:
            _log.info("feishu: %s was not answered: %s", path, error)
            return {} if error.state is DeliveryState.PERMANENT else None
        return data if isinstance(data, Mapping) else {}


def _keep(table: dict[str, Any], key: str, value: Any, limit: int) -> None:
    table[key] = value
    if len(table) > limit:
        del table[next(iter(table))]
