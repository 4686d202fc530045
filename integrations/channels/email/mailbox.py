"""The mailbox, read over IMAP (RFC 9051). Everything here blocks; it is called in one thread of its own."""

from __future__ import annotations

import imaplib
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from io import BufferedReader
from typing import Any, cast

from imap_tools import BaseMailBox, MailBox, MailBoxStartTls, MailBoxUnencrypted
from imap_tools.errors import ImapToolsError, MailboxLoginError
from msgspec import Struct

from hub.core.secret import Secret
from integrations.channels.email.head import HEAD_LIMIT_BYTES
from integrations.channels.email.login import MailOAuth

CONNECT_LIMIT_S = 20.0
POLL_S = 60.0
"""Between two looks at a server that cannot say by itself that mail came."""
MAIL_LIMIT_BYTES = 25_000_000
BROKEN = (OSError, imaplib.IMAP4.error, ImapToolsError)
"""What a connection that fails raises."""

_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")


class MailboxRefused(Exception):
    """The server does not take name and secret."""


class MailboxAccount(Struct, frozen=True):
    """The configuration of one mailbox."""

    account: str
    address: str
    username: str
    credential: Secret | MailOAuth
    authserv_id: str
    imap_host: str
    imap_port: int
    imap_security: str
    smtp_host: str
    smtp_port: int
    smtp_security: str
    folder: str

    @classmethod
    def from_config(cls, account: Mapping[str, Any]) -> MailboxAccount:
        """Read a validated account."""
        oauth = account.get("oauth")
        credential = account["password"] if oauth is None else MailOAuth(**oauth)
        others = {name: account[name] for name in cls.__struct_fields__ if name != "credential"}
        return cls(credential=credential, **others)


class Mailbox:
    """One connection to a mailbox."""

    def __init__(self, account: MailboxAccount) -> None:
        self._account = account
        self._box: BaseMailBox | None = None
        self._closing = threading.Event()

    def open(self, secret: Secret) -> tuple[int, int]:
        """Log in and open the folder; return its UIDVALIDITY, and the UID that the next mail will have.

        Args:
            secret: The password, or with OAuth an access token.

        Raises:
            MailboxRefused: The server refuses it.
            OSError, IMAP4.error, ImapToolsError: The server cannot be reached, or has no such folder.
        """
        account = self._account
        box = self._box = _connected(account)
        try:
            if isinstance(account.credential, MailOAuth):
                _authenticate(box, account.username, secret)
            else:
                box.login(account.username, secret.reveal(), initial_folder=None)
        except imaplib.IMAP4.abort:
            raise
        except (imaplib.IMAP4.error, MailboxLoginError) as error:
            raise MailboxRefused(f"{account.imap_host} does not accept {account.username}: {_said(error)}") from error
        box.folder.set(account.folder, readonly=True)
        status = box.folder.status(account.folder, ("UIDVALIDITY", "UIDNEXT"))
        return status["UIDVALIDITY"], status["UIDNEXT"]

    def newer(self, uid: int) -> list[int]:
        """Return the UIDs above one, in order."""
        self._opened().client.untagged_responses.pop("EXISTS", None)
        # `n:*` names the last mail also when it is below n.
        return [each for each in self.search_uids(f"UID {uid + 1}:*") if each > uid]

    def since(self, day: date) -> list[int]:
        """Return the UIDs of the mails that came since a day."""
        return self.search_uids(f"SINCE {day:%d-%b-%Y}")

    def search_uids(self, criteria: str) -> list[int]:
        """Return the UIDs of the mails that match criteria of RFC 9051, in order."""
        box = self._opened()
        charset = "US-ASCII" if criteria.isascii() else "UTF-8"
        return sorted(int(uid) for uid in box.uids(criteria, charset=charset))

    def read(self, uid: int, *, head: bool = False) -> bytes:
        """Return a mail without marking it as seen; of one too large, its head alone; empty when it no longer exists.

        Args:
            head: Fetch only the head, up to `HEAD_LIMIT_BYTES`.
        """
        client = self._opened().client
        _, found = client.uid("FETCH", str(uid), "(RFC822.SIZE)")
        size = _SIZE.search(found[0]) if isinstance(found[0], bytes) else None
        if size is None:
            return b""
        head = head or int(size[1]) > MAIL_LIMIT_BYTES
        what = f"BODY.PEEK[HEADER]<0.{HEAD_LIMIT_BYTES + 1}>" if head else "BODY.PEEK[]"
        _, parts = client.uid("FETCH", str(uid), f"({what})")
        return next((bytes(part[1]) for part in parts if isinstance(part, tuple)), b"")

    def wait(self, seconds: float) -> None:
        """Wait until the server announces something, or the time is over."""
        box = self._opened()
        if "EXISTS" in box.client.untagged_responses:
            return  # it was said while mail was read, and is not said again
        if "IDLE" in box.client.capabilities:
            with box.idle:
                if not _has_read_ahead(box):
                    box.idle.poll(timeout=seconds)
            return
        self._closing.wait(min(seconds, POLL_S))
        box.client.noop()

    def interrupt(self) -> None:
        """End what another thread does here, and the connection with it.

        The descriptor is closed with this object, once that thread is through: the system gives the number of a closed
        one to the next connection, for which the thread would then wait.
        """
        self._closing.set()
        if self._box is not None:
            with suppress(OSError):
                self._box.client.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, which no other thread uses."""
        box, self._box = self._box, None
        if box is not None:
            with suppress(*BROKEN):
                box.client.shutdown()

    def _opened(self) -> BaseMailBox:
        if self._box is None:
            raise OSError("the connection was closed")
        return self._box


def _connected(account: MailboxAccount) -> BaseMailBox:
    host, port = account.imap_host, account.imap_port
    if account.imap_security == "none":
        return MailBoxUnencrypted(host, port, timeout=CONNECT_LIMIT_S)
    context = ssl.create_default_context()
    kind = MailBox if account.imap_security == "tls" else MailBoxStartTls
    return kind(host, port, timeout=CONNECT_LIMIT_S, ssl_context=context)


def _authenticate(box: BaseMailBox, username: str, token: Secret) -> None:
    """Log in with an access token; to what the server says of a wrong one, the answer is empty.

    Source: https://developers.google.com/workspace/gmail/imap/xoauth2-protocol
    """
    answers = iter((f"user={username}\1auth=Bearer {token.reveal()}\1\1".encode(), b""))
    box.client.authenticate("XOAUTH2", lambda _: next(answers, None))


def _has_read_ahead(box: BaseMailBox) -> bool:
    """Whether something came with the answer to IDLE: it lies in a buffer, where a wait for the socket misses it."""
    client = box.client
    before = client.sock.gettimeout()
    client.sock.settimeout(0)
    try:
        return bool(cast(BufferedReader, client.file).peek(1))
    except OSError:
        return False
    finally:
        client.sock.settimeout(before)


def _said(error: Exception) -> str:
    """Return the server's answer to a login."""
    if not isinstance(error, MailboxLoginError):
        return str(error)
    _, data = error.command_result
    return b" ".join(data).decode("utf-8", "replace")
