"""WeCom for the test-kit: our long connection, one for each of two bots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.wecom.channel import WeComChannel
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Trouble
from tests.servers.wecom_server import ADA as ADAS_ID, GROUP, SECRET, WeComFault, WeComServer
from tests.until import until

PEOPLE = {ADA: ADAS_ID, EVE: "ZhangEve"}
FAULTS = {
    Trouble.RATE_LIMITED: WeComFault(45009),
    Trouble.REFUSED_FOR_NOW: WeComFault(-1),
    Trouble.ANSWER_LOST: WeComFault(done=True),
    Trouble.FORBIDDEN: WeComFault(60020),
}
TEXTS = ("stream", "markdown", "template_card")


class WeComRig(DoubleRig[WeComServer]):
    """Ada and Eve write to the bot alone, and mention it in a group."""

    name = "wecom"
    can = frozenset({Can.GROUPS, Can.MEDIA, Can.BUTTONS, Can.VOTES, Can.TWO_ACCOUNTS, Can.MALFORMED})
    troubles = frozenset(FAULTS)

    def __init__(self) -> None:
        super().__init__(WeComServer(), WeComServer("aibYm90X2lk2"))

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        server = self.servers[account]
        return WeComChannel(account, server.bot_id, Secret(SECRET), server.url, clock)

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        return {"account": account, "bot_id": server.bot_id, "secret": SECRET, "ws_url": server.url}

    def identity(self, who: str) -> str:
        return f"wecom:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("wecom", GROUP, chat_type=ChatType.GROUP) if group else Address("wecom", PEOPLE[who])

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
        if group and not mention:
            return "WeCom tells bots nothing of it"
        body: dict[str, Any] = {"msgtype": "text", "text": {"content": f"@Homarus {text}" if group else text}}
        if media is not None:
            body = {"msgtype": "image", "image": self.server.encrypted_file("f1", media)}
        self.last = await self.server.say(body, PEOPLE[who], group=group)
        return str(self.last["msgid"])

    async def says_again(self) -> None:
        await self.server.bring(self.last)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        def found() -> list[tuple[dict[str, Any], str]]:  # a card comes after its text
            cards = self._cards("button_interaction")
            return [(card, each["key"]) for card in cards for each in card["button_list"] if each["text"] == label]

        card, key = (await until(found))[-1]
        event = {"card_type": card["card_type"], "event_key": key, "task_id": card["task_id"]}
        await self._card_event(event, PEOPLE[who], group=group)

    async def votes(self, option: int) -> None:
        card = self._cards("vote_interaction")[-1]
        chosen = {"question_key": "vote", "option_ids": {"option_id": [card["checkbox"]["option_list"][option]["id"]]}}
        event = {"card_type": card["card_type"], "event_key": "vote", "taskid": card["task_id"]}
        await self._card_event({**event, "selected_items": {"selected_item": [chosen]}}, ADAS_ID)

    async def _card_event(self, event: dict[str, Any], who: str, *, group: bool = False) -> None:
        await self.server.event({"eventtype": "template_card_event", "template_card_event": event}, who, group=group)

    def _cards(self, kind: str) -> list[dict[str, Any]]:
        cards = [each["content"] for each in self.server.sent if each["type"] == "template_card"]
        return [each for each in cards if each["card_type"] == kind]

    def notices(self) -> list[str]:
        return [each["text"] for each in self.server.sent if "button" in each["text"]]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        chat = GROUP if group else PEOPLE[who]
        return [each["text"] for each in self.server.sent if each["chat"] == chat and each["type"] in TEXTS]

    def uploads(self) -> list[bytes]:
        return self.server.uploaded

    def attempts(self) -> int:
        return self.server.attempts

    def fetches(self) -> int:
        return self.server.fetched

    def drafts(self) -> list[str]:
        return self.server.growing

    def trouble(self, *troubles: Trouble) -> None:
        self.server.faults += [FAULTS[each] for each in troubles]

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].secret = "another"
        self.servers[account].cut()
