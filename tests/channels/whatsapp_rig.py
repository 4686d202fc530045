"""WhatsApp for the test-kit: our Graph API, which delivers to the webhook of the channels."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel
from hub.security.webhook_signature import FORMS, sign
from integrations.channels.whatsapp.channel import WhatsAppAccount, WhatsAppChannel
from integrations.channels.whatsapp.webhook import BODY_BYTES, PATH, WhatsAppWebhook
from tests.channels.kit import ADA, EVE, Can, Forged, Rig, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.whatsapp_server import (
    ADA as ADAS_ID,
    APP_SECRET,
    EVES_PHONE,
    NUMBER_ID,
    TOKEN,
    VERIFY_TOKEN,
    WhatsAppServer,
)

PEOPLE = {ADA: ADAS_ID, EVE: EVES_PHONE}
NUMBERS = {"default": NUMBER_ID, "second": "106540352242923"}
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "code": 130429},
    Trouble.REFUSED_FOR_NOW: {"status": 500, "code": 131000},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 400, "code": 131047},
}


class WhatsAppRig(Rig):
    """Ada is known by her id, Eve by her phone number; there are no groups."""

    name = "whatsapp"
    can = frozenset({Can.MEDIA, Can.OFFERS_AGAIN, Can.MALFORMED, Can.BUTTONS, Can.REACTS, Can.TWO_ACCOUNTS, Can.VOICE})
    troubles = frozenset(FAULTS)
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.CHANGED, Forged.TOO_LONG})

    def __init__(self) -> None:
        self.server = WhatsAppServer()
        self.webhook: WhatsAppWebhook | None = None
        self.host = WebhookHost(lambda: () if self.webhook is None else self.webhook.routes())
        self.channels: dict[str, WhatsAppChannel] = {}
        self._last: dict[str, Any] = {}
        self._written_to = "default"
        self._running: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        await self.server.__aenter__()
        self.server.tokens = {number: f"{TOKEN}-{account}" for account, number in NUMBERS.items()}
        self.server.hub = await self.host.start() + PATH

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await self.server.__aexit__()
        await self.host.stop()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        config = WhatsAppAccount(account, NUMBERS[account], Secret(f"{TOKEN}-{account}"), self.server.root)
        self.channels[account] = channel = WhatsAppChannel(config, clock, lambda person, error: None)
        self.webhook = WhatsAppWebhook(clock)
        for each in self.channels.values():
            self.webhook.add(each, Secret(APP_SECRET), Secret(VERIFY_TOKEN))
        return channel

    def section(self, account: str = "default") -> dict[str, Any]:
        return {
            "account": account,
            "phone_number_id": NUMBERS[account],
            "access_token": f"{TOKEN}-{account}",
            "app_secret": APP_SECRET,
            "verify_token": VERIFY_TOKEN,
            "api_root": self.server.root,
        }

    def hub_at(self, url: str, home: Path) -> None:
        self.server.hub = url + PATH

    def writes_to(self, account: str) -> None:
        self._written_to = account

    def identity(self, who: str) -> str:
        return f"whatsapp:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("whatsapp", PEOPLE[who])

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
        kind, body = "text", {"body": text}
        if media is not None:
            self.server.files["1002"] = media
            kind, body = "document", {"id": "1002", "mime_type": "image/png", "filename": "a.png", "caption": text}
        self._last = {"kind": kind, "body": body, "who": PEOPLE[who], "id": self.server.wamid()}
        self._last["number"] = NUMBERS[self._written_to]
        return self.server.says(**self._last)

    async def speaks(self, sound: bytes) -> None:
        self.server.files["1003"] = sound
        body = {"id": "1003", "mime_type": "audio/ogg; codecs=opus", "voice": True}
        self.server.says("audio", body, PEOPLE[ADA], number=NUMBERS[self._written_to])

    async def says_again(self) -> None:
        self.server.says(**self._last)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        message = [each for each in self.server.sent if each["type"] == "interactive"][-1]
        action = message["interactive"]["action"]
        rows = [row for section in action.get("sections", ()) for row in section["rows"]]
        kind = "list_reply" if rows else "button_reply"
        choices = rows or [each["reply"] for each in action["buttons"]]
        reply = next(each for each in choices if each["title"] == label)
        pressed = {"type": kind, kind: reply}
        number = NUMBERS[self._written_to]
        self.server.says("interactive", pressed, PEOPLE[who], number=number, context={"id": message["id"]})

    async def reacts(self, emoji: str) -> None:
        self.server.says("reaction", {"message_id": self.server.sent[-1]["id"], "emoji": emoji})

    def notices(self) -> list[str]:
        return [text_of(each) for each in self.server.sent if "biz_opaque_callback_data" not in each]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        theirs = [each for each in self.server.sent if PEOPLE[who] in (each.get("to"), each.get("recipient"))]
        return [text_of(each) for each in theirs if each["type"] in ("text", "interactive")]

    def reactions(self, id: str) -> list[str]:
        return [emoji] if (emoji := self.server.reactions.get(id)) else []

    def uploads(self) -> list[bytes]:
        return list(self.server.uploads.values())

    def voices(self) -> list[bytes]:
        voices = [each["audio"]["id"] for each in self.server.sent if each.get("audio", {}).get("voice")]
        return [self.server.uploads[each] for each in voices]

    def attempts(self) -> int:
        return len(self.server.asked)

    def fetches(self) -> int:
        return len(self.server.fetched)

    def typing_seen(self) -> int:
        return len(self.server.typing)

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail(**FAULTS[each])

    async def delivers_forged(self, forged: Forged) -> int:
        body = b"x" * (BODY_BYTES + 1) if forged is Forged.TOO_LONG else b"{"
        headers = {
            Forged.UNSIGNED: {},
            Forged.WRONG: {"X-Hub-Signature-256": "sha256=" + "0" * 64},
            Forged.FOREIGN: {"X-Hub-Signature-256": sign("of-another-app", body, FORMS["github"])},
            Forged.CHANGED: {"X-Hub-Signature-256": sign(APP_SECRET, b"{}", FORMS["github"])},
            Forged.TOO_LONG: {"X-Hub-Signature-256": sign(APP_SECRET, body, FORMS["github"])},
        }[forged]
        return await self.host.post(PATH, body, headers)

    def garbles(self) -> None:
        self.server.post_raw(b'{"entry": [{"cha')

    def revokes(self, account: str = "default") -> None:
        self.server.tokens[NUMBERS[account]] = "another"
        # Nobody asks Meta anything by itself; a person does.
        self._running.add(asyncio.get_running_loop().create_task(self.channels[account].probe()))


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message that was sent."""
    body = message[message["type"]]["body"]
    return str(body if message["type"] == "text" else body["text"])
