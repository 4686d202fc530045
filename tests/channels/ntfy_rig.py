"""ntfy for the test-kit: our server, one for each of two accounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel
from integrations.channels.ntfy.channel import NtfyAccount, NtfyChannel
from integrations.channels.ntfy.events import OURS, peer_of
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Trouble
from tests.servers.ntfy_server import ADAS, EVES, TOKEN, NtfyServer

TOPICS = {ADA: ADAS, EVE: EVES}
WRITE_TOKEN = "tk_only-to-write"
NOTICE = "information_source"
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "code": 42901},
    Trouble.REFUSED_FOR_NOW: {"status": 500, "code": 50001},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 403, "code": 40301},
}


class NtfyRig(DoubleRig[NtfyServer]):
    """A server for each account; Ada and Eve each know a topic."""

    name = "ntfy"
    can = frozenset({Can.MEDIA, Can.OFFERS_AGAIN, Can.DEAF, Can.BUTTONS, Can.TWO_ACCOUNTS, Can.MALFORMED})
    troubles = frozenset(FAULTS)

    def __init__(self) -> None:
        super().__init__(NtfyServer(), NtfyServer())
        for server in self.servers.values():
            server.write_token = WRITE_TOKEN

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        topics, tokens = Secret(f"{ADAS}, {EVES}"), (Secret(TOKEN), None, None, Secret(WRITE_TOKEN))
        return NtfyChannel(NtfyAccount(account, self.servers[account].url, topics, *tokens), clock, silence_s=3.0)

    def section(self, account: str = "default") -> dict[str, Any]:
        topics = {"topics": f"{ADAS},{EVES}", "token": TOKEN, "button_token": WRITE_TOKEN}
        return {"account": account, "url": self.servers[account].url, **topics}

    def identity(self, who: str) -> str:
        return f"ntfy:topic:{peer_of(TOPICS[who])}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("ntfy", peer_of(TOPICS[who]))

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
        more: dict[str, Any] = {} if media is None else {"attachment": self.server.add_file(media, "a.png")}
        self.last = await self.server.say(text, TOPICS[who], **more)
        return str(self.last["id"])

    async def says_in_disorder(self, *texts: str) -> None:
        for message in reversed([self.server.message(ADAS, text) for text in texts]):
            await self.server.tell(message)

    async def says_again(self) -> None:
        await self.server.tell(self.last)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        message = [each for each in self._ours(who) if each.get("actions")][-1]
        assert await self.server.press(message, label) == 200

    def notices(self) -> list[str]:
        return [each["message"] for each in self._ours(ADA) if NOTICE in each["tags"]]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        told = [each for each in self._ours(who) if NOTICE not in each["tags"]]
        return [each["message"] for each in told if "attachment" not in each]

    def _ours(self, who: str) -> list[dict[str, Any]]:
        ours = [each for each in self.server.messages if OURS in each.get("tags", ())]
        return [each for each in ours if each["topic"] == TOPICS[who]]

    def uploads(self) -> list[bytes]:
        return list(self.server.files.values())

    def attempts(self) -> int:
        return self.server.published

    def fetches(self) -> int:
        return self.server.fetched

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail(**FAULTS[each])

    def goes_deaf(self) -> None:
        self.server.deaf = True

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].token = "another"
        self.servers[account].cut()
