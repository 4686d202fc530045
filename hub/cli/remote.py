"""A hub elsewhere: `homarus --url wss://… --token …`, for every command that calls the hub."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from typing import NoReturn
from urllib.parse import urlsplit

import click

from hub.cli.exits import CommandFailed, Exit
from hub.cli.run_hub import URL_VARIABLE
from hub.core.secret import Secret
from hub.security.hub_token import FILE_VARIABLE, TOKEN_VARIABLE, environment_token

FINGERPRINT_VARIABLE = "HOMARUS_FINGERPRINT"
_SCHEMES = {"wss": True, "https": True, "ws": False, "http": False}


class RemoteHome:
    """Represents a hub on another machine in place of a home directory: an address, and no files.

    Args:
        host: Name or address.
        port: TCP port.
        tls: Whether it is asked over TLS.
        prefix: The prefix of its paths, behind a proxy.
        token: The token presented to it.
        fingerprint: SHA-256 of the only certificate that it may show; None for any that an authority vouches for.
    """

    def __init__(
        self, host: str, port: int, prefix: str, token: Secret, *, tls: bool, fingerprint: bytes | None = None
    ) -> None:
        self.host = host
        self.port = port
        self.prefix = prefix
        self.token = token
        self.tls = tls
        self.fingerprint = fingerprint

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self.tls else 'ws'}://{host}:{self.port}{self.prefix}"

    def __fspath__(self) -> str:
        raise self._without_files()

    def __truediv__(self, _: object) -> NoReturn:
        raise self._without_files()

    def __getattr__(self, name: str) -> NoReturn:
        raise self._without_files()

    def _without_files(self) -> CommandFailed:
        context = click.get_current_context(silent=True)
        name = context.command_path if context is not None else "This command"
        return CommandFailed(
            f"`{name}` works with the hub's own files. Run it on the hub's machine, without --url and {URL_VARIABLE}.",
            Exit.USAGE,
        )


def remote_home(url: str | None, token: str | None, fingerprint: str | None = None) -> RemoteHome | None:
    """Return the remote hub to call; None for the one on this machine.

    Raises:
        CommandFailed: The address is invalid, or would send the token unencrypted over a network; or there is no token.
    """
    if not url:
        return None
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = 0
    if parts.scheme not in _SCHEMES or not parts.hostname or port == 0 or parts.query or parts.username:
        raise CommandFailed(
            f"--url {url}: expected the address of a hub, such as wss://hub.example.org or ws://127.0.0.1:18789",
            Exit.USAGE,
        )
    tls = _SCHEMES[parts.scheme]
    if not tls and not _is_this_machine(parts.hostname):
        raise CommandFailed(
            f"--url {url}: the token would cross the network in clear. Use wss://; `ws://` and `http://` are for this "
            "machine alone.",
            Exit.USAGE,
        )
    if not (token := token or environment_token()):
        raise CommandFailed(
            f"A hub elsewhere needs a token: --token, {TOKEN_VARIABLE} or {FILE_VARIABLE}. Make one on its machine "
            "with: homarus token create --name NAME --scopes SCOPES",
            Exit.NOT_AUTHORISED,
        )
    if not (token.isascii() and token.isprintable()):
        raise CommandFailed(
            "--token: this is not a token of a hub; copy all of what `homarus token create` printed.", Exit.USAGE
        )
    prefix = parts.path.rstrip("/").removesuffix("/ws")
    pin = None if fingerprint is None else _pin(fingerprint, tls=tls)
    return RemoteHome(parts.hostname, port or (443 if tls else 80), prefix, Secret(token), tls=tls, fingerprint=pin)


def check_pin(certificate: bytes | None, fingerprint: bytes) -> None:
    """Refuse a certificate that is not the pinned one.

    Args:
        certificate: In DER.
        fingerprint: SHA-256 of the pinned one.

    Raises:
        OSError: It is another.
    """
    found = hashlib.sha256(certificate or b"").digest()
    if not hmac.compare_digest(found, fingerprint):
        raise OSError(other_certificate(found))


def other_certificate(found: bytes) -> str:
    """Return what is said of a certificate with another fingerprint than the pinned one."""
    return f"its certificate has another fingerprint than --fingerprint: {found.hex()}"


def _pin(text: str, *, tls: bool) -> bytes:
    plain = text.replace(":", "").lower()
    if not re.fullmatch("[0-9a-f]{64}", plain):
        raise CommandFailed(
            f"--fingerprint {text}: expected the SHA-256 of the hub's certificate, 64 hexadecimal digits with or "
            "without colons; `homarus tls --show` prints it on the hub's machine",
            Exit.USAGE,
        )
    if not tls:
        raise CommandFailed("--fingerprint is for wss:// and https://; this address has no certificate.", Exit.USAGE)
    return bytes.fromhex(plain)


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def chosen_hub(context: click.Context) -> RemoteHome | None:
    """Return the hub that the command line names before the command."""
    found: RemoteHome | None = context.find_object(RemoteHome)
    return found
