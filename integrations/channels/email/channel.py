"""One mailbox as a channel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import aiosmtplib
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.executors import Executor
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMessage,
    Receiver,
)
from hub.messaging.outbox.markup import Flavour, render
from hub.security.outside_reader import OutsideReader
from integrations.channels.email.head import MailHead, read_head
from integrations.channels.email.login import MailLogin, MailOAuth
from integrations.channels.email.mail_text import ReadMail, read_attachment, read_mail
from integrations.channels.email.mailbox import BROKEN, Mailbox, MailboxAccount, MailboxRefused
from integrations.channels.email.sender import is_automatic, is_vouched_for
from integrations.channels.reconnecting import AccountRefused, keep_connected

T = TypeVar("T")

_log = logging.getLogger(__name__)

IDLE_S = 240.0
"""A push can get lost; so often the folder is looked at anyway."""
SEND_LIMIT_S = 45.0
REFUSED_RETRY_S = 300.0
"""Before a mail is tried again whose sending was refused for the password."""
LOOK_BACK = timedelta(days=3)
"""How far back mail is read again when the server renumbers it; what was answered is known by its Message-ID."""
THREADS_KEPT = 500
ANSWERS_AN_HOUR = 20
"""In one thread: two programs that answer each other end here."""
SUBJECT_CHARS = 70
ID_CHARS = 998
"""Of the id of a mail; a line of a head is no longer."""
BEING_READ = "being read"
"""The position of the mail that is being read, and how often it was begun: one with which the hub ended again and again
is not tried any more."""
READ_TRIES = 3


class Email:
    """Reads one mailbox and answers from it.

    Args:
        config: The account.
        threads: Keeps the subject and the last mail of each thread.
        login: Gives the password or an access token.
        clock: The clock of the hub.
        reader: Reads mails.
        notice: Explains in the language of the home why a mail cannot be read.
    """

    name = "email"
    limits = ChannelLimits(
        text=100_000,
        caption=100_000,
        media=frozenset(MediaKind),
        media_bytes=20_000_000,
        markup="markdown",
        weak_identity=True,
    )

    def __init__(
        self,
        config: MailboxAccount,
        threads: JsonStorage,
        login: MailLogin,
        clock: Clock,
        reader: OutsideReader,
        notice: Callable[[str], str],
    ) -> None:
        self.account = config.account
        self.reader = reader
        self._config = config
        self._login = login
        self._clock = clock
        self._notice = notice
        self._storage = threads
        self._threads: dict[str, dict[str, str]] = {}
        self._answers: dict[str, dict[str, float]] = {}
        self._thread_of_imap = Executor("email", 1)
        self._listening: asyncio.Task[None] | None = None
        self._beginning: asyncio.Future[str | None] | None = None

    async def start(self, receive: Receiver) -> None:
        """Start reading."""
        self._receive = receive
        self._threads = await self._storage.load({})
        self._listening = asyncio.get_running_loop().create_task(self._keep(), name="read e-mail")

    async def stop(self) -> None:
        """Stop reading."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait({self._listening, *({self._beginning} if self._beginning is not None else ())})

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a mail; its Message-ID is the outbox's id, so that whoever gets it twice can tell."""
        thread = message.address.thread
        if thread is not None and not self._may_answer(thread, message.id):
            return Delivery(DeliveryState.PERMANENT, error=f"over {ANSWERS_AN_HOUR} answers an hour in one thread")
        return await self.deliver(await asyncio.to_thread(self._mail, message))

    async def deliver(self, mail: EmailMessage) -> Delivery:
        """Hand a mail to the server that sends it."""
        client = self._smtp()
        try:
            async with asyncio.timeout(SEND_LIMIT_S):
                try:
                    await self._log_in(client)
                except AccountRefused as error:
                    self._receive.disconnected(str(error), permanent=True)
                    return Delivery(DeliveryState.TRANSIENT, error=str(error), retry_after_s=REFUSED_RETRY_S)
                except (aiosmtplib.SMTPException, OSError, HubError) as error:
                    return Delivery(DeliveryState.TRANSIENT, error=f"{self._config.smtp_host}: {error}")
                return await self._handed_over(client, mail)
        except TimeoutError:
            return Delivery(DeliveryState.UNKNOWN, error=f"no answer within {SEND_LIMIT_S:g} s")
        finally:
            client.close()

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment, read again from the mailbox."""
        validity, uid, number = (int(each) for each in media.reference.split(":"))
        raw = await self.look(lambda mailbox, found: mailbox.read(uid) if found == validity else b"")
        yield await self.reader.read("the e-mail", read_attachment, raw, number, returns=bytes)

    async def open(self, raw: bytes, reference: str) -> ReadMail:
        """Return the content of a mail.

        Raises:
            InvalidRequest, TimedOut: It cannot be read within bounds.
        """
        return await self.reader.read("the e-mail", read_mail, raw, reference, returns=ReadMail)

    async def look(self, work: Callable[[Mailbox, int], T]) -> T:
        """Look into the mailbox by a connection of its own.

        Args:
            work: Gets the mailbox and its UIDVALIDITY, in a thread.

        Raises:
            Unavailable: It cannot be read.
        """

        def read(secret: Secret) -> T:
            mailbox = Mailbox(self._config)
            try:
                return work(mailbox, mailbox.open(secret)[0])
            finally:
                mailbox.close()

        try:
            return await asyncio.to_thread(read, await self._login.secret())
        except (AccountRefused, MailboxRefused, *BROKEN) as error:
            where = f"{self._config.imap_host}:{self._config.imap_port}"
            raise Unavailable(f"the mailbox at {where} cannot be read: {error}", outside=True) from error

    def new_mail(self, to: str, subject: str, text: str) -> EmailMessage:
        """Return a mail from this mailbox."""
        mail = EmailMessage()
        mail["From"] = self._config.address
        mail["To"] = to
        mail["Subject"] = " ".join(subject.split())
        mail["Date"] = datetime.fromtimestamp(self._clock.time(), UTC)
        mail.set_content(text)
        return mail

    async def probe(self) -> dict[str, Any]:
        """Log in to send, which changes nothing."""
        client = self._smtp()
        try:
            async with asyncio.timeout(SEND_LIMIT_S):
                await self._log_in(client)
        except (AccountRefused, aiosmtplib.SMTPException, OSError, TimeoutError, HubError) as error:
            return {"ok": False, "error": f"{self._config.smtp_host}: {error}"}
        finally:
            client.close()
        return {"ok": True, "address": self._config.address}

    # --- reading ---

    async def _keep(self) -> None:
        """Stay connected until the account is refused."""
        await keep_connected(self._connect, self._receive, self._clock)

    async def _connect(self) -> None:
        """Read what comes, for as long as the connection lasts."""
        mailbox = Mailbox(self._config)
        try:
            await self._read(mailbox, self._receive)
        except MailboxRefused as error:
            raise self._login.refusal(str(error)) from error
        except (TimeoutError, *BROKEN) as error:
            raise Unavailable(f"{self._config.imap_host}: {error}") from error
        finally:
            mailbox.interrupt()

    async def _read(self, mailbox: Mailbox, receive: Receiver) -> None:
        run = self._thread_of_imap.run
        validity, next_uid = await run(mailbox.open, await self._login.secret())
        # A stop waits for it: what comes after the first login is new, whatever happens then.
        self._beginning = asyncio.ensure_future(self._begin(receive, f"{validity}:{next_uid - 1}"))
        known = await asyncio.shield(self._beginning)
        if known is None:
            last, uids = next_uid - 1, []
        elif known.partition(":")[0] != str(validity):
            last, uids = 0, await run(mailbox.since, (datetime.now(UTC) - LOOK_BACK).date())
        else:
            last = int(known.partition(":")[2])
            uids = await run(mailbox.newer, last)
        while True:
            for uid in uids:
                await self._take(receive, mailbox, f"{validity}:{uid}")
                last = max(last, uid)
                await receive.keep_cursor(f"{validity}:{last}")
            receive.progress()
            await run(mailbox.wait, IDLE_S)
            uids = await run(mailbox.newer, last)

    async def _begin(self, receive: Receiver, now: str) -> str | None:
        """Return how far the mailbox was read; at the first login, keep that it is read from now on."""
        receive.identified(self._config.address, self._config.address)
        known = await receive.cursor()
        if known is None:
            await receive.keep_cursor(now)
        receive.connected()
        return known

    async def _take(self, receive: Receiver, mailbox: Mailbox, reference: str) -> None:
        """Pass a mail to the hub: the header tells the sender, and the text is read only if they may talk."""
        uid = int(reference.partition(":")[2])
        head = read_head(await self._thread_of_imap.run(partial(mailbox.read, uid, head=True)))
        if head is None:
            where = self._config.address
            _log.warning("the head of the e-mail %s of %s cannot be read; it is left alone", reference, where)
            return
        message = self._message(head, reference)
        if message is None:
            return
        if receive.admits(message):
            mail = await self._read_once(receive, mailbox, reference)
            replies = message.reply_to is not None
            text = mail.text if replies or not mail.subject else f"{mail.subject}\n\n{mail.text}".strip()
            self._remember(message, mail.subject, head)
            message = replace(message, text=text, media=mail.media)
        await receive(message)
        await self._storage.save(self._threads)

    async def _read_once(self, receive: Receiver, mailbox: Mailbox, reference: str) -> ReadMail:
        """Return the mail, or a notice that it cannot be read."""
        begun, _, tries = (await receive.cursor(BEING_READ) or "").partition(" ")
        times = int(tries or 1) if begun == reference else 0
        if times >= READ_TRIES:
            return self._unread(reference, f"the hub stopped {times} times while it was reading it")
        raw = await self._thread_of_imap.run(mailbox.read, int(reference.partition(":")[2]))
        await receive.keep_cursor(f"{reference} {times + 1}", BEING_READ)
        try:
            return await self.open(raw, reference)
        except HubError as error:
            return self._unread(reference, error.message)
        finally:  # whatever happens from here on says nothing of the mail, unless the hub itself ended with it
            await asyncio.shield(receive.keep_cursor("", BEING_READ))

    def _unread(self, reference: str, why: str) -> ReadMail:
        _log.warning("the e-mail %s of %s is passed over: %s", reference, self._config.address, why)
        return ReadMail("", self._notice(why))

    def _message(self, head: MailHead, reference: str) -> InboundMessage | None:
        """Build the message from the head alone."""
        sender = head.sender()
        if sender is None or sender == self._config.address.lower() or is_automatic(head):
            return None
        vouched = is_vouched_for(head, sender, self._config.authserv_id)
        if not vouched:
            _log.info("nobody vouches for the sender of the e-mail %s; it has no rights", reference)
        message_id = head.first("message-id")[:ID_CHARS] or reference
        references = _references(head)
        return InboundMessage(
            Address(self.name, sender, self.account, thread=references[0] if references else message_id),
            message_id,
            f"email:address:{sender}" if vouched else "",
            "",
            reply_to=references[-1] if references else None,
        )

    def _remember(self, message: InboundMessage, subject: str, head: MailHead) -> None:
        thread = str(message.address.thread)
        self._threads.pop(thread, None)
        kept = [*_references(head)[-20:], message.message_id]
        self._threads[thread] = {"subject": subject, "references": " ".join(kept)}
        while len(self._threads) > THREADS_KEPT:
            del self._threads[next(iter(self._threads))]

    # --- writing ---

    def _smtp(self) -> aiosmtplib.SMTP:
        config = self._config
        return aiosmtplib.SMTP(
            hostname=config.smtp_host,
            port=config.smtp_port,
            use_tls=config.smtp_security == "tls",
            start_tls=config.smtp_security == "starttls",
            timeout=SEND_LIMIT_S,
        )

    async def _log_in(self, client: aiosmtplib.SMTP) -> None:
        """Connect and log in to send.

        Raises:
            AccountRefused: It needs a person.
            HubError, OSError, SMTPException: It may go better the next time.
        """
        username, secret = self._config.username, await self._login.secret()
        await client.connect()
        try:
            if isinstance(self._config.credential, MailOAuth):
                await client.auth_xoauth2(username, secret.reveal())
            else:
                await client.login(username, secret.reveal())
        except aiosmtplib.SMTPAuthenticationError as error:
            if error.code < 500:
                raise
            text = f"{self._config.smtp_host} does not accept {username}: {error.code} {error.message}"
            raise self._login.refusal(text) from error

    def _mail(self, message: OutboundMessage) -> EmailMessage:
        thread: Mapping[str, str] = self._threads.get(message.address.thread or "", {})
        subject = thread.get("subject") or message.text.strip().split("\n")[0][:SUBJECT_CHARS] or "Homarus"
        shown = subject if not thread or subject.lower().startswith("re:") else f"Re: {subject}"
        mail = self.new_mail(message.address.peer, shown, message.text)
        mail["Message-ID"] = f"<{message.id}@{self._config.address.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-replied" if thread else "auto-generated"
        if references := thread.get("references"):
            mail["References"] = references
            mail["In-Reply-To"] = message.reply_to or references.split()[-1]
        mail.add_alternative(render(message.text, Flavour.HTML_MATRIX), subtype="html")
        for media in message.media:
            kind, _, subtype = media.mime_type.partition("/")
            data = Path(media.path).read_bytes()
            mail.add_attachment(data, maintype=kind, subtype=subtype, filename=media.name or Path(media.path).name)
        return mail

    async def _handed_over(self, client: aiosmtplib.SMTP, mail: EmailMessage) -> Delivery:
        """Hand a mail to the server; a connection that breaks now leaves open whether the server took it."""
        try:
            await client.send_message(mail)
        except aiosmtplib.SMTPRecipientsRefused as error:
            return _refused(error.recipients[0])
        except aiosmtplib.SMTPResponseException as error:
            return _refused(error)
        except (aiosmtplib.SMTPException, OSError) as error:
            return Delivery(DeliveryState.UNKNOWN, error=f"{self._config.smtp_host} broke off: {error}")
        with suppress(aiosmtplib.SMTPException, OSError):
            await client.quit()
        return Delivery(DeliveryState.DELIVERED, platform_ids=(str(mail["Message-ID"]),))

    def _may_answer(self, thread: str, message_id: str) -> bool:
        now = self._clock.time()
        answers = {id: at for id, at in self._answers.pop(thread, {}).items() if at > now - 3_600}
        self._answers[thread] = answers
        if len(self._answers) > THREADS_KEPT:
            del self._answers[next(iter(self._answers))]
        if message_id not in answers and len(answers) >= ANSWERS_AN_HOUR:
            return False
        answers.setdefault(message_id, now)
        return True


def _references(head: MailHead) -> list[str]:
    """Return the ids of the mails before this one in its thread, oldest first."""
    found = (head.first("references") or head.first("in-reply-to")).split()
    return [each for each in found if len(each) <= ID_CHARS]


def _refused(error: aiosmtplib.SMTPResponseException) -> Delivery:
    """Return the delivery state for a server's refusal: 4xx may be tried again (RFC 5321, 4.2.1)."""
    state = DeliveryState.TRANSIENT if 400 <= error.code < 500 else DeliveryState.PERMANENT
    return Delivery(state, error=f"{error.code} {error.message}")
