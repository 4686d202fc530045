"""A real IMAP server (Dovecot), and a small SMTP server that keeps what it is given and fails when told to."""

from __future__ import annotations

import asyncio
import base64
import hmac
import imaplib
import json
import os
import shutil
import subprocess
import tempfile
import time
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.servers.ports import free_port

START_LIMIT_S = 60.0
PASSWORD = "a-password"
_CONFIGURATION = """\
protocols = imap
base_dir = {folder}/run
log_path = {folder}/log
ssl = no
disable_plaintext_auth = no
mail_location = maildir:{folder}/mail/%u
first_valid_uid = 0
first_valid_gid = 0
mail_uid = {uid}
mail_gid = {gid}
default_login_user = {login}
default_internal_user = {user}
default_internal_group = {group}
service imap-login {{
  chroot =
  inet_listener imap {{
    address = 127.0.0.1
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
  # One refused login would delay each later one, of any test, by up to 15 seconds.
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service stats {{
  chroot =
}}
auth_failure_delay = 0
passdb {{
  driver = passwd-file
  deny = yes
  args = {folder}/revoked
}}
auth_mechanisms = plain xoauth2
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {folder}/oauth2
}}
passdb {{
  driver = static
  mechanisms = plain
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail/%u
}}
"""
_OAUTH = """\
introspection_mode = local
local_validation_key_dict = fs:posix:prefix={folder}/keys/
username_attribute = sub
"""
_TOKEN_KEY = b"what-tokens-are-signed-with"


def access_token(mailbox: str, life_s: int = 3_600) -> str:
    """Return an access token for a mailbox, a signed JWT (RFC 7519)."""
    now = int(time.time())
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": mailbox, "iat": now, "exp": now + life_s})
    signed = b".".join(_base64url(json.dumps(part).encode()) for part in parts)
    return b".".join((signed, _base64url(hmac.digest(_TOKEN_KEY, signed, "sha256")))).decode()


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class Dovecot:
    """Runs one Dovecot; each name is a mailbox of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dovecot-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> Self:
        import grp
        import pwd

        program = shutil.which("dovecot", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
        assert program is not None, "Dovecot is not installed: script/system-package dovecot-imapd 'read e-mail'"
        self.port = free_port()
        # As root it takes the users that its package made; it refuses to serve strangers as root.
        login, user = ("dovenull", "dovecot") if os.getuid() == 0 else (pwd.getpwuid(os.getuid()).pw_name,) * 2
        owner = pwd.getpwnam(user)
        mail = self.folder / "mail"
        mail.mkdir()
        if os.getuid() == 0:
            self.folder.chmod(0o755)
            os.chown(mail, owner.pw_uid, owner.pw_gid)
        configuration = self.folder / "dovecot.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                folder=self.folder,
                port=self.port,
                uid=owner.pw_uid,
                gid=owner.pw_gid,
                login=login,
                user=user,
                group=grp.getgrgid(owner.pw_gid).gr_name,
                password=PASSWORD,
            )
        )
        (self.folder / "oauth2").write_text(_OAUTH.format(folder=self.folder))
        keys = self.folder / "keys" / "default" / "HS256"
        keys.mkdir(parents=True)
        (keys / "default").write_text(base64.b64encode(_TOKEN_KEY).decode())
        self._revoked = self.folder / "revoked"
        self._revoked.touch()
        self._revoked.chmod(0o644)  # for the user that Dovecot reads it with, whatever the umask is
        self._process = subprocess.Popen(
            (program, "-F", "-c", str(configuration)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end and self._process.poll() is None:
            try:
                self._client("probe").logout()
            except (OSError, imaplib.IMAP4.error):
                time.sleep(0.05)
            else:
                return self
        log = self.folder / "log"
        raise AssertionError(f"Dovecot did not start:\n{log.read_text()[-4000:] if log.exists() else ''}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def revoke(self, mailbox: str) -> None:
        """Let nobody log in to a mailbox any more, and cut off who is."""
        with self._revoked.open("a") as file:
            file.write(f"{mailbox}:\n")
        self._doveadm("reload")
        self._doveadm("kick", mailbox)

    def _doveadm(self, *command: str) -> None:
        configuration = str(self.folder / "dovecot.conf")
        subprocess.run(("doveadm", "-c", configuration, *command), capture_output=True, check=False)

    def deliver(self, mailbox: str, mail: bytes) -> None:
        """Put a mail into a mailbox, as a mail server does."""
        client = self._client(mailbox)
        client.append("INBOX", "", "", mail)
        client.logout()

    def renumber(self, mailbox: str) -> None:
        """Give the mails of a mailbox other numbers, and a new UIDVALIDITY."""
        client = self._client(mailbox)
        client.select("INBOX")
        kept = []
        for uid in client.uid("SEARCH", "ALL")[1][0].split():
            parts = client.uid("FETCH", uid, "(BODY.PEEK[])")[1]
            kept += [part[1] for part in parts if isinstance(part, tuple)]
        client.logout()
        self._doveadm("kick", mailbox)  # a session that is just ending would write what it knows
        shutil.rmtree(self.folder / "mail" / mailbox)
        time.sleep(1.1)  # Dovecot takes the second of its making for the UIDVALIDITY of a mailbox
        for mail in kept:
            self.deliver(mailbox, mail)

    def _client(self, mailbox: str) -> imaplib.IMAP4:
        client = imaplib.IMAP4("127.0.0.1", self.port, timeout=30)
        client.login(mailbox, PASSWORD)
        return client


class SmtpServer:
    """Takes mail (RFC 5321) after a login; `faults` are the answers to the next mails instead of 250."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.faults: list[str] = []
        self.password = PASSWORD
        self.token: str | None = None
        """What XOAUTH2 takes."""
        self.attempts = 0
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no longer."""
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def say(line: str) -> None:
            writer.write(f"{line}\r\n".encode())

        say("220 mail.test ESMTP")
        while line := (await reader.readline()).decode().strip():
            verb = line.split(" ")[0].split(":")[0].upper()
            if verb == "EHLO":
                say("250-mail.test\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN XOAUTH2")
            elif verb == "AUTH" and " XOAUTH2 " in line:
                given = base64.b64decode(line.split(" ")[2]).decode()
                if self.token is not None and given.endswith(f"\1auth=Bearer {self.token}\1\1"):
                    say("235 2.7.0 ok")
                    continue
                say("334 " + base64.b64encode(b'{"status":"401"}').decode())
                assert (await reader.readline()) == b"\r\n"
                say("535 5.7.8 this token is not good")
            elif verb == "AUTH":
                given = base64.b64decode(line.split(" ")[2]).decode().split("\0")[-1]
                say("235 ok" if given == self.password else "535 5.7.8 wrong password")
            elif verb == "DATA":
                say("354 go on")
                data = await reader.readuntil(b"\r\n.\r\n")
                self.attempts += 1
                fault = self.faults.pop(0) if self.faults else ""
                if not fault or fault == "lost":
                    self.mails.append(BytesParser(EmailMessage, policy=policy.default).parsebytes(data[:-5]))
                if fault == "lost":
                    break
                say(fault or "250 taken")
            elif verb == "QUIT":
                say("221 bye")
                break
            else:
                say("250 ok")
        writer.close()
