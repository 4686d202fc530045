"""The node's own directory: its key, its pairing, and the rules for commands; private to its user."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class NodeProblem(Exception):
    """Something that the user of this node must put right; the text says what and how."""


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """The node's stored settings.

    Attributes:
        url: The URL of the gateway, `wss://…`, or `ws://` on this machine.
        name: The name shown to people.
        device_token: The device token from the hub, once it is paired.
        certificate: File of the authority that signed the hub's certificate; empty for the system's.
        fingerprint: SHA-256 of the only certificate that the hub may show, whoever signed it; empty for any valid one.
        shared: The folder that file commands reach; empty for none.
        deny: Commands that are never offered.
        imessage: Whether the hub may read and send the messages of a Mac.
        microphone: Whether this machine listens and speaks as a satellite of the hub.
    """

    url: str = ""
    name: str = ""
    device_token: str = ""
    certificate: str = ""
    fingerprint: str = ""
    shared: str = ""
    deny: tuple[str, ...] = ()
    imessage: bool = False
    microphone: bool = False


@dataclass(frozen=True, slots=True)
class HubInvitation:
    """A decoded setup code: where the hub is, and the token that pairs this node once."""

    url: str
    token: str


class NodeHome:
    """The directory.

    Args:
        path: Created with mode 0700 when something is first written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.key_file = path / "identity.json"
        self.settings_file = path / "node.json"
        self.approvals_file = path / "exec-approvals.json"

    def settings(self) -> NodeSettings:
        """Return the stored settings.

        Raises:
            NodeProblem: The file cannot be read.
        """
        kept = self.read(self.settings_file)
        known = {each.name for each in fields(NodeSettings)}
        found = {name: value for name, value in kept.items() if name in known}
        return NodeSettings(**{**found, "deny": tuple(found.get("deny", ()))})

    def keep(self, settings: NodeSettings) -> None:
        """Store the settings."""
        self.write(self.settings_file, asdict(settings))

    def read(self, file: Path) -> dict[str, Any]:
        """Return the object in a JSON file of this directory; an empty one when there is no file.

        Raises:
            NodeProblem: It is not a JSON object, cannot be read, or is accessible to others than its owner.
        """
        try:
            with file.open("rb") as opened:
                mode = os.fstat(opened.fileno()).st_mode
                found = json.load(opened)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise NodeProblem(f"{file} cannot be read: {error}") from error
        if stat.S_IMODE(mode) & 0o077:
            raise NodeProblem(f"{file} can be read by others; run: chmod 600 {file}")
        if not isinstance(found, dict):
            raise NodeProblem(f"{file}: expected a JSON object")
        return found

    def write(self, file: Path, data: Mapping[str, Any]) -> None:
        """Write a JSON file with mode 0600, whole or not at all."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            json.dump(data, opened, indent=2)
            opened.flush()
            os.fsync(opened.fileno())
        new.replace(file)


def read_setup_code(text: str) -> HubInvitation:
    """Decode a setup code, with or without `oc-pair://`.

    Raises:
        NodeProblem: It is none.
    """
    code = text.strip().removeprefix("oc-pair://").rstrip("/")
    try:
        said = json.loads(base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True))
        url, token = said.get("url") or said["urls"][0], said["bootstrapToken"]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise NodeProblem(
            "--pair: this is not a setup code; copy the whole code from the hub's page Devices"
        ) from error
    if not isinstance(url, str) or not isinstance(token, str):
        raise NodeProblem("--pair: this setup code has no address or no token")
    return HubInvitation(check_url(url), token)


def check_fingerprint(text: str, url: str) -> str:
    """Return a fingerprint as plain hexadecimal digits.

    Raises:
        NodeProblem: It is none, or the hub's address has no certificate.
    """
    plain = text.replace(":", "").lower()
    if not re.fullmatch("[0-9a-f]{64}", plain):
        raise NodeProblem(
            f"--fingerprint: {text!r:.200} is not the SHA-256 of a certificate, 64 hexadecimal digits; "
            "`homarus tls --show` prints it on the hub's machine"
        )
    if not url.startswith("wss://"):
        raise NodeProblem(f"--fingerprint: {url} has no certificate; it is for wss://")
    return plain


def check_url(url: str) -> str:
    """Return a gateway's address that a secret may be sent to.

    Raises:
        NodeProblem: It is not encrypted and not on this machine, or no address.
    """
    for plain, socket in (("https://", "wss://"), ("http://", "ws://")):
        if url.startswith(plain):
            url = socket + url.removeprefix(plain)
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise NodeProblem(f"{url!r:.200} is not the address of a hub, such as wss://hub.local:18789")
    if parts.scheme == "ws" and parts.hostname not in LOOPBACK:
        raise NodeProblem(
            f"{url!r:.200} is not encrypted; a node connects by wss://, or by ws:// to this machine alone "
            "(`homarus tls` gives the hub a certificate)"
        )
    return url
