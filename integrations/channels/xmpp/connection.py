"""One connection to an XMPP server, through slixmpp: logged in over TLS, with its rooms, or not at all.

The library is imported on the first connection.
"""

from __future__ import annotations

import asyncio
import io
import logging
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from xml.etree.ElementTree import Element, SubElement, tostring

from msgspec import Struct

from hub.core.errors import HubError, Unavailable
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import PlatformError
from integrations.channels.reconnecting import AccountRefused
from integrations.channels.xmpp.events import CLIENT, DELAY, MUC_USER, bare

_log = logging.getLogger(__name__)

MAM = "urn:xmpp:mam:2"
RSM = "http://jabber.org/protocol/rsm"
MUC = "{http://jabber.org/protocol/muc}"
FORWARD = "{urn:xmpp:forward:0}"
ROSTER = "{jabber:iq:roster}"
PUBSUB = "{http://jabber.org/protocol/pubsub}"
BOOKMARKS = "urn:xmpp:bookmarks:1"
PUT_OUT = frozenset({"301", "307", "321", "322"})
"""A room's codes for those whom it bans, kicks, or no longer lets in."""
BY_ERROR = "333"
"""It kicked whom it could not reach."""
FORM = "{jabber:x:data}"
PORT, DIRECT_TLS_PORT = 5_222, 5_223
PAGE = 100
NO_TLS = "the server does not encrypt the connection"
STANZA_LIMIT_BYTES = 200_000
PLUGINS = ("xep_0030", "xep_0198", "xep_0199", "xep_0363")
_LASTING = frozenset({"cancel", "auth", "modify"})


class XmppTiming(Struct, frozen=True):
    """How long things may take."""

    connect_s: float = 30.0
    answer_s: float = 30.0
    silence_s: float = 60.0
    resume_s: float = 30.0


USUAL_TIMING = XmppTiming()


class XmppAccount(Struct, frozen=True):
    """One entry of the configuration."""

    name: str
    jid: str
    password: Secret
    host: str | None = None
    port: int | None = None
    plaintext: bool = False
    rooms: tuple[str, ...] = ()
    nick: str = ""
    direct_tls: bool = False
    bookmarks: bool = False

    @classmethod
    def from_config(cls, entry: Mapping[str, Any]) -> Self:
        """Return the account of a valid entry."""
        return cls(
            entry["account"],
            entry["jid"],
            entry["password"],
            entry.get("host"),
            entry.get("port"),
            entry["plaintext"],
            tuple(entry["rooms"]),
            entry.get("nick") or entry["jid"].partition("@")[0],
            entry.get("direct_tls", entry.get("port") == DIRECT_TLS_PORT),
            entry["bookmarks"],
        )


class XmppConnection:
    """A session that is logged in, which is resumed when its line breaks: nothing is lost then, and nothing sent twice.

    The server is told how much was taken (XEP-0198), a message only once the next one is asked for.

    Args:
        progress: Called whenever the server says something.

    Attributes:
        nicks: The own nick in each room that was joined.
        occupants: Real addresses by room and nick, where the room tells them.
        away: Why it is not in some room.
        ended: Why it ended; empty while it has not.
    """

    def __init__(self, account: XmppAccount, timing: XmppTiming, progress: Callable[[], None]) -> None:
        self._account = account
        self._timing = timing
        self._progress = progress
        self._client: Any = None
        self._messages: asyncio.Queue[Element | None] = asyncio.Queue()
        self._arrived = self._resumed_at = 0
        self._untaken: deque[int] = deque()
        self._is_given = False
        self.nicks: dict[str, str] = {}
        self.occupants: dict[tuple[str, str], str] = {}
        self.away: dict[str, str] = {}
        self.ended = ""
        self._waiting: dict[str, asyncio.Future[Element]] = {}
        self._asked: set[asyncio.Future[Any]] = set()
        self._joins: dict[str, asyncio.Future[None]] = {}
        self._archives: set[str | None] = set()
        self._put_out: set[str] = set()
        self._results: dict[str, list[tuple[str, Element]]] = {}
        self._resuming: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Connect, log in and join the rooms.

        Raises:
            AccountRefused: The server does not take the password, or does not encrypt.
            Unavailable: It cannot be reached.
        """
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        client = self._client = await self._made()
        self._connect()
        try:
            async with asyncio.timeout(self._timing.connect_s):
                await self._begun
        except TimeoutError as error:
            raise Unavailable("the server does not answer") from error
        if self._is_open_to_all():
            raise self._refusal()
        client.send_presence()
        await self.enter()

    async def _made(self) -> Any:
        slixmpp = await asyncio.to_thread(_library)
        account = self._account
        # Without one it would read the certificates of the system twice, while the loop waits.
        if account.plaintext:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        else:
            context = await asyncio.to_thread(ssl.create_default_context)
        client = slixmpp.ClientXMPP(
            account.jid,
            account.password.reveal(),
            plugin_config={"feature_mechanisms": {"unencrypted_scram": account.plaintext}},
            ssl_context=context,
        )
        client.enable_plaintext = account.plaintext
        client.enable_direct_tls = account.direct_tls
        client.enable_starttls = not (account.plaintext or account.direct_tls)
        for each in PLUGINS:
            client.register_plugin(each)
        client.add_event_handler("session_start", lambda _: self._begin())
        client.add_event_handler("failed_all_auth", lambda _: self._fail(self._refusal()))
        client.add_event_handler("connection_failed", self._unreached)
        client.add_event_handler("disconnected", self._lost)
        client.add_event_handler("session_resumed", lambda _: self._resumed())
        client.add_event_handler("sm_failed", lambda _: self._forgotten())
        self._acks = client.plugin["xep_0198"]
        client.del_filter("in", self._acks._handle_incoming)  # see `_count`
        client.add_filter("in", self._count)
        client.register_handler(_handler("message", self._heard))
        client.register_handler(_handler("presence", self._seen))
        return client

    def _connect(self) -> None:
        account = self._account
        self._client.connect(account.host or account.jid.partition("@")[2], account.port or PORT)

    def cut(self) -> None:
        """Give up a line that is silent, and resume the session on another."""
        self._client.abort()

    async def close(self) -> None:
        """Leave."""
        self._fail(Unavailable("logged out"))

    def _is_open_to_all(self) -> bool:
        """Whether what is said could be read on the way, and should not be."""
        return not self._account.plaintext and self._client.transport.get_extra_info("ssl_object") is None

    def _refusal(self) -> AccountRefused:
        why = NO_TLS if self._is_open_to_all() else "the server does not take the password"
        return AccountRefused(f"{self._account.jid}: {why}")

    def _begin(self) -> None:
        if not self._begun.done():
            self._begun.set_result(None)
        self._forgotten()  # another session than the one that was to be resumed

    def _unreached(self, why: object) -> None:
        if self._resuming is None:
            self._fail(Unavailable(f"cannot be reached: {why}"))

    def _lost(self, why: object) -> None:
        """Try to resume the session, for a while, if the server offered that."""
        error = Unavailable(f"the connection ended: {why}")
        if self.ended or not self._acks.sm_id:
            self._fail(error)
            return
        if self._resuming is None:
            self._resuming = asyncio.get_running_loop().call_later(self._timing.resume_s, self._fail, error)
        queue = self._client.waiting_queue
        for _ in range(queue.qsize()):  # the library would drop what it was about to write
            self._client.send(*queue.get_nowait())
            queue.task_done()
        self._resumed_at = self._arrived  # what is here, and waits to be stored, is not to come again
        self._acks.handled = self._taken
        self._connect()

    def _resumed(self) -> None:
        if self._resuming is not None:
            self._resuming.cancel()
            self._resuming = None
        self._progress()

    def _forgotten(self) -> None:
        if self._resuming is not None:
            self._fail(Unavailable("the server forgot the session"))

    def _fail(self, error: Exception) -> None:
        if self.ended:
            return
        self.ended = str(error)
        if self._resuming is not None:
            self._resuming.cancel()
        if self._client is not None:
            self._client.cancel_connection_attempt()
            if self._client.transport is not None:
                self._client.send_raw(self._client.stream_footer)  # the server shall keep nothing for this session
                self._client.abort()
        if not self._begun.done():
            self._begun.set_exception(error)
            self._begun.exception()  # nobody may be waiting any more
        self._messages.put_nowait(None)
        waiting: list[asyncio.Future[Any]] = [*self._waiting.values(), *self._joins.values(), *self._asked]
        for each in waiting:
            if not each.done():
                each.set_exception(Unavailable(self.ended))

    # --- what comes ---

    async def next(self) -> Element | None:
        """Return the next message, once there is one; None at the end. The one before it counts as taken."""
        if self._is_given:
            self._untaken.popleft()
            self._acks.handled = self._taken
            if not self._untaken and self._acks.enabled_in:
                self._acks.send_ack()
        self._is_given = False
        message = await self._messages.get()
        self._is_given = message is not None
        return message

    @property
    def _taken(self) -> int:
        """How much the server need not say again to another session."""
        stored = self._untaken[0] - 1 if self._untaken else self._arrived
        return max(stored, self._resumed_at) % 2**32

    def _count(self, stanza: Any) -> Any:
        """Count what comes, as the server does; the library would count messages as taken before they are stored."""
        if self._acks.enabled_in and stanza.name in ("message", "presence", "iq"):
            self._arrived += 1
            self._acks.handled = self._taken
        return stanza

    def _heard(self, message: Element) -> None:
        self._progress()
        if (result := message.find(f"{{{MAM}}}result")) is not None:
            self._found(result)
            return
        room, _, nick = message.get("from", "").partition("/")
        is_echo = message.get("type") == "groupchat" and nick == self.nicks.get(room.lower())
        if is_echo or message.get("type") == "error":
            waiting = self._waiting.get(message.get("id", ""))
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        self._untaken.append(self._arrived if self._acks.enabled_in else self._arrived + 1)
        self._acks.handled = self._taken
        self._messages.put_nowait(message)

    def _found(self, result: Element) -> None:
        """Keep what an archive shows, if it was asked for."""
        inner = result.find(f"{FORWARD}forwarded/{CLIENT}message")
        found = self._results.get(result.get("queryid", ""))
        if inner is None or found is None:
            return
        delay = result.find(f"{FORWARD}forwarded/{DELAY}")
        if delay is not None and inner.find(DELAY) is None:
            inner.append(delay)
        found.append((result.get("id", ""), inner))

    def _seen(self, presence: Element) -> None:
        """Note who is in a room."""
        room, _, nick = presence.get("from", "").partition("/")
        room, leaves = room.lower(), presence.get("type") == "unavailable"
        if (joining := self._joins.get(room)) is None:
            return
        if presence.get("type") == "error":
            if not joining.done():
                joining.set_exception(Unavailable(_reason(presence)))
            return
        item = presence.find(f"{MUC_USER}x/{MUC_USER}item")
        if leaves:
            self.occupants.pop((room, nick), None)
        elif item is not None and item.get("jid"):
            self.occupants[room, nick] = bare(item.get("jid", ""))
        codes = {each.get("code") for each in presence.iter(f"{MUC_USER}status")}
        if "110" not in codes:
            return
        if leaves:
            self.nicks.pop(room, None)
            self.away[room] = "it was removed" if codes & PUT_OUT else "the room let it go"
            if codes & PUT_OUT and BY_ERROR not in codes:
                self._put_out.add(room)
            return
        self.nicks[room] = nick
        if not joining.done():
            joining.set_result(None)

    # --- what goes ---

    async def enter(self) -> list[str]:
        """Join the rooms that it should be in and is not; return those that it joined.

        One that cannot be joined holds up nothing, and one that put it out is not entered again.

        Raises:
            Unavailable: The connection ended.
        """
        wanted = [*self._account.rooms, *(await self._bookmarked() if self._account.bookmarks else ())]
        return [
            room
            for room in dict.fromkeys(wanted)
            if room not in self.nicks and room not in self._put_out and await self._join(room)
        ]

    async def _bookmarked(self) -> list[str]:
        """Return the rooms that the account's bookmarks (XEP-0402) say to join."""
        query = Element(f"{PUBSUB}pubsub")
        SubElement(query, f"{PUBSUB}items", {"node": BOOKMARKS})
        items = (await self.ask("get", None, query)).iter(f"{PUBSUB}item")
        rooms = {bare(each.get("id", "")): each.find(f"{{{BOOKMARKS}}}conference") for each in items}
        return [room for room, each in rooms.items() if each is not None and each.get("autojoin") in ("true", "1")]

    async def _join(self, room: str) -> bool:
        joining = self._joins[room] = asyncio.get_running_loop().create_future()
        presence = Element(f"{CLIENT}presence", {"to": f"{room}/{self._account.nick}"})
        SubElement(SubElement(presence, f"{MUC}x"), f"{MUC}history", {"maxstanzas": "0"})
        self._client.Presence(xml=presence).send()
        try:
            async with asyncio.timeout(self._timing.answer_s):
                await joining
        except TimeoutError:
            return self._is_away(room, "it does not answer")
        except Unavailable as error:
            if self.ended:
                raise
            return self._is_away(room, error.message)
        self.away.pop(room, None)
        return True

    def _is_away(self, room: str, why: str) -> bool:
        if self.away.get(room) != why:
            _log.warning("xmpp: %s is not in %s: %s", self._account.jid, room, why)
        self.away[room] = why
        return False

    async def deliver(self, message: Element) -> Element | None:
        """Send a message, and wait until the server has it; return the room's echo of it.

        Raises:
            PlatformError: It was refused, or is unknown.
        """
        id = message.get("id", "")
        if len(tostring(message)) > STANZA_LIMIT_BYTES:
            raise PlatformError(DeliveryState.PERMANENT, "it is too long for a message of XMPP")
        if self.ended:
            raise PlatformError(DeliveryState.TRANSIENT, "the account is not connected", retry_after_s=5.0)
        waiting = self._waiting[id] = asyncio.get_running_loop().create_future()
        answer: Element | None = None
        try:
            self._client.Message(xml=message).send()
            async with asyncio.timeout(self._timing.answer_s):
                if message.get("type") == "groupchat":
                    answer = await waiting
                else:  # what is said to a person has no answer but an error, which comes before the next one
                    await self.ping()
                    answer = waiting.result() if waiting.done() else None
        except (TimeoutError, HubError) as error:
            raise PlatformError(DeliveryState.UNKNOWN, f"the connection ended while it was sent: {error}") from error
        finally:
            del self._waiting[id]
            if not waiting.cancel():
                waiting.exception()
        if answer is not None and answer.get("type") == "error":
            why = _reason(answer)
            if message.get("type") == "groupchat" and message.get("to", "").lower() not in self.nicks:
                why = f"the account is not in the room {message.get('to')}; let it in, and restart the hub: {why}"
            raise _refused(answer, why)
        return answer

    def tell(self, message: Element) -> None:
        """Send something whose loss does not matter."""
        if not self.ended:
            self._client.Message(xml=message).send()

    async def ping(self) -> None:
        """Wait until the server answers, which is after all that was sent before.

        Raises:
            Unavailable: The connection ended.
        """
        if self.ended:
            raise Unavailable(self.ended)
        await self.ask("get", None, Element("{urn:xmpp:ping}ping"))
        self._progress()

    async def ask(self, kind: str, to: str | None, query: Element) -> Element:
        """Return the answer to a query, also an error.

        Raises:
            Unavailable: There is none.
        """
        from slixmpp.exceptions import IqError, IqTimeout

        iq = self._client.make_iq(itype=kind, ito=to)
        iq.append(query)
        asked = iq.send(timeout=self._timing.answer_s)
        self._asked.add(asked)
        try:
            answer = await asked
        except IqError as error:
            answer = error.iq
        except IqTimeout as error:
            raise Unavailable("the server does not answer") from error
        finally:
            self._asked.discard(asked)
        found: Element = answer.xml
        return found

    # --- archives, files and people ---

    async def archive(
        self, of: str | None, *, after: str | None = None, since: float | None = None
    ) -> AsyncIterator[tuple[str, Element]]:
        """Yield what an archive holds (XEP-0313), with its ids; nothing where there is none.

        Args:
            of: The room; the account's own without it.
            after: The id after which to begin.
            since: Or the time, in seconds since the epoch.
        """
        while True:
            mark = new_id()
            query = Element(f"{{{MAM}}}query", {"queryid": mark})
            if since is not None:
                stamp = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                form = SubElement(query, f"{FORM}x", {"type": "submit"})
                for name, value in (("FORM_TYPE", MAM), ("start", stamp)):
                    SubElement(SubElement(form, f"{FORM}field", {"var": name}), f"{FORM}value").text = value
            page = SubElement(query, f"{{{RSM}}}set")
            SubElement(page, f"{{{RSM}}}max").text = str(PAGE)
            if after is not None:
                SubElement(page, f"{{{RSM}}}after").text = after
            found = self._results[mark] = []
            try:
                answer = await self.ask("set", of, query)
            finally:
                del self._results[mark]
            for each in found:
                yield each
            end = answer.find(f"{{{MAM}}}fin")
            if end is not None:
                self._archives.add(of)
            if end is None or end.get("complete") == "true" or not found:
                return
            after = found[-1][0]

    def has_archive(self, of: str | None) -> bool:
        """Whether a room, or the account, has shown an archive."""
        return of in self._archives

    async def upload(self, path: str, name: str, mime_type: str) -> str:
        """Put a file on the server (XEP-0363), and return its address.

        Raises:
            PlatformError: It has no place for it, or does not take it.
        """
        from slixmpp.exceptions import IqError, IqTimeout
        from slixmpp.plugins.xep_0363.http_upload import FileUploadError

        data = await asyncio.to_thread(Path(path).read_bytes)
        try:
            url: str = await self._client.plugin["xep_0363"].upload_file(
                name, len(data), mime_type, input_file=io.BytesIO(data), timeout=self._timing.answer_s
            )
        except FileUploadError as error:
            raise PlatformError(DeliveryState.PERMANENT, f"the server takes no such file: {error}") from error
        except (IqError, IqTimeout) as error:
            raise PlatformError(DeliveryState.TRANSIENT, f"the server has no place for a file: {error}") from error
        return url

    async def people(self) -> dict[str, str]:
        """Return the names of the people in the roster, by address."""
        answer = await self.ask("get", None, Element(f"{ROSTER}query"))
        jids = {bare(each.get("jid", "")): each.get("name") for each in answer.iter(f"{ROSTER}item")}
        return {jid: name or jid.partition("@")[0] for jid, name in jids.items()}


def _library() -> Any:
    import slixmpp

    import integrations.channels.xmpp.scram  # noqa: F401  its mechanism takes its place

    return slixmpp


def _handler(name: str, see: Callable[[Element], None]) -> Any:
    from slixmpp.xmlstream.handler import Callback
    from slixmpp.xmlstream.matcher import MatchXPath

    return Callback(f"homarus {name}", MatchXPath(f"{CLIENT}{name}"), lambda stanza: see(stanza.xml))


def _refused(stanza: Element, why: str) -> PlatformError:
    """Return the error that a stanza is answered with."""
    refusal = stanza.find(f"{CLIENT}error")
    lasting = refusal is not None and refusal.get("type") in _LASTING
    return PlatformError(DeliveryState.PERMANENT if lasting else DeliveryState.TRANSIENT, why)


def _reason(stanza: Element) -> str:
    """Return what an error says."""
    error = stanza.find(f"{CLIENT}error")
    if error is None:
        return "refused"
    conditions = [each.tag.partition("}")[2] for each in error if not each.tag.endswith("}text")]
    text = error.findtext("{urn:ietf:params:xml:ns:xmpp-stanzas}text") or ""
    return f"{', '.join(conditions) or 'refused'} {text}".strip()[:300]
