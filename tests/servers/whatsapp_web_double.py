"""WhatsApp as a linked device sees it: a double of the client, with the protobuf messages of neonize itself.

The real client speaks with WhatsApp's servers alone. What the double refuses, they refuse, or would not show.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from neonize.proto import Neonize_pb2
from neonize.proto.waE2E import WAWebProtobufsE2E_pb2

from hub.messaging.contract import MediaKind
from integrations.channels.http_api import PlatformError
from integrations.channels.whatsapp_web.client import LinkCode, failure

proto: Any = Neonize_pb2
e2e: Any = WAWebProtobufsE2E_pb2
ME, MY_LID, SECOND = "4915100000000", "900000000000001", "4915100000009"
ADA, ADAS_LID = "4915122222222", "900000000000002"
EVE, EVES_LID = "4915166666666", "900000000000666"
GROUP = "120363000000000001@g.us"
LIDS = {ME: MY_LID, SECOND: "900000000000002", ADA: ADAS_LID, EVE: EVES_LID}
QR_CODES = ("2@first,code,of,six", "2@second,code,of,six")
PAIRING_CODE = "ABCD-1234"
Fault = tuple[str, bool]
"""What a refusal says, and whether the message was sent all the same."""


def jid(user: str, server: str = "s.whatsapp.net", device: int = 0) -> Any:
    """Return a JID."""
    return proto.JID(User=user, Server=server, Device=device, RawAgent=0, Integrator=0, IsEmpty=not user)


def split(text: str) -> Any:
    """Return a JID from text."""
    user, _, server = text.rpartition("@")
    return jid(user, server)


class WhatsAppWebDouble:
    """One account on WhatsApp's servers.

    Attributes:
        sent: The messages that it sent and that are still there: chat, id and `Message`.
        told_number: Whether a LID comes with the phone number behind it.
        knows_numbers: Whether the session can tell the number behind a LID.
    """

    def __init__(self, number: str = ME) -> None:
        self.linked = True
        self.number = number
        self.told_number = self.knows_numbers = True
        self.sent: list[tuple[str, str, Any]] = []
        self.reactions: dict[str, str] = {}
        self.uploads: list[bytes] = []
        self.downloads: list[bytes] = []
        self.files: dict[bytes, bytes] = {}
        self.typing: list[str] = []
        self.read: list[str] = []
        self.faults: list[Fault] = []
        self.attempts = 0
        self.group_lookups = 0
        self.pairing_error = ""
        self.unknown_votes: list[bytes] = []
        self._votes: dict[str, list[bytes]] = {}
        self._secrets: dict[str, Any] = {}
        self._queued: list[Any] = []
        self._count = 0
        self.client: DoubleClient | None = None

    async def open(self) -> DoubleClient:
        """Return a client of the account, as a channel opens one."""
        return DoubleClient(self)

    # --- what people do ---

    def new_id(self) -> str:
        """Return the id of a message."""
        self._count += 1
        return f"3EB0{self._count:018X}"

    def push(self, event: Any) -> None:
        """Deliver an event, now or when the device is back."""
        if self.client is not None and self.client.hear is not None:
            self.client.hear(event)
        else:
            self._queued.append(event)

    def backlog(self) -> list[Any]:
        """Return what came while the device was away, once."""
        waiting, self._queued = self._queued, []
        return waiting

    def says(self, message: Any, who: str = ADA, *, group: bool = False, by_lid: bool = False, **more: Any) -> Any:
        """Deliver a message of somebody; return the event."""
        id = more.pop("id", None) or self.new_id()
        phone, lid = jid(who, device=7), jid(LIDS[who], "lid", 7)
        source = proto.MessageSource(IsFromMe=who == self.number, IsGroup=group)
        source.Sender.CopyFrom(lid if by_lid else phone)
        if not by_lid or self.told_number:
            source.SenderAlt.CopyFrom(phone if by_lid else lid)
        source.Chat.CopyFrom(split(GROUP) if group else jid(LIDS[who], "lid") if by_lid else jid(who))
        info = proto.MessageInfo(ID=id, Pushname=more.pop("name", "Someone"), Timestamp=int(time.time()))
        info.MessageSource.CopyFrom(source)
        event = proto.Message(Info=info, Message=message)
        self.push(event)
        return event

    def vote(self, option: int, who: str = ADA) -> None:
        """Vote in the newest poll, encrypted."""
        chat, id, message = self.sent[-1]
        chosen = message.pollCreationMessage.options[option].optionName
        vote = e2e.PollUpdateMessage(vote=e2e.PollEncValue(encPayload=b"encrypted", encIV=b"iv"))
        vote.pollCreationMessageKey.ID, vote.pollCreationMessageKey.remoteJID = id, chat
        vote.pollCreationMessageKey.fromMe = False
        event_id = self.new_id()
        self._votes[event_id] = [*self.unknown_votes, hashlib.sha256(chosen.encode()).digest()]
        self.says(e2e.Message(pollUpdateMessage=vote), who, id=event_id)

    def react(self, emoji: str, who: str = ADA) -> None:
        """React to the newest message of the account."""
        chat, id, _ = self.sent[-1]
        reaction = e2e.ReactionMessage(text=emoji)
        reaction.key.ID, reaction.key.remoteJID, reaction.key.fromMe = id, chat, False
        self.says(e2e.Message(reactionMessage=reaction), who)

    def revoke(self, id: str, who: str = ADA) -> None:
        """Delete a message of the account's in the group, as its administrator."""
        message = e2e.Message()
        key = message.protocolMessage.key
        message.protocolMessage.type = e2e.ProtocolMessage.REVOKE
        key.ID, key.remoteJID, key.participant, key.fromMe = id, GROUP, f"{self.number}@s.whatsapp.net", False
        self.sent = [each for each in self.sent if each[:2] != (GROUP, id)]
        self.says(message, who, group=True)

    def document(self, content: bytes, name: str, text: str) -> Any:
        """Return a message with a document that can be downloaded."""
        key = self.keep(content)
        file = e2e.DocumentMessage(fileName=name, mimetype="text/plain", caption=text, fileLength=len(content))
        file.mediaKey, file.URL, file.directPath = key, "https://mmg.whatsapp.net/x", "/x"
        message = e2e.Message()
        message.documentWithCaptionMessage.message.documentMessage.CopyFrom(file)
        return message

    def keep(self, content: bytes) -> bytes:
        """Keep a file on the servers; return its key."""
        key = hashlib.sha256(content).digest()
        self.files[key] = content
        return key

    def rename(self, name: str) -> None:
        """Give the group another name, as Ada."""
        event = proto.GroupInfoEvent(JID=split(GROUP), Sender=jid(ADA), Timestamp=int(time.time()))
        event.Name.Name = name
        self.push(event)

    def log_out(self) -> None:
        """Remove the device on the phone."""
        self.linked = False
        self.push(proto.LoggedOut(OnConnect=False, Reason=proto.LOGGED_OUT))

    def scan(self, number: str | None = None) -> None:
        """Scan the code that is shown."""
        assert self.client is not None
        assert self.client.hear is not None
        self.linked, self.number = True, number or self.number
        self.push(proto.PairStatus(ID=jid(self.number), Status=proto.PairStatus.SUCCESS))
        self.push(proto.Connected(status=True))

    # --- what the account does ---

    def accept(self, chat: str, message: Any) -> str:
        """Send a message; return its id."""
        self.attempts += 1
        text, done = self.faults.pop(0) if self.faults else ("", True)
        if text and not done:
            raise failure(text)
        id = self._accepted(chat, message)
        if text:
            raise failure(text)
        return id

    def _accepted(self, chat: str, message: Any) -> str:
        known = {f"{each}@s.whatsapp.net" for each in LIDS} | {f"{each}@lid" for each in LIDS.values()} | {GROUP}
        if chat not in known:
            raise failure("server returned error 404")
        if message.HasField("reactionMessage"):
            key = message.reactionMessage.key
            assert key.remoteJID == chat
            assert bool(key.participant) == (chat == GROUP and not key.fromMe)
            self.reactions[key.ID] = message.reactionMessage.text
        elif message.HasField("editedMessage"):
            protocol = message.editedMessage.message.protocolMessage
            if (place := self._own(protocol.key, chat)) is not None:
                self.sent[place] = (chat, protocol.key.ID, protocol.editedMessage)
        elif message.HasField("protocolMessage"):
            if (place := self._own(message.protocolMessage.key, chat)) is not None:
                del self.sent[place]
        else:
            self._check(message)
            id = self.new_id()
            self.sent.append((chat, id, message))
            return id
        return self.new_id()

    def _own(self, key: Any, chat: str) -> int | None:
        """Return where a message is; of one that is gone WhatsApp takes changes that nobody is shown."""
        assert key.fromMe
        assert key.remoteJID == chat
        found = (place for place, (there, id, _) in enumerate(self.sent) if (there, id) == (chat, key.ID))
        return next(found, None)

    def _check(self, message: Any) -> None:
        if message.HasField("pollCreationMessage"):
            assert 2 <= len(message.pollCreationMessage.options) <= 12
            assert len(message.messageContextInfo.messageSecret) == 32
        for descriptor, content in message.ListFields():
            if descriptor.name.endswith("Message") and hasattr(content, "mediaKey") and content.mediaKey:
                assert self.files[content.mediaKey] in self.uploads
                assert content.mimetype
            if descriptor.name.endswith("Message") and content.contextInfo.stanzaID:
                assert "@" in content.contextInfo.participant
        text = text_of(message)
        assert text or any(descriptor.name != "conversation" for descriptor, _ in message.ListFields())
        assert len(text) <= 65_536

    def group_info(self) -> Any:
        """Return the group."""
        self.group_lookups += 1
        return proto.GroupInfo(JID=split(GROUP), GroupName=proto.GroupName(Name="Family"))

    def votes(self, event: Any) -> list[bytes]:
        """Return the decrypted vote of an event."""
        return self._votes[event.Info.ID]


def text_of(message: Any) -> str:
    """Return the text of a message."""
    if message.HasField("pollCreationMessage"):
        return str(message.pollCreationMessage.name)
    found = next((getattr(value, "caption", "") for _, value in message.ListFields() if hasattr(value, "caption")), "")
    return str(message.conversation or message.extendedTextMessage.text or found)


class DoubleClient:
    """A `WebClient` of the double."""

    def __init__(self, server: WhatsAppWebDouble) -> None:
        self._server = server
        self.hear: Callable[[Any], None] | None = None
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def is_linked(self) -> bool:
        return self._server.linked

    async def run(self, hear: Callable[[Any], None]) -> None:
        self._server.client, self.hear = self, hear
        if self._server.linked:
            hear(proto.Connected(status=True))
            for event in self._server.backlog():
                hear(event)
        else:
            for code in QR_CODES[:1]:
                hear(LinkCode(code))
        await self._ended

    async def close(self) -> None:
        self.hear = None
        if self._server.client is self:
            self._server.client = None
        if not self._ended.done():
            self._ended.set_result(None)

    def breaks(self, text: str) -> None:
        """End the connection with an error."""
        self._ended.set_exception(failure(text))

    async def is_connected(self) -> bool:
        return self.hear is not None

    async def pairing_code(self, number: str) -> str:
        if self._server.pairing_error:
            raise failure(self._server.pairing_error)
        assert number.isdigit()
        return PAIRING_CODE

    async def me(self) -> Any:
        lid = LIDS.get(self._server.number, "")
        return proto.Device(JID=jid(self._server.number, device=3), LID=jid(lid, "lid", 3))

    async def phone_of(self, lid: str) -> str | None:
        found = next((phone for phone, each in LIDS.items() if lid == f"{each}@lid"), None)
        return f"{found}@s.whatsapp.net" if found and self._server.knows_numbers else None

    async def lid_of(self, phone: str) -> str | None:
        found = LIDS.get(phone.partition("@")[0])
        return f"{found}@lid" if found else None

    async def send(self, chat: str, message: Any) -> str:
        await asyncio.sleep(0)
        if self.hear is None:
            raise failure("websocket not connected")
        return self._server.accept(chat, message)

    async def upload(self, content: bytes, kind: MediaKind) -> Any:
        self._server.uploads.append(content)
        key = self._server.keep(content)
        return proto.UploadResponse(
            url="https://mmg.whatsapp.net/up", DirectPath="/up", MediaKey=key, FileLength=len(content)
        )

    async def download(self, message: bytes) -> bytes:
        self._server.downloads.append(message)
        wanted = e2e.Message.FromString(message)
        ((_, content),) = wanted.ListFields()
        if content.mediaKey not in self._server.files:
            raise PlatformError(failure("").state, "download failed with status code 404")
        return self._server.files[content.mediaKey]

    async def votes_of(self, event: Any) -> Sequence[bytes]:
        return self._server.votes(event)

    async def mark_read(self, id: str, chat: str, sender: str) -> None:
        self._server.read.append(id)

    async def show_typing(self, chat: str) -> None:
        self._server.typing.append(chat)

    async def group(self, jid: str) -> Any:
        return self._server.group_info()

    async def groups(self) -> Sequence[Any]:
        return [self._server.group_info()]

    async def contacts(self) -> Sequence[Any]:
        info = proto.ContactInfo(Found=True, FirstName="Ada", FullName="Ada Lovelace", PushName="ada", BusinessName="")
        return [proto.Contact(JID=jid(ADA), Info=info)]
