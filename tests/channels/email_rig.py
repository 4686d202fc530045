"""E-mail for the test-kit: a real Dovecot, and a server that takes mail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from email.message import EmailMessage
from email.utils import make_msgid
from pathlib import Path
from typing import Any, TypeVar

from hub.core.clock import Clock
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import Address, Channel
from hub.messaging.texts import say
from hub.security.outside_reader import OutsideReader, ReadLimits
from integrations.channels.email.channel import Email
from integrations.channels.email.login import MailLogin, MailOAuth
from integrations.channels.email.mail_text import read_mail
from integrations.channels.email.mailbox import MailboxAccount
from integrations.channels.email.sign_in import SignInEmail
from tests.channels.kit import ADA, Can, Rig, Trouble
from tests.servers.mail_server import PASSWORD, SmtpServer
from tests.servers.shared import dovecot

T = TypeVar("T")
SERVER = "mx.home.test"
FAULTS = {
    Trouble.RATE_LIMITED: "451 4.7.1 try later",
    Trouble.REFUSED_FOR_NOW: "421 4.3.0 not now",
    Trouble.ANSWER_LOST: "lost",
    Trouble.FORBIDDEN: "550 5.1.1 no such person",
}


def mail(
    text: str, who: str = ADA, *, results: str | None = "", media: bytes | None = None, **headers: str
) -> EmailMessage:
    """Return a mail as our server hands it out; `results` is what it found of the sender, passed when empty."""
    message = EmailMessage()
    domain = f"{who}.test"
    if results is not None:
        message["Authentication-Results"] = (
            results or f"{SERVER}; dkim=pass header.d={domain}; dmarc=pass header.from={domain}"
        )
    message["From"] = f"{who.title()} <{who}@{domain}>"
    message["To"] = "home@home.test"
    message["Message-ID"] = make_msgid(domain=domain)
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    if media is not None:
        message.add_attachment(media, maintype="image", subtype="png", filename="a.png")
    return message


class WatchedReader(OutsideReader):
    """A reader that notes which mails it was given, and can take for ever."""

    def __init__(self) -> None:
        super().__init__(ReadLimits(deadline_s=300.0, cpu_s=2))  # seconds of a processor that others use too
        self.mails: list[str] = []
        self.hangs = False

    async def read(self, what: str, function: Callable[..., Any], *arguments: Any, returns: type[T]) -> T:
        if function is read_mail:
            self.mails.append(bytes(arguments[0]).rpartition(b"\r\n\r\n")[2].decode().strip()[-80:])
        if self.hangs:
            await asyncio.Event().wait()
        return await super().read(what, function, *arguments, returns=returns)


class EmailRig(Rig):
    """A mailbox of its own for each account."""

    name = "email"
    can = frozenset({Can.MEDIA, Can.OFFERS_AGAIN, Can.TWO_ACCOUNTS})
    troubles = frozenset(FAULTS)
    passed_over = "times while it was reading it"

    def __init__(self) -> None:
        self.smtp = SmtpServer()
        self.reader = WatchedReader()
        self._mailboxes: dict[str, str] = {}
        self._last = b""
        self._written_to = "default"

    async def start(self) -> None:
        await self.smtp.start()

    async def stop(self) -> None:
        await self.smtp.stop()
        await self.reader.close()

    def channel(self, folder: Path, clock: Clock, account: str = "default", oauth: MailOAuth | None = None) -> Channel:
        mailbox = self._mailboxes.setdefault(account, f"box-{new_id()}")
        config = MailboxAccount(
            account=account,
            address=f"{mailbox}@home.test",
            username=mailbox,
            credential=oauth or Secret(PASSWORD),
            authserv_id=SERVER,
            imap_host="127.0.0.1",
            imap_port=dovecot().port,
            imap_security="none",
            smtp_host="127.0.0.1",
            smtp_port=self.smtp.port,
            smtp_security="none",
            folder="INBOX",
        )
        login = MailLogin(config.credential, JsonStorage(folder / f"tokens-{account}.json"), clock)
        threads = JsonStorage(folder / f"email-{account}.json")
        common = (config, threads, login, clock, self.reader, lambda why: say("mail.unread", why=why))
        return Email(*common) if oauth is None or oauth.refresh_token else SignInEmail(oauth, *common)

    def section(self, account: str = "default") -> dict[str, Any]:
        mailbox = self._mailboxes.setdefault(account, f"box-{new_id()}")
        return {
            "account": account,
            "address": f"{mailbox}@home.test",
            "username": mailbox,
            "password": PASSWORD,
            "authserv_id": SERVER,
            "imap_host": "127.0.0.1",
            "imap_port": dovecot().port,
            "imap_security": "none",
            "smtp_host": "127.0.0.1",
            "smtp_port": self.smtp.port,
            "smtp_security": "none",
        }

    def mailbox(self, account: str = "default") -> str:
        """Return the name of the mailbox of an account."""
        return self._mailboxes[account]

    def writes_to(self, account: str) -> None:
        self._written_to = account

    def identity(self, who: str) -> str:
        return f"email:address:{who}@{who}.test"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("email", f"{who}@{who}.test", thread=thread)

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
        return self.delivers(mail(text, who, media=media))

    def delivers(self, message: EmailMessage) -> str:
        """Put a mail into the mailbox; return its Message-ID."""
        self._last = message.as_bytes()
        dovecot().deliver(self._mailboxes[self._written_to], self._last)
        return str(message["Message-ID"])

    def renumber(self) -> None:
        """Renumber the mails."""
        dovecot().renumber(self._mailboxes["default"])

    async def says_again(self) -> None:
        dovecot().deliver(self._mailboxes[self._written_to], self._last)

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        sent = [each for each in self.smtp.mails if each["To"] == f"{who}@{who}.test"]
        bodies = [each.get_body(("plain",)) for each in sent]
        return [str(body.get_content()).replace("\r\n", "\n").strip() for body in bodies if body is not None]

    def uploads(self) -> list[bytes]:
        parts = [part for each in self.smtp.mails for part in each.iter_attachments()]
        return [bytes(part.get_payload(decode=True) or b"") for part in parts]

    def attempts(self) -> int:
        return self.smtp.attempts

    def trouble(self, *troubles: Trouble) -> None:
        self.smtp.faults += [FAULTS[each] for each in troubles]

    def revokes(self, account: str = "default") -> None:
        dovecot().revoke(self._mailboxes[account])
