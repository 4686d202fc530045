"""Signal for the test-kit: our daemon, one for each of two accounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.signal.channel import SignalChannel
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Named, Trouble
from tests.servers.signal_server import ADA as ADAS_ID, GROUP, SignalServer

PEOPLE = {ADA: ADAS_ID, EVE: "cccccccc-0000-0000-0000-000000000666"}
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"error": {"code": -5, "message": "Rate limited"}},
    Trouble.REFUSED_FOR_NOW: {"error": {"code": -32603, "message": "Internal error"}},
    Trouble.PROXY_PAGE: {"status": 502, "body": "bad gateway"},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"error": {"code": -1, "message": "Unregistered user"}},
    Trouble.REMOVED: {"error": {"code": -1, "message": "User is not a member in group: Home (R3JvdXA=)"}},
}


class SignalRig(DoubleRig[SignalServer]):
    """A daemon for each account; Ada and Eve write in direct messages and in one group."""

    name = "signal"
    named = frozenset(Named)
    can = frozenset(
        {Can.GROUPS, Can.EDITS, Can.MEDIA, Can.DEAF, Can.MALFORMED, Can.VOTES, Can.REACTS, Can.TWO_ACCOUNTS, Can.VOICE}
    )
    troubles = frozenset(FAULTS)

    def __init__(self) -> None:
        super().__init__(SignalServer(), SignalServer("+4915100000009", "aaaaaaaa-0000-0000-0000-000000000009"))
        for server in self.servers.values():
            server.keep_alive_s = 0.5
            server.groups = [{"id": GROUP, "name": "The family", "isMember": True}]

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        return SignalChannel(account, self.servers[account].url, self.servers[account].number, clock, silence_s=5.0)

    def section(self, account: str = "default") -> dict[str, Any]:
        return {"account": account, "url": self.servers[account].url, "number": self.servers[account].number}

    def identity(self, who: str) -> str:
        return f"signal:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("signal", GROUP, chat_type=ChatType.GROUP) if group else Address("signal", PEOPLE[who])

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
            self.server.attachments["a.png"] = media
            more["attachments"] = [{"id": "a.png", "contentType": "image/png", "filename": "a.png"}]
        if group and mention:
            text, more["mentions"] = f"\ufffc {text}", [{"uuid": self.server.me, "start": 0, "length": 1}]
        self.last = self.server.says(text, PEOPLE[who], GROUP if group else None, **more)
        return f"{self.last['timestamp']}:{PEOPLE[who]}"

    async def says_in_disorder(self, *texts: str) -> None:
        times = [self.server.now_ms() for _ in texts]
        for text, timestamp in zip(reversed(texts), reversed(times), strict=True):
            self.server.envelope(dataMessage={"timestamp": timestamp, "message": text})

    async def speaks(self, sound: bytes) -> None:
        self.server.attachments["voice"] = sound
        self.server.says(None, attachments=[{"id": "voice", "contentType": "audio/aac", "voiceNote": True}])

    async def says_again(self) -> None:
        self.server.envelope(**self.last)

    async def edits(self, id: str, text: str) -> None:
        data = {"timestamp": self.server.now_ms(), "message": text}
        self.server.envelope(editMessage={"targetSentTimestamp": int(id.partition(":")[0]), "dataMessage": data})

    async def votes(self, option: int) -> None:
        poll = {
            "targetSentTimestamp": self.server.sent[-1]["timestamp"],
            "authorUuid": self.server.me,
            "optionIndexes": [option],
        }
        self.server.envelope(dataMessage={"timestamp": self.server.now_ms(), "pollVote": poll})

    async def reacts(self, emoji: str) -> None:
        about = {
            "targetSentTimestamp": self.server.sent[-1]["timestamp"],
            "targetAuthorUuid": self.server.me,
            "emoji": emoji,
        }
        self.server.envelope(dataMessage={"timestamp": self.server.now_ms(), "reaction": about})

    @property
    def room_name(self) -> str:  # type: ignore[override]
        return str(self.server.groups[0]["name"])

    async def renames(self, name: str) -> None:
        self.server.groups[0]["name"] = name

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        where = {"groupId": GROUP} if group else {"recipient": [PEOPLE[who]]}
        ours = [each for each in self.server.sent if where.items() <= each.items()]
        return [each.get("question") or each["message"] for each in ours]

    def reactions(self, id: str) -> list[str]:
        return self.server.reactions.get(int(id.partition(":")[0]), [])

    def uploads(self) -> list[bytes]:
        return self.server.uploaded

    def voices(self) -> list[bytes]:
        paths = [path for each in self.server.sent if each.get("voiceNote") for path in each["attachments"]]
        return [Path(each).read_bytes() for each in paths]

    def attempts(self) -> int:
        return len(self.server.asked("send"))

    def fetches(self) -> int:
        return len(self.server.asked("getAttachment"))

    def typing_seen(self) -> int:
        return len(self.server.asked("sendTyping"))

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail("send", **FAULTS[each])

    def goes_deaf(self) -> None:
        self.server.deaf = True

    def garbles(self) -> None:
        self.server.push('{"envelope": {"sourc')

    def revokes(self, account: str = "default") -> None:
        self.servers[account].registered = False
        self.servers[account].cut()
