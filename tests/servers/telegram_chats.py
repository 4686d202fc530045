"""The chats of a Bot API server: what people say in them, what the bot does to them, and what they show."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from tests.servers.telegram_html import ENTITIES_LIMIT, CannotParse, parse, units

Json = dict[str, Any]

TEXT_LIMIT, CAPTION_LIMIT, DATA_LIMIT_BYTES = 4_096, 1_024, 64
FILE_LIMIT_BYTES = 20_000_000
MEDIA = ("photo", "document", "voice", "audio", "video", "sticker")
EMOJIS = frozenset("👍👎❤🔥🎉🤔👀😁👏🙏👌💯")
FIRST_MESSAGE = 100
TOPIC_NAME_LIMIT = 128
NOTICE_LIMIT = 200
_SIZE = {"width": 1, "height": 1}
_DETAILS: dict[str, Json] = {
    "photo": _SIZE,
    "video": _SIZE | {"duration": 1},
    "audio": {"duration": 1},
    "voice": {"duration": 1},
    "sticker": _SIZE | {"type": "regular", "is_animated": False, "is_video": False},
}


class ApiError(Exception):
    """An answer that is not ok."""

    def __init__(self, status: int, description: str, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__(description)
        self.status, self.description, self.parameters = status, description, parameters


_GIFTS = dict.fromkeys(
    ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), True
)


def bad(description: str) -> ApiError:
    """Return a refusal."""
    return ApiError(400, f"Bad Request: {description}")


class TelegramChats:
    """All chats of one bot.

    Args:
        bot: The bot as a user.
        update: Queues an update of a kind for the bot.
    """

    def __init__(self, bot: Json, update: Callable[[str, Json], Json]) -> None:
        self.bot = bot
        self._update = update
        self.joins_groups = True
        self.reads_groups = False
        self.membership: dict[int, Json] = {}
        """What `getChatMember` says of the bot, by the number of a group."""
        self._ids: defaultdict[int, count[int]] = defaultdict(lambda: count(FIRST_MESSAGE))
        self.messages: dict[int, dict[int, Json]] = defaultdict(dict)
        """By chat and id; what was deleted is not there."""
        self.reactions: dict[tuple[int, int], list[Json]] = {}
        self.actions: list[tuple[int, str]] = []
        self.drafts: list[tuple[int, int, str]] = []
        self.answered: list[str] = []
        self.notices: list[str] = []
        """The notices to those who pressed a button."""
        self.commands: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.topics: dict[int, set[int]] = defaultdict(set)
        self.closed: set[tuple[int, int]] = set()
        """Topics, by chat and topic."""
        self.forums: dict[int, bool] = {}
        """Groups with topics, and whether the bot may manage them."""
        self.migrated: dict[int, int] = {}
        self.blocked: set[int] = set()
        self.titles: dict[int, str] = {}
        """Of groups that were renamed."""
        self.posted = asyncio.Event()
        """Set whenever the bot writes."""
        self._number = count(1)

    def chat(self, id: int) -> Json:
        """Return a chat as it is described."""
        if id > 0:
            return {"id": id, "type": "private", "first_name": f"Person {id}"}
        return {"id": id, "type": "supergroup", "title": self.titles.get(id, f"Group {id}")}

    def full_chat(self, given: Json) -> Json:
        """Answer `getChat`."""
        facts = {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": _GIFTS}
        return {**self.chat(int(given["chat_id"])), **facts}

    # --- what people do ---

    def says(self, text: str | None = None, *, chat: int = 7, who: int = 7, **more: Any) -> Json:
        """Somebody writes; `more` are further fields, `thread` and `reply_to` (an id) among them."""
        return self._update("message", self._written(text, chat, who, more))["message"]  # type: ignore[no-any-return]

    def edits(self, message: Json, text: str) -> None:
        """Somebody changes what they wrote."""
        changed = message | {"text": text, "edit_date": int(time.time()), "entities": self._found(text)}
        self._update("edited_message", changed)

    def reacts(self, chat: int, message_id: int, emoji: str | None, *, who: int = 7, before: str | None = None) -> None:
        """Somebody reacts to a message, in place of the reaction before."""
        both = [[] if each is None else [{"type": "emoji", "emoji": each}] for each in (before, emoji)]
        self._update(
            "message_reaction",
            {"chat": self.chat(chat), "message_id": message_id, "user": _user(who), "date": int(time.time())}
            | {"old_reaction": both[0], "new_reaction": both[1]},
        )

    def presses(self, chat: int, label: str, *, who: int = 7) -> str:
        """Somebody presses the newest button with this label; return the id of the query."""
        for message in reversed(self.messages[chat].values()):
            for row in message.get("reply_markup", {}).get("inline_keyboard", ()):
                for button in row:
                    if button["text"] == label:
                        query = {"id": str(next(self._number)), "from": _user(who), "message": message}
                        self._update("callback_query", query | {"data": button["callback_data"], "chat_instance": "1"})
                        return str(query["id"])
        raise LookupError(f"no button {label!r} in chat {chat}")

    def votes(self, poll_id: str, *options: int, who: int = 7) -> None:
        """Somebody votes."""
        self._update(
            "poll_answer",
            {
                "poll_id": poll_id,
                "user": _user(who),
                "option_ids": list(options),
                "option_persistent_ids": [str(each) for each in options],
            },
        )

    def bot_joins(self, chat: int, status: str = "member", before: str = "left", *, who: int = 7) -> None:
        """Somebody adds the bot to a group, or removes it."""
        both = [{"status": each, "user": self.bot} for each in (before, status)]
        facts = {"chat": self.chat(chat), "from": _user(who), "date": int(time.time())}
        self._update("my_chat_member", facts | {"old_chat_member": both[0], "new_chat_member": both[1]})

    def member(self, given: Json) -> Json:
        """Answer `getChatMember`."""
        found = self.membership.get(int(given["chat_id"]))
        if found is None:
            raise ApiError(400, "Bad Request: chat not found")
        return {"user": self.bot, **found}

    def file(self, content: bytes, **fields: Any) -> Json:
        """Somebody's upload: the description of a file that the bot can get."""
        file_id = f"file-{next(self._number)}"
        self.files[file_id] = content
        return {"file_id": file_id, "file_unique_id": file_id, "file_size": len(content), **fields}

    def shown(self, chat: int, thread: int | None = None) -> list[str]:
        """Return the texts that a chat, or one topic of it, shows of the bot."""
        found = list(self.messages.get(chat, {}).values())  # at once: the bot may write in another thread
        mine = [each for each in found if each.get("from", {}).get("id") == self.bot["id"]]
        return [_text_of(each) for each in mine if thread is None or each.get("message_thread_id") == thread]

    # --- what the bot does; each takes the parameters of the method ---

    def send_message(self, given: Json) -> Json:
        """sendMessage."""
        preview = {"link_preview_options": json.loads(given.get("link_preview_options", "null"))}
        return self._post(given, self._text(given, "text", TEXT_LIMIT) | preview)

    def send_media(self, kind: str, given: Json) -> Json:
        """Every method that sends one file."""
        content = given.get(kind)
        if not isinstance(content, bytes) or not content:
            raise bad("file must be non-empty")
        file: Any = self.file(content, **_DETAILS.get(kind, {}))
        if kind == "photo":
            file = [file]
        return self._post(given, {kind: file} | self._text(given, "caption", CAPTION_LIMIT, needed=False))

    def send_poll(self, given: Json) -> Json:
        """sendPoll."""
        options = [each if isinstance(each, str) else each["text"] for each in json.loads(given["options"])]
        if not 1 <= len(options) <= 12 or not 1 <= len(given["question"]) <= 300 or any(len(o) > 100 for o in options):
            raise bad("poll must have from 1 to 12 options of at most 100 characters")
        poll = {"id": f"poll-{next(self._number)}", "question": given["question"], "total_voter_count": 0}
        poll |= {"options": [{"text": each, "voter_count": 0, "persistent_id": "1"} for each in options]}
        flags = {
            "is_closed": False,
            "is_anonymous": given.get("is_anonymous") != "false",
            "type": "regular",
            "members_only": False,
        }
        multiple = given.get("allows_multiple_answers") == "true"
        return self._post(
            given, {"poll": {**poll, **flags, "allows_multiple_answers": multiple, "allows_revoting": True}}
        )

    def create_topic(self, given: Json) -> Json:
        """createForumTopic."""
        chat, name = self._chat_of(given), given.get("name", "").strip()[:TOPIC_NAME_LIMIT]
        if chat not in self.forums:
            raise bad("the chat is not a forum")
        if not self.forums[chat]:
            raise bad("not enough rights to create a topic")
        if not name:
            raise bad("title must be non-empty")
        made = {"name": name, "icon_color": 7322096}
        opened = self._post({"chat_id": chat}, {"forum_topic_created": made})
        topic = opened["message_id"]
        opened |= {"message_thread_id": topic, "is_topic_message": True}
        self.topics[chat].add(topic)
        return {"message_thread_id": topic, **made}

    def edit(self, given: Json) -> Json:
        """editMessageText and editMessageCaption."""
        message = self._mine(given, "edit")
        field, limit = ("text", TEXT_LIMIT) if "text" in given else ("caption", CAPTION_LIMIT)
        if field == "text" and "text" not in message:
            raise bad("there is no text in the message to edit")
        changed = self._text(given, field, limit)
        if all(message.get(name) == value for name, value in changed.items()):
            raise bad(
                "message is not modified: specified new message content and reply markup are exactly the same as a "
                "current content and reply markup of the message"
            )
        message.update(changed | {"edit_date": int(time.time())})
        return message

    def delete(self, given: Json) -> bool:
        """deleteMessage."""
        self._mine(given, "delete")
        del self.messages[int(given["chat_id"])][int(given["message_id"])]
        return True

    def react(self, given: Json) -> bool:
        """setMessageReaction."""
        chat, id = self._chat_of(given), int(given["message_id"])
        if id not in self.messages[chat]:
            raise bad("message to react not found")
        wanted = json.loads(given.get("reaction") or "[]")
        if any(each.get("emoji") not in EMOJIS for each in wanted):
            raise bad("REACTION_INVALID")
        self.reactions[chat, id] = wanted
        return True

    def act(self, given: Json) -> bool:
        """sendChatAction."""
        self.actions.append((self._chat_of(given), given["action"]))
        return True

    def answer_query(self, given: Json) -> bool:
        """answerCallbackQuery."""
        if len(given.get("text", "")) > NOTICE_LIMIT:
            raise bad("MESSAGE_TOO_LONG")
        self.answered.append(given["callback_query_id"])
        self.notices += [given["text"]] if given.get("text") else []
        return True

    def set_commands(self, given: Json) -> bool:
        """setMyCommands."""
        self.commands = json.loads(given["commands"])
        return True

    def draft(self, given: Json) -> bool:
        """sendMessageDraft."""
        chat = self._chat_of(given)
        if chat < 0:
            raise bad("drafts are for private chats only")
        if int(given["draft_id"]) == 0:
            raise bad("draft_id must be non-zero")
        self.drafts.append((chat, int(given["draft_id"]), self._text(given, "text", TEXT_LIMIT)["text"]))
        return True

    def _post(self, given: Json, content: Json) -> Json:
        chat = self._chat_of(given)
        message: Json = {
            "message_id": next(self._ids[chat]),
            "from": self.bot,
            "chat": self.chat(chat),
            "date": int(time.time()),
        }
        if (thread := given.get("message_thread_id")) is not None:
            if int(thread) not in self.topics[chat]:
                raise bad("message thread not found")
            if (chat, int(thread)) in self.closed and not self.forums.get(chat):
                raise bad("TOPIC_CLOSED")
            message |= {"message_thread_id": int(thread), "is_topic_message": True}
        if (reply := json.loads(given.get("reply_parameters") or "{}")) and "message_id" in reply:
            target = self.messages[chat].get(reply["message_id"])
            if target is not None:
                message["reply_to_message"] = {k: v for k, v in target.items() if k != "reply_to_message"}
            elif not reply.get("allow_sending_without_reply"):
                raise bad("message to be replied not found")
        if keyboard := json.loads(given.get("reply_markup") or "{}"):
            _check_keyboard(keyboard)
            message["reply_markup"] = keyboard
        message |= content
        self.messages[chat][message["message_id"]] = message
        self.posted.set()
        return message

    def _chat_of(self, given: Json) -> int:
        chat = int(given["chat_id"])
        if chat in self.migrated:
            new = {"migrate_to_chat_id": self.migrated[chat]}
            raise ApiError(400, "Bad Request: group chat was upgraded to a supergroup chat", new)
        if chat in self.blocked:
            raise ApiError(403, "Forbidden: bot was blocked by the user")
        if chat not in self.messages:
            raise bad("chat not found")
        return chat

    def _mine(self, given: Json, what: str) -> Json:
        message = self.messages[self._chat_of(given)].get(int(given["message_id"]))
        if message is None:
            raise bad(f"message to {what} not found")
        if message["from"]["id"] != self.bot["id"]:
            raise bad(f"message can't be {what}ed")
        return message

    def _text(self, given: Json, field: str, limit: int, *, needed: bool = True) -> Json:
        text = given.get(field) or ""
        entities: list[Json] = []
        if given.get("parse_mode") == "HTML":
            try:
                text, entities = parse(text)
            except CannotParse as error:
                raise bad(f"can't parse entities: {error}") from error
        text = text.strip()
        if not text:
            if needed:
                raise bad("message text is empty")
            return {}
        if units(text) > limit:
            raise bad("message is too long" if field == "text" else "message caption is too long")
        return {field: text, ("entities" if field == "text" else "caption_entities"): entities[:ENTITIES_LIMIT]}

    def _written(self, text: str | None, chat: int, who: int, more: Json) -> Json:
        message: Json = {"message_id": next(self._ids[chat]), "date": int(time.time()), "chat": self.chat(chat)}
        if "sender_chat" not in more or chat == more["sender_chat"]["id"]:
            message["from"] = _user(who)
        if text is not None:
            field = "caption" if any(each in more for each in MEDIA) else "text"
            message |= {field: text, ("entities" if field == "text" else "caption_entities"): self._found(text)}
        if (thread := more.pop("thread", None)) is not None:
            self.topics[chat].add(thread)
            message |= {"message_thread_id": thread, "is_topic_message": True}
            if thread in self.messages[chat]:  # what opened the topic is in the reply of each message that is none
                message["reply_to_message"] = self.messages[chat][thread]
        if (reply := more.pop("reply_to", None)) is not None:
            message["reply_to_message"] = {
                k: v for k, v in self.messages[chat][reply].items() if k != "reply_to_message"
            }
        message |= more
        self.messages[chat][message["message_id"]] = message
        return message

    def _found(self, text: str) -> list[Json]:
        """Return the entities that clients find in plain text."""
        return [
            {
                "type": "mention" if found[0].startswith("@") else "bot_command",
                "offset": units(text[: found.start()]),
                "length": units(found[0]),
            }
            for found in re.finditer(r"(?<!\S)(?:@\w+|/\w+(?:@\w+)?)", text)
        ]


def _check_keyboard(keyboard: Json) -> None:
    buttons = [button for row in keyboard["inline_keyboard"] for button in row]
    if any(not 1 <= len(button["callback_data"].encode()) <= DATA_LIMIT_BYTES for button in buttons):
        raise bad("BUTTON_DATA_INVALID")
    if len(buttons) > 100 or any(len(row) > 8 for row in keyboard["inline_keyboard"]):
        raise bad("reply markup is too long")


def _user(id: int) -> Json:
    return {"id": id, "is_bot": False, "first_name": f"Person {id}", "username": f"person{id}"}


def _text_of(message: Json) -> str:
    if "poll" in message:
        return str(message["poll"]["question"])
    return str(message.get("text") or message.get("caption") or "")
