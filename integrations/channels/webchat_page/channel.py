"""One web chat page: its visitors talk over a WebSocket, and what they missed is in the history that they get first.

Each frame is a JSON object with its kind in `t`. From the page: `hello` with the visitor's token, then `say`, `press`.
To the page: `welcome` with token and history, `message`, `draft`, `typing`, `again` for a frame to repeat, and `want`
for a piece of a file that was offered with a message, which the page sends as a binary frame, empty if it cannot.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import orjson
from aiohttp import web
from msgspec import Meta, Struct, field

from hub.core.clock import Clock
from hub.core.errors import HubError, LimitExceeded, Unavailable
from hub.core.surfaces import HttpCall
from hub.gateway.access.guarded_socket import keep_guest
from hub.messaging.contract import (
    Address,
    Button,
    ButtonPressed,
    ChannelLimits,
    Delivery,
    DeliveryState,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
)
from hub.messaging.conversation import PastMessage
from hub.messaging.outbox.markup import Flavour, render
from hub.security.rate_limit import AttemptLimiter
from integrations.channels.http_api import delivery_of
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.public_files import PublicFiles
from integrations.channels.webchat_page.uploads import FILES_LIMIT, PageFile, Problem, SentFile, Uploads
from integrations.channels.webchat_page.visitors import Visitors, is_visitor

TEXT_LIMIT = 8_000
FRAME_LIMIT_BYTES = 65_536
MESSAGES_PER_MINUTE = 20
ARRIVALS_PER_MINUTE = 60
"""Connections from one address."""
NEW_VISITORS_PER_HOUR = 30
"""Of one address."""
PAGES_PER_VISITOR = 4
PAGES_PER_ADDRESS = 16
MEDIA = frozenset({MediaKind.IMAGE, MediaKind.AUDIO, MediaKind.VIDEO, MediaKind.FILE})
MEDIA_BYTES = 50_000_000
FILES_KEPT = 200
"""Files that are shown again after a reload, as long as their addresses are good."""
UNKEPT_LIMIT = 256
"""Visitors whose last message that is in no history, such as a pairing code, is shown again."""
HEARTBEAT_S = 20.0
SEND_LIMIT_S = 5.0
PIECE_LIMIT_S = 30.0
"""For a piece of a file to come."""
LATER_LIMIT = 64
"""Frames of a page that wait until a file has come."""
AGAIN_S = 3.0
CLOSE_AWAY = 1001
CLOSE_REFUSED = 1008

_Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class PageHello(Struct, tag="hello", tag_field="t"):
    """The first frame: who the page is; a new visitor without a token."""

    token: Annotated[str, Meta(max_length=200)] | None = None


class PageMessage(Struct, tag="say", tag_field="t"):
    """A message, with text or files; the same id is handled once."""

    id: _Id
    text: Annotated[str, Meta(max_length=TEXT_LIMIT)]
    name: Annotated[str, Meta(max_length=60)] = ""
    files: Annotated[tuple[PageFile, ...], Meta(max_length=FILES_LIMIT)] = ()

    def __post_init__(self) -> None:
        if not self.text and not self.files:
            raise ValueError("a message has text or files")


class PagePress(Struct, tag="press", tag_field="t"):
    """A pressed button."""

    id: _Id
    message: _Id
    value: Annotated[str, Meta(max_length=1_024)]


PageFrame = PageHello | PageMessage | PagePress
_FRAME = msgspec.json.Decoder(PageFrame)
History = Callable[[Address], Awaitable[Sequence[PastMessage]]]


class ShownFile(Struct, frozen=True):
    """A file below a message: its address on this hub, and whether it is a picture, or sound to play."""

    url: str
    name: str
    picture: bool
    sound: bool = False


class OpenPage(Struct, frozen=True, eq=False):
    """A page that is open in a browser."""

    socket: web.WebSocketResponse
    request: web.Request
    visitor: str
    address: str
    later: deque[PageFrame] = field(default_factory=deque)
    """What it said while a file was on its way."""


class WebchatPage:
    """A page whose visitors are strangers until the owner lets them in.

    Args:
        account: Its name in the configuration.
        visitors: Know who has which token.
        history: Returns the latest messages of a conversation.
        clock: For the bounds.
        hub_url: Returns the address of the hub for browsers of the home.
        files: Serves the files of its messages.
        uploads: Keeps those of its visitors.
    """

    name = "webchat_page"

    def __init__(
        self,
        account: str,
        visitors: Visitors,
        history: History,
        clock: Clock,
        hub_url: Callable[[], str],
        files: PublicFiles,
        uploads: Uploads,
    ) -> None:
        self.account = account
        self.limits = ChannelLimits(
            people_begin=True,
            text=20_000,
            media=MEDIA,
            media_bytes=MEDIA_BYTES,
            markup="html",
            buttons=20,
            idempotent=True,
            draft_interval_s=0.3,
        )
        self._visitors = visitors
        self._history = history
        self._hub_url = hub_url
        self._files = files
        self._uploads = uploads
        self._shown_files: PersistentMap[ShownFile]
        self._sent_files: PersistentMap[tuple[SentFile, ...]]
        self._receive: Receiver | None = None
        self._open: set[OpenPage] = set()
        self._unkept: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._arrivals = AttemptLimiter(clock, ARRIVALS_PER_MINUTE, 60, 60, told="too many connections")
        self._new = AttemptLimiter(clock, NEW_VISITORS_PER_HOUR, 3_600, 600, told="too many new visitors")
        self._messages = AttemptLimiter(clock, MESSAGES_PER_MINUTE, 60, 30, told="too many messages")

    async def start(self, receive: Receiver) -> None:
        """Be ready: the gateway provides the connections."""
        receive.identified(self.account)
        self._shown_files = PersistentMap(receive, "files", FILES_KEPT, ShownFile)
        self._sent_files = PersistentMap(receive, "sent_files", FILES_KEPT, tuple[SentFile, ...])
        await self._shown_files.load()
        await self._sent_files.load()
        self._receive = receive
        receive.connected()

    async def stop(self) -> None:
        """Close the pages; they reconnect by themselves."""
        self._receive = None
        await asyncio.gather(*(page.socket.close(code=CLOSE_AWAY) for page in self._open))

    async def serve(self, call: HttpCall) -> web.StreamResponse:
        """Answer the WebSocket of a page.

        Raises:
            LimitExceeded: There are too many from this address.
            Unavailable: The channel is being stopped.
        """
        if self._receive is None:
            raise Unavailable("the chat is being stopped", retry_after_s=AGAIN_S)
        self._arrivals.reserve(call.address)
        socket = web.WebSocketResponse(
            compress=False, max_msg_size=FRAME_LIMIT_BYTES, heartbeat=HEARTBEAT_S, timeout=1.0
        )
        await socket.prepare(call.request)
        try:
            await self._converse(socket, call)
        except (msgspec.DecodeError, RecursionError):
            await socket.close(code=CLOSE_REFUSED, message=b"this frame is not understood")
        except HubError as error:
            await socket.close(code=CLOSE_REFUSED, message=error.message.encode()[:120])
        except (ConnectionError, TimeoutError):  # it says it again when it is back
            await socket.close(code=CLOSE_AWAY)
        return socket

    async def _converse(self, socket: web.WebSocketResponse, call: HttpCall) -> None:
        """Welcome a visitor and process their messages until the page is closed.

        Until the first frame the gateway's bounds for connections without a credential hold.
        """
        hello = await _next_frame(socket)
        if not isinstance(hello, PageHello):
            return
        visitor = self._visitors.find(hello.token or "")
        if visitor is None:
            self._new.reserve(call.address)
            visitor = self._visitors.new()
        page = OpenPage(socket, call.request, visitor, call.address)
        if (
            sum(each.visitor == visitor for each in self._open) >= PAGES_PER_VISITOR
            or sum(each.address == call.address for each in self._open) >= PAGES_PER_ADDRESS
        ):
            raise LimitExceeded("this page has too many open connections; close a tab")
        keep_guest(call.request, f"visitor:{self.name}/{self.account}")
        self._open.add(page)
        try:
            await self._welcome(page)
            while (frame := page.later.popleft() if page.later else await _next_frame(socket)) is not None:
                await self._take(page, frame)
        finally:
            self._open.discard(page)

    async def _welcome(self, page: OpenPage) -> None:
        history = [self._shown(page.visitor, each) for each in await self._history(self._address(page.visitor))]
        unkept = self._unkept.get(page.visitor)
        if unkept is not None and unkept["id"] not in [each["id"] for each in history]:
            history.append(unkept)
        await self._send(page, {"t": "welcome", "token": self._visitors.token(page.visitor), "history": history})

    async def _take(self, page: OpenPage, frame: PageFrame) -> None:
        """Take a message or a pressed button; the page sees its message when it is on disk."""
        if self._receive is None or isinstance(frame, PageHello):
            return
        address, sender = self._address(page.visitor), f"{self.name}:visitor:{page.visitor}"
        try:
            self._messages.reserve(page.visitor)
            if isinstance(frame, PagePress):
                pressed = ButtonPressed(address, frame.id, sender, message_id=frame.message, value=frame.value)
                receipt = await self._receive(pressed)
                await self._send(page, {"t": "pressed", "id": frame.id, "notice": receipt.notice or ""})
                return
            name = frame.name.strip() or None
            said = InboundMessage(address, frame.id, sender, frame.text, sender_name=name)
            if frame.files:
                said = msgspec.structs.replace(said, media=await self._upload(page, frame, said))
            await self._receive(said)
        except HubError as error:
            after_s = error.retry_after_s or AGAIN_S
            await self._send(page, {"t": "again", "id": frame.id, "after_s": after_s, "error": error.code})
            return
        shown = self._shown(page.visitor, PastMessage(frame.id, frame.text, ours=False))
        await self._show(page.visitor, {"t": "message", **shown})

    async def _upload(self, page: OpenPage, frame: PageMessage, said: InboundMessage) -> tuple[Media, ...]:
        """Return the files of a message as attachments, after fetching those that are taken; a stranger's are not.

        Raises:
            Unavailable: They cannot be stored.
        """
        receive = self._receive
        if receive is None:
            raise Unavailable("the chat is being stopped", retry_after_s=AGAIN_S)
        is_admitted, media, sent = receive.admits(said), list[Media](), list[SentFile]()
        for number, offered in enumerate(frame.files):
            reference = f"{page.visitor}-{frame.id}-{number}"

            async def ask(begin: int, end: int, number: int = number) -> bytes:
                return await self._piece(page, {"t": "want", "id": frame.id, "file": number, "from": begin, "to": end})

            try:
                problem: Problem | None = Problem.STRANGER
                if is_admitted:
                    problem = await self._uploads.take(page.visitor, reference, offered, ask)
                media.append(await self._uploads.media_of(reference, offered))
            except (ConnectionError, TimeoutError):
                raise
            except OSError as error:
                raise Unavailable(f"a visitor's file cannot be stored: {error}", retry_after_s=AGAIN_S) from error
            limit_mb = self._uploads.limit_mb if problem is Problem.LARGE else 0
            sent.append(SentFile(offered.name, offered.size, offered.voice, problem, limit_mb))
        await self._sent_files.put(_of_visitor(page.visitor, frame.id), tuple(sent))
        return tuple(media)

    async def _piece(self, page: OpenPage, want: dict[str, Any]) -> bytes:
        """Ask a page for a piece of a file, and return it.

        Raises:
            ConnectionError, TimeoutError: The page is gone.
            LimitExceeded: It says too much meanwhile.
        """
        await self._send(page, want)
        async with asyncio.timeout(PIECE_LIMIT_S):
            while (message := await page.socket.receive()).type is not web.WSMsgType.BINARY:
                if message.type is not web.WSMsgType.TEXT:
                    raise ConnectionResetError("the page was closed")
                if len(page.later) >= LATER_LIMIT:
                    raise LimitExceeded("too many messages at once")
                page.later.append(_FRAME.decode(message.data))
        data: bytes = message.data
        return data

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield a visitor's file; see `CanFetch`."""
        async for piece in self._uploads.fetch(media.reference):
            yield piece

    async def send(self, message: OutboundMessage) -> Delivery:
        """Show a message on the visitor's open pages; a page that opens later has it in its history."""
        visitor = message.address.peer
        if not is_visitor(visitor):
            return Delivery(DeliveryState.PERMANENT, error=f"{visitor[:64]!r} is not a visitor of the page")
        return await delivery_of(self._put(message))

    async def _put(self, message: OutboundMessage) -> str:
        visitor = message.address.peer
        if message.media:
            await self._shown_files.put(message.id, await self._offered(message.media[0]))
        shown = self._shown(visitor, PastMessage(message.id, message.text, ours=True, buttons=message.buttons))
        if message.session_key is None:
            self._unkept[visitor] = shown
            self._unkept.move_to_end(visitor)
            if len(self._unkept) > UNKEPT_LIMIT:
                self._unkept.popitem(last=False)
        await self._show(visitor, {"t": "message", **shown})
        return message.id

    async def _offered(self, media: OutboundMedia) -> ShownFile:
        url = await self._files.offer(media, "")  # on the page's own origin, however it is reached
        name = media.name or Path(media.path).name
        return ShownFile(url, name, media.kind is MediaKind.IMAGE, media.kind is MediaKind.AUDIO)

    def _shown(self, visitor: str, said: PastMessage) -> dict[str, Any]:
        """Return a message as a page shows it: ours as HTML that is made here, a visitor's as text."""
        if not said.ours:
            sent = self._sent_files.get(_of_visitor(visitor, said.id))
            return {"id": said.id, "text": said.text} | ({"files": msgspec.to_builtins(sent)} if sent else {})
        buttons = [[_button(each) for each in row] for row in said.buttons]
        file = self._shown_files.get(said.id)
        more = {"file": msgspec.to_builtins(file)} if file is not None else {}
        return {"id": said.id, "html": render(said.text, Flavour.HTML_MATRIX), "buttons": buttons, **more}

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written."""
        await self._show(address.peer, {"t": "typing"})

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        """Show the answer so far."""
        await self._show(address.peer, {"t": "draft", "html": render(text, Flavour.HTML_MATRIX)})

    async def probe(self) -> dict[str, Any]:
        """Return where the page is, and how many have it open."""
        return {"ok": self._receive is not None, "page": self.page_url, "open": len(self._open)}

    @property
    def page_url(self) -> str:
        """The address of the page; see `HasPage`."""
        return f"{self._hub_url()}/webchat/{self.account}"

    def _address(self, visitor: str) -> Address:
        return Address(self.name, visitor, self.account)

    async def _show(self, visitor: str, frame: dict[str, Any]) -> None:
        for page in [each for each in self._open if each.visitor == visitor]:
            await self._send(page, frame)

    async def _send(self, page: OpenPage, frame: dict[str, Any]) -> None:
        """Send a frame; a page that does not take it is cut off, and gets the history when it is back."""
        if self._receive is not None:
            self._receive.progress()
        try:
            async with asyncio.timeout(SEND_LIMIT_S):
                await page.socket.send_str(orjson.dumps(frame).decode())
        except (ConnectionError, TimeoutError):
            self._open.discard(page)
            if page.request.transport is not None:
                page.request.transport.abort()


async def _next_frame(socket: web.WebSocketResponse) -> PageFrame | None:
    """Return the next frame of a page; None if it is closed.

    Raises:
        DecodeError: It is not a frame of ours.
    """
    message = await socket.receive()
    return _FRAME.decode(message.data) if message.type is web.WSMsgType.TEXT else None


def _of_visitor(visitor: str, id: str) -> str:
    """Return the key of a visitor's message: they choose its id, which may be another visitor's too."""
    return f"{visitor}-{id}"


def _button(button: Button) -> dict[str, str]:
    return {"label": button.label, "value": button.value}
