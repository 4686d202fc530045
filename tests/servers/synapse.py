"""A real Synapse: SQLite, no TLS, no federation, no rate limits; and people who talk through it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self
from urllib.parse import quote

import aiohttp
from ruamel.yaml import YAML

from hub.core.ids import new_id
from tests.servers.ports import free_port

SERVER_NAME = "hs.test"
START_LIMIT_S = 90.0
PASSWORD = "correct horse"
_SECRET = "registration for tests"
_FREELY = {"per_second": 10_000, "burst_count": 10_000}


@dataclass(frozen=True)
class Credentials:
    """Somebody's login."""

    user_id: str
    token: str
    device_id: str


class Synapse:
    """Runs one Synapse in a process of its own; `register` makes an account, `user` one with a client."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="synapse-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._configure(port)
        with self._log.open("wb") as log:
            self._process = self._run(log)
        self._wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def register(self, password: str = PASSWORD) -> Credentials:
        """Register somebody, and log them in."""
        path, name = "/_synapse/admin/v1/register", f"u{new_id()[-10:].lower()}"
        nonce = self._ask(path)["nonce"]
        signed = "\0".join((nonce, name, password, "notadmin")).encode()
        mac = hmac.new(_SECRET.encode(), signed, hashlib.sha1).hexdigest()
        body = {"nonce": nonce, "username": name, "password": password, "admin": False, "mac": mac}
        registered = self._ask(path, body)
        return Credentials(registered["user_id"], registered["access_token"], registered["device_id"])

    async def user(self) -> MatrixUser:
        """Register somebody, and give them a client."""
        return MatrixUser(self.url, await asyncio.to_thread(self.register))

    def _ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.url}{path}", data, timeout=START_LIMIT_S) as answer:
            return json.load(answer)

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _configure(self, port: int) -> None:
        seed = base64.b64encode(os.urandom(32)).decode().rstrip("=")
        (self._folder / "key").write_text(f"ed25519 a_test {seed}\n")
        logging = {"version": 1, "handlers": {"e": {"class": "logging.StreamHandler"}}}
        write = YAML(typ="safe").dump
        write(logging | {"root": {"level": "WARNING", "handlers": ["e"]}}, self._folder / "logging.yaml")
        limits = ("rc_message", "rc_registration", "rc_joins_per_room", "rc_admin_redaction", "rc_media_create")
        nested = {
            "rc_login": ("address", "account", "failed_attempts"),
            "rc_joins": ("local", "remote"),
            "rc_invites": ("per_room", "per_user", "per_issuer"),
        }
        write(
            {
                "server_name": SERVER_NAME,
                "pid_file": str(self._folder / "pid"),
                "listeners": [
                    {
                        "port": port,
                        "bind_addresses": ["127.0.0.1"],
                        "type": "http",
                        "resources": [{"names": ["client"]}],
                    }
                ],
                "database": {"name": "sqlite3", "args": {"database": str(self._folder / "homeserver.db")}},
                "log_config": str(self._folder / "logging.yaml"),
                "media_store_path": str(self._folder / "media"),
                "signing_key_path": str(self._folder / "key"),
                "registration_shared_secret": _SECRET,
                "macaroon_secret_key": "macaroons",
                "form_secret": "forms",
                "bcrypt_rounds": 4,
                "report_stats": False,
                # What it would work out with each event, and nobody here asks for.
                **{each: {"enabled": False} for each in ("presence", "push", "stats", "user_directory")},
                "federation_domain_whitelist": [],
                "trusted_key_servers": [],
                "suppress_key_server_warning": True,
                **dict.fromkeys(limits, _FREELY),
                **{limit: dict.fromkeys(parts, _FREELY) for limit, parts in nested.items()},
            },
            self._folder / "homeserver.yaml",
        )

    def _run(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        command = (sys.executable, "-m", "synapse.app.homeserver", "-c", str(self._folder / "homeserver.yaml"))
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder)

    def _wait(self) -> None:
        end = time.monotonic() + START_LIMIT_S
        assert self._process is not None
        while time.monotonic() < end and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=1):
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"Synapse did not start:\n{self._log.read_text()[-4000:]}")


class MatrixUser:
    """Somebody with a Matrix client, who speaks the protocol as it is; close it at the end."""

    def __init__(self, url: str, who: Credentials) -> None:
        self.user_id, self.token, self.device_id = who.user_id, who.token, who.device_id
        self._session = aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {who.token}"})

    @property
    def identity(self) -> str:
        """The typed identity under which a hub knows them."""
        return f"matrix:user:{self.user_id}"

    async def call(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Return the answer to a request below /_matrix/client/v3."""
        url = f"/_matrix/client/v3/{path}"
        async with self._session.request(method, url, json=body, params=query) as answer:
            data = await answer.json()
            assert answer.status == 200, (method, path, answer.status, data)
            return data

    async def room(self, *invited: MatrixUser, **more: Any) -> str:
        """Open a private room and return its id."""
        body = {"invite": [each.user_id for each in invited], "preset": "private_chat", **more}
        return str((await self.call("POST", "createRoom", body))["room_id"])

    async def room_with(self, *others: MatrixUser, **more: Any) -> str:
        """Open a private room that the others are in too."""
        room = await self.room(*others, **more)
        for each in others:
            await each.join(room)
        return room

    async def join(self, room: str) -> None:
        await self.call("POST", f"join/{quote(room)}", {})

    async def say(self, room: str, text: str, **content: Any) -> str:
        """Send a text message and return its id."""
        return await self.send(room, "m.room.message", {"msgtype": "m.text", "body": text, **content})

    async def send(self, room: str, type: str, content: dict[str, Any]) -> str:
        path = f"rooms/{quote(room)}/send/{type}/{new_id()}"
        return str((await self.call("PUT", path, content))["event_id"])

    async def redact(self, room: str, event_id: str) -> str:
        path = f"rooms/{quote(room)}/redact/{quote(event_id)}/{new_id()}"
        return str((await self.call("PUT", path, {}))["event_id"])

    async def upload(self, data: bytes, mime_type: str = "application/octet-stream") -> str:
        """Upload a file and return its mxc address."""
        headers = {"Content-Type": mime_type}
        async with self._session.post("/_matrix/media/v3/upload", data=data, headers=headers) as answer:
            return str((await answer.json())["content_uri"])

    async def events(self, room: str, type: str | None = None, sender: str | None = None) -> list[dict[str, Any]]:
        """Return what the room holds, oldest first; of one type and sender, if given."""
        found = await self.call("GET", f"rooms/{quote(room)}/messages", None, dir="b", limit="200")
        return [
            each
            for each in reversed(found["chunk"])
            if type in (None, each["type"]) and sender in (None, each["sender"])
        ]

    async def members(self, room: str) -> list[str]:
        """Return who joined."""
        return sorted((await self.call("GET", f"rooms/{quote(room)}/joined_members"))["joined"])

    async def log_out(self) -> None:
        """Revoke the token."""
        await self.call("POST", "logout", {})

    async def close(self) -> None:
        await self._session.close()
