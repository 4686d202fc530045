"""Microsoft Teams for the test-kit: our Bot Connector, one for each of two bots, and their webhooks."""

from __future__ import annotations

import asyncio
import base64
import html
import re
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.msteams.channel import TeamsChannel
from integrations.channels.msteams.connector import TeamsAccount
from integrations.channels.msteams.events import CHOICE, FILE, POLL
from integrations.channels.msteams.webhook import BODY_BYTES
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Named, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.msteams_server import (
    ADA as ADAS_ID,
    ADAS_CHAT,
    APP,
    EVE as EVES_ID,
    EVES_CHAT,
    PASSWORD,
    ROOM,
    TEAM,
    TENANT,
    TeamsServer,
)

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
CHATS = {ADA: ADAS_CHAT, EVE: EVES_CHAT}
APPS = {"default": APP, "second": "0c5e7a52-7f4e-4b2e-9a65-000000000002"}
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "code": "TooManyRequests", "headers": {"Retry-After": "1"}},
    Trouble.REFUSED_FOR_NOW: {"status": 412, "code": "PreconditionFailed"},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.MARKUP_REFUSED: {"status": 400, "code": "BadSyntax"},
    Trouble.FORBIDDEN: {"status": 403, "code": "ConversationBlockedByUser"},
    Trouble.REMOVED: {"status": 403, "code": "BotNotInConversationRoster"},
}


class TeamsRig(DoubleRig[TeamsServer]):
    """Ada and Eve write in personal chats and in one channel of a team, where each post is a thread."""

    name = "msteams"
    can = frozenset(
        {
            *(Can.GROUPS, Can.THREADS, Can.EDITS, Can.MEDIA, Can.BUTTONS, Can.VOTES),
            *(Can.TWO_ACCOUNTS, Can.MALFORMED, Can.GONE),
        }
    )
    troubles = frozenset(FAULTS)
    named = frozenset({Named.LISTED})
    room_name = "Kitchen"
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.TOO_LONG})

    def __init__(self) -> None:
        super().__init__(*(TeamsServer(app) for app in APPS.values()))
        self.channels: dict[str, TeamsChannel] = {}
        self.host = WebhookHost(lambda: [each.webhook.route() for each in self.channels.values()])
        self._running: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        await super().start()
        url = await self.host.start()
        for account, server in self.servers.items():
            server.hub = f"{url}/msteams/{account}"

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await super().stop()
        await self.host.stop()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        url = self.servers[account].url
        places = f"{url}/login", f"{url}/openid", f"{url}/teams/"
        self.channels[account] = TeamsChannel(
            TeamsAccount(account, APPS[account], Secret(PASSWORD), TENANT, *places), clock
        )
        return self.channels[account]

    def section(self, account: str = "default") -> dict[str, Any]:
        url = self.servers[account].url
        places = {"login_root": f"{url}/login", "openid_url": f"{url}/openid", "service_root": f"{url}/teams/"}
        app = {"app_id": APPS[account], "app_password": PASSWORD, "tenant_id": TENANT}
        return {"account": account, **app, **places}

    def hub_at(self, url: str, home: Path) -> None:
        for account, server in self.servers.items():
            server.hub = f"{url}/msteams/{account}"

    def identity(self, who: str) -> str:
        return f"msteams:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("msteams", ROOM, chat_type=ChatType.CHANNEL, thread=thread, space=TEAM)
        return Address("msteams", CHATS[who])

    async def says(
        self,
        text: str,
        who: str = ADA,
        *,
        group: bool = False,
        thread: str | None = None,
        mention: bool = True,
        media: bytes | None = None,
    ) -> str:
        more: dict[str, Any] = {}
        if media is not None:
            self.server.files["7"] = media
            content = {"downloadUrl": f"{self.server.url}/files/7", "uniqueId": "7", "fileType": "txt"}
            more = {"attachments": [{"contentType": FILE, "name": "a.png", "content": content}]}
        chat = CHATS[who] if not group else ROOM if thread is None else f"{ROOM};messageid={thread}"
        self.last = self.server.says(text, chat, PEOPLE[who], mention=group and mention, **more)
        return str(self.last["id"])

    async def says_again(self) -> None:
        self.server.deliver(self.last)

    async def edits(self, id: str, text: str) -> None:
        edited = self.server.activity("messageUpdate", text=text, channelData={"eventType": "editMessage"})
        self.server.deliver({**edited, "id": id})

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        message = next(each for each in self._newest(who, group=group) if buttons_of(each))
        self._act(message, buttons_of(message)[label], who)

    async def votes(self, option: int) -> None:
        message = next(each for each in self._newest(ADA) if "poll" in str(each.get("attachments")))
        self._act(message, {POLL: True, CHOICE: str(option)}, ADA)

    def _newest(self, who: str, *, group: bool = False) -> list[dict[str, Any]]:
        chat = ROOM if group else CHATS[who]
        return [each for each in reversed(self.server.messages) if each["conversation"].startswith(chat)]

    def _act(self, message: dict[str, Any], data: dict[str, Any], who: str) -> None:
        value = {"action": {"type": "Action.Execute", "verb": "homarus", "data": data}}
        invoke = self.server.activity("invoke", message["conversation"], PEOPLE[who], name="adaptiveCard/action")
        self.server.deliver({**invoke, "value": value, "replyToId": message["id"]})

    def notices(self) -> list[str]:
        return [told["value"] for _, told in self.server.answers if isinstance(told, dict) and told.get("value")]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        found = reversed(self._newest(who, group=group))
        texts = [text_of(each) for each in found if thread is None or each["conversation"].endswith(f"={thread}")]
        return [each for each in texts if each]

    def uploads(self) -> list[bytes]:
        pictures = [a for each in self.server.messages for a in each.get("attachments") or () if "data:" in str(a)]
        return [*self.server.uploaded, *(base64.b64decode(each["contentUrl"].split(",")[1]) for each in pictures)]

    def attempts(self) -> int:
        return len(self.server.asked)

    def fetches(self) -> int:
        return len(self.server.fetched)

    def typing_seen(self) -> int:
        return len(self.server.typing)

    def drafts(self) -> list[str]:
        return self.server.streamed

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail(**FAULTS[each])

    async def delivers_forged(self, forged: Forged) -> int:
        body = b"x" * (BODY_BYTES + 1) if forged is Forged.TOO_LONG else b"{"
        good = self.server.token()
        token = {
            Forged.WRONG: good[:-8] + ("A" * 8),
            Forged.FOREIGN: self.server.token(aud=APPS["second"]),
            Forged.TOO_LONG: good,
        }
        headers = {"Authorization": f"Bearer {token[forged]}"} if forged in token else {}
        return await self.host.post("/msteams/default", body, headers)

    def garbles(self) -> None:
        self.server.deliver_raw(b'{"type": "mess')

    def revokes(self, account: str = "default") -> None:
        self.servers[account].password = "another"
        self.servers[account].tokens.clear()
        # Nobody asks Microsoft anything by itself; a person does.
        self._running.add(asyncio.get_running_loop().create_task(self.channels[account].probe()))


def buttons_of(message: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the data of each button of a card, by its label."""
    cards = [each["content"] for each in message.get("attachments") or () if "body" in each.get("content", {})]
    parts = [action for card in cards for part in card["body"] for action in part.get("actions", ())]
    return {each["title"]: each["data"] for each in parts}


def text_of(message: dict[str, Any]) -> str:
    """Return the words that a message shows."""
    if message.get("textFormat") == "xml":
        return html.unescape(re.sub(r"<[^>]*>", "", message["text"]))
    if "text" in message:
        return str(message["text"])
    cards = [each["content"] for each in message["attachments"] if "body" in each.get("content", {})]
    return "".join(part["text"] for card in cards for part in card["body"] if part["type"] == "TextBlock")
