"""A whole hub in this process: all parts, all integrations, the dashboard, and a chat platform of the tests' own."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.events import Event
from hub.core.stages import Stage
from hub.core.surfaces import Route
from hub.gateway.log_tail import LogTail
from hub.hub import Hub
from hub.messaging.access.access import AccessPolicy, DmPolicy, GroupPolicy, GroupSettings
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    InboundMessage,
    OutboundMessage,
    Receipt,
    Receiver,
)
from hub.security.hub_token import hub_token
from hub.security.redaction import Redactor
from hub.sessions.entry import TranscriptEntry
from hub.storage.homedir import Home
from tests.servers.openai_server import OpenAIServer
from web.dashboard import Dashboard

WAIT_LIMIT_S = 60.0
SECRET = "a-secret-of-this-home-0123456789"
ANNAS = "Anna hides a present in the attic"
SESSION = "agent:main:main"
BY_WORD = "memory: {embeddings: {provider: none}}\n"
"""Loading the local model takes as long as most tests; those that compare meanings configure it themselves."""

CONFIGURATION = """\
# Who reads this?
people:
  - {{id: me, owner: true, identities: ["platform:user:1"]}}
  - {{id: anna, identities: ["platform:user:2"]}}
tools: {{strangers: full}}
messages: {{inbound: {{debounce_ms: 0}}}}
web_search: {{provider: searxng, url: "http://127.0.0.1:9"}}  # nothing is called: it is private
models:
  default: test/scripted
  providers:
    test:
      api: openai
      base_url: {base_url}
      api_key: !secret key
      models: [{{id: scripted, context_window: {context_window}}}]
"""


@dataclass
class Platform:
    """A chat platform: delivers scripted messages, keeps sent ones."""

    name: str = "platform"
    account: str = "default"
    limits: ChannelLimits = field(default_factory=ChannelLimits)
    sent: list[OutboundMessage] = field(default_factory=list)
    receive: Receiver | None = None
    _count: int = 0

    async def start(self, receive: Receiver) -> None:
        self.receive = receive

    async def stop(self) -> None:
        self.receive = None

    async def send(self, message: OutboundMessage) -> Delivery:
        self.sent.append(message)
        return Delivery(DeliveryState.DELIVERED, platform_ids=(message.id,))

    async def probe(self) -> dict[str, Any]:
        return {}

    async def say(self, sender: str, text: str, *, group: str | None = None, **more: Any) -> Receipt:
        """Deliver what somebody wrote, directly or in a group that addresses the assistant."""
        assert self.receive is not None
        self._count += 1
        peer, kind = (group, ChatType.GROUP) if group else (sender.rpartition(":")[2], ChatType.DIRECT)
        address = Address(self.name, peer, chat_type=kind)
        message = InboundMessage(address, f"m{self._count}", sender, text, mentioned=True, **more)
        return await self.receive(message)


@dataclass(frozen=True)
class Answer:
    """What a route answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Besieged:
    """The hub and the ways to reach it."""

    def __init__(self, hub: Hub, platform: Platform, http: aiohttp.ClientSession) -> None:
        self.hub = hub
        self.platform = platform
        self.http = http

    @property
    def url(self) -> str:
        return self.hub.gateway.url

    @property
    def workspace(self) -> Path:
        return self.hub.agents.get("main").workspace

    @property
    def owner(self) -> dict[str, str]:
        """The header of the hub token."""
        return {"Authorization": f"Bearer {hub_token(self.hub.home.path).reveal()}"}

    async def token(self, *scopes: str, **more: Any) -> tuple[str, dict[str, str]]:
        """Make a token; return its id and its header."""
        made = await self.rpc("token.create", {"name": "test", "scopes": list(scopes), **more})
        return made["id"], {"Authorization": f"Bearer {made['token']}"}

    async def cookie(self) -> dict[str, str]:
        """Sign a browser in; return its header."""
        link = await self.hub.login_link()
        async with self.http.post(f"{self.url}/api/login", json={"code": link.code}) as response:
            assert response.status == 200
            cookie = next(iter(response.cookies.values()))
        return {"Cookie": f"{cookie.key}={cookie.value}"}

    async def rpc(self, method: str, params: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """Call a method; return its payload, or its error under `error`."""
        body = {"method": method, "params": params if params is not None else {}}
        async with self.http.post(f"{self.url}/api/rpc", json=body, headers=headers or self.owner) as response:
            answer = await response.json()
        return answer["payload"] if answer.get("ok") else answer

    async def go(self, route: Route, headers: Mapping[str, str], body: bytes = b"", path: str | None = None) -> Answer:
        """Call a route with exactly these headers."""
        shown = path or route.path.replace("{path:*}", "x").replace("{id:*}", "homarus")
        sent = dict(headers)
        if route.websocket:
            sent |= {
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            }
        data = None if route.method == "GET" else body
        async with self.http.request(
            route.method, f"{self.url}{shown}", data=data, headers=sent, allow_redirects=False
        ) as response:
            switched = response.status == 101
            return Answer(response.status, dict(response.headers), b"" if switched else await response.read())

    async def run(self, text: str, session: str = SESSION) -> list[TranscriptEntry]:
        """Have the owner say something; return the entries of the conversation once it was answered."""
        run_id = f"r{asyncio.get_running_loop().time()}"
        await self.rpc("chat.send", {"sessionKey": session, "message": text, "idempotencyKey": run_id})
        ended = await self.rpc("agent.wait", {"runId": run_id, "timeoutMs": int(WAIT_LIMIT_S * 1000)})
        assert ended.get("status") != "timeout", ended
        return await self.entries(session)

    def deny_what_is_asked(self) -> None:
        """From now on the owner says no to whatever waits for their word."""

        async def deny(event: Event) -> None:
            await self.hub.approvals.resolve(event.data["id"], False, Context(self.hub.people.owner_authority()))

        self.hub.bus.listen("approval_requested", deny)

    async def heard(self, receipt: Receipt) -> list[TranscriptEntry]:
        """Wait until a message of the platform was answered; return the entries of its conversation."""
        assert receipt.run_id is not None, receipt
        assert receipt.session_key is not None
        assert await self.hub.runner.wait(receipt.run_id, WAIT_LIMIT_S) is not None
        return await self.entries(receipt.session_key)

    async def entries(self, session: str) -> list[TranscriptEntry]:
        found = self.hub.sessions.get(session)
        assert found is not None
        return list((await self.hub.sessions.open_transcript(found)).entries())

    def kept(self) -> dict[str, Any]:
        """What is kept in tables and files, but for when a credential was last used, and the audit log."""
        path = self.hub.home.hub_db
        kept: dict[str, Any] = {}
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
                shown = ", ".join(each for each in columns if not each.startswith("last_used"))
                rows = map(repr, connection.execute(f"SELECT {shown} FROM {table}"))
                kept[table] = sorted(row for row in rows if not row.startswith("('audit_head'"))
        places = (self.hub.home.storage / "memory", self.hub.home.storage / "audit")
        for file, data in files_in(self.hub.home.path):
            disposable = any(map(file.is_relative_to, places))  # the index is made again from the files
            others = ("hub.db", "history.db", "conversations.db", "hub.lock")  # the third: from transcripts
            if not disposable and not file.name.startswith(others):
                kept[str(file)] = data
        return kept


def files_in(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the files below a folder with what is in them; those that go meanwhile are not kept."""
    for root, _, names in os.walk(folder):
        for file in map(Path(root).joinpath, sorted(names)):
            with suppress(FileNotFoundError):
                if file.is_file():
                    yield file, file.read_bytes()


@asynccontextmanager
async def besieged(
    path: Path,
    server: OpenAIServer,
    more: str = "",
    context_window: int = 100_000,
    *,
    remembers: bool = False,
    clock: Clock | None = None,
) -> AsyncIterator[Besieged]:
    """Start a hub, with more in its configuration, and stop it again.

    With a memory there is an index of it, whose process takes longer to start than most tests.
    """
    redactor = Redactor()
    if not more.startswith("memory:") and "\nmemory:" not in more:
        more += BY_WORD
    home = _furnished(path, CONFIGURATION.format(base_url=server.base_url, context_window=context_window) + more)
    if remembers:
        remember_annas(path / "workspace")
    hub = Hub(home, redactor=redactor, port=0, clock=clock, log=LogTail(redactor))
    dashboards: list[Dashboard] = []

    async def open_dashboard() -> None:
        dashboards.append(Dashboard(hub))

    async def close_dashboard() -> None:
        await dashboards[0].close()

    platform = Platform()
    try:
        await hub.start(before_open=[Stage("dashboard", open_dashboard, close_dashboard)])
        for name in hub.gateway.methods.names():
            await hub.gateway.methods.load(name)
        policy = AccessPolicy(
            dm=DmPolicy.OPEN, group=GroupPolicy.ALLOWLIST, groups={"-100": GroupSettings()}, require_mention=False
        )
        await hub.channels.add(platform, policy)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            yield Besieged(hub, platform, http)
        await hub.channels.remove(platform.name)
    finally:
        await hub.stop()


def remember_annas(workspace: Path) -> None:
    """Write the second person's memory."""
    people = workspace / "memory" / "people"
    people.mkdir(parents=True, exist_ok=True)
    (people / "anna.md").write_text(f"# anna\n\n- {ANNAS}\n")


def _furnished(path: Path, configuration: str) -> Home:
    path.mkdir(mode=0o700)
    (path / "configuration.yaml").write_text(configuration)
    (path / "secrets.yaml").write_text(f"key: {SECRET}\n")
    home = Home(path)
    home.create()
    return home
