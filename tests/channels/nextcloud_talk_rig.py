"""Nextcloud Talk for the test-kit: our Nextcloud, one for each of two accounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.nextcloud_talk.channel import TalkAccount, TalkChannel
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Trouble
from tests.servers.nextcloud_server import (
    ADA as ADAS_ID,
    DM,
    EVE as EVES_ID,
    EVES_DM,
    LOGIN,
    ME,
    PASSWORD,
    ROOM,
    NextcloudServer,
)

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
ROOMS = {ADA: DM, EVE: EVES_DM}
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429},
    Trouble.REFUSED_FOR_NOW: {"status": 503, "headers": {"X-Nextcloud-Maintenance-Mode": "1"}},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 403, "error": ""},
    Trouble.REMOVED: {"status": 404, "error": ""},
}


class NextcloudTalkRig(DoubleRig[NextcloudServer]):
    """A Nextcloud for each account; Ada and Eve write in conversations of two and in one of all."""

    name = "nextcloud_talk"
    listed_person = "Ada King"
    can = frozenset(
        {
            Can.GROUPS,
            Can.THREADS,
            Can.VOTES,
            Can.EDITS,
            Can.MEDIA,
            Can.OFFERS_AGAIN,
            Can.DEAF,
            Can.REACTS,
            Can.TWO_ACCOUNTS,
            Can.MALFORMED,
            Can.VOICE,
            Can.GONE,
        }
    )
    voice_type = "audio/mpeg"
    polls_in_groups = True
    troubles = frozenset(FAULTS)

    def __init__(self) -> None:
        super().__init__(NextcloudServer(), NextcloudServer())

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        config = TalkAccount(account, self.servers[account].url, LOGIN, Secret(PASSWORD))
        return TalkChannel(config, clock, wait_s=1, grace_s=5.0)

    def section(self, account: str = "default") -> dict[str, Any]:
        url = self.servers[account].url
        return {"account": account, "url": url, "user": LOGIN, "app_password": self.servers[account].password}

    def hub_at(self, url: str, home: Path) -> None:
        for server in self.servers.values():
            server.second_s = 1.0  # a hub in another process waits by the real clock

    def identity(self, who: str) -> str:
        return f"nextcloud_talk:user:{PEOPLE[who]}@{self.server.home}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("nextcloud_talk", ROOM, chat_type=ChatType.GROUP, thread=thread)
        return Address("nextcloud_talk", PEOPLE[who])

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
        parameters: dict[str, Any] = {}
        if group and mention:
            text = f"{{mention-user1}} {text}"
            parameters["mention-user1"] = {"type": "user", "id": ME, "name": "Homarus"}
        if media is not None:
            self.server.files["Talk/a.png"] = media
            parameters["file"] = {"type": "file", "id": "5", "name": "a.png", "path": "Talk/a.png"}
        more: dict[str, Any] = {"messageParameters": parameters} if parameters else {}
        if thread is not None:
            self.server.threads[int(thread)] = "Holidays"
            more["threadId"] = int(thread)
        said = self.server.say(text, ROOM if group else ROOMS[who], PEOPLE[who], **more)
        return str(said["id"])

    async def speaks(self, sound: bytes) -> None:
        self.server.files["Talk/voice.mp3"] = sound
        parameter = {"type": "file", "id": "6", "name": "voice.mp3", "path": "Talk/voice.mp3", "mimetype": "audio/mpeg"}
        self.server.say("{file}", DM, ADAS_ID, messageType="voice-message", messageParameters={"file": parameter})

    async def says_again(self) -> None:
        """Nothing: a message of Talk is read once its place in the conversation was not kept."""

    async def edits(self, id: str, text: str) -> None:
        self.server.change(int(id), text)

    async def reacts(self, emoji: str) -> None:
        self.server.notice("reaction", self.server.ours(DM)[-1], text=emoji)

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        ours = self.server.ours(ROOM if group else ROOMS[who])
        shown = [each for each in ours if thread in (None, str(each["threadId"]))]
        polls = [each["messageParameters"].get("object", {}) if each["messageParameters"] else {} for each in shown]
        texts = zip(shown, polls, strict=True)
        return [poll.get("name") or each["message"] for each, poll in texts if poll or not each["messageParameters"]]

    async def votes(self, option: int) -> None:
        poll = list(self.server.polls.values())[-1]
        self.server.vote(poll, ADAS_ID, option)
        self.server.close(poll)

    def reactions(self, id: str) -> list[str]:
        return list(self.server.reactions.get(int(id), {}))

    def uploads(self) -> list[bytes]:
        return list(self.server.files.values())

    def voices(self) -> list[bytes]:
        ours = [each for each in self.server.ours(DM) if each["messageType"] == "voice-message"]
        return [self.server.files[each["messageParameters"]["file"]["path"]] for each in ours]

    def attempts(self) -> int:
        return self.server.asked.count("POST chat")

    def fetches(self) -> int:
        return self.server.fetched

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail("POST chat", **FAULTS[each])

    def goes_deaf(self) -> None:
        self.server.deaf = True

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].password = "another"
