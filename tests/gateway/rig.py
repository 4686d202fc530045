"""A gateway on a free port with the parts it stands on, and a client that speaks its protocol."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.gateway.access.devices import Devices
from hub.gateway.calls.idempotency import Idempotency
from hub.gateway.calls.settings import HttpSettings
from hub.gateway.connection.server import Gateway
from hub.gateway.http_api.rpc import rpc_routes
from hub.gateway.http_api.sign_in import SignIn
from hub.security.hub_token import hub_token
from hub.security.login_codes import LoginCodes
from hub.security.people import People
from hub.security.tokens import TokenStore
from hub.security.web_sessions import WebSessions
from hub.storage.database import POST_DELAY_S
from hub.storage.homedir import Home
from tests.databases import make_database


class Reachable(Protocol):
    """What a client needs to know of a gateway."""

    @property
    def url(self) -> str: ...

    @property
    def token(self) -> str: ...


class Rig:
    """A gateway that runs, without agents."""

    def __init__(
        self,
        path: Path,
        settings: HttpSettings | None = None,
        people: People | None = None,
        clock: Clock | None = None,
        *,
        post_delay_s: float = POST_DELAY_S,
    ) -> None:
        self.home = Home(path)
        self.clock = clock or Clock()
        self.tasks = TaskOwner("test")
        self.bus = EventBus(self.tasks)
        self.repairs = Repairs(self.bus)
        self.home.storage.mkdir(parents=True, exist_ok=True)
        self.token = hub_token(self.home).reveal()
        self.gateway = Gateway(
            settings or HttpSettings(port=0),
            people or People(),
            hub_token(self.home),
            self.clock,
            self.bus,
            tasks=self.tasks,
            repairs=self.repairs,
            version="0.0-test",
        )
        self.db = make_database(self.home.hub_db, post_delay_s=post_delay_s)
        self.tokens = TokenStore(self.db, self.clock)
        self.web_sessions = WebSessions(self.db, self.clock)
        self.codes = LoginCodes(self.db, self.clock)
        self.devices = Devices(self.db, self.clock, self.bus, hub_token(self.home))
        self.idempotency = Idempotency(self.db, self.clock, self.tasks)

    async def attach(self) -> None:
        await self.db.open()
        for part in (self.tokens, self.web_sessions, self.codes, self.devices):
            await part.open()
        gateway = self.gateway
        gateway.attach(self.tokens, self.web_sessions, self.devices, self.idempotency)
        routes = [
            *rpc_routes(gateway.dispatcher),
            *SignIn(gateway.ingress, gateway.authenticator, self.codes, self.web_sessions, gateway.bus).routes(),
        ]
        for route in routes:
            gateway.routes.add(route)

    async def close(self) -> None:
        await self.gateway.stop()
        await self.tasks.cancel_all()
        await self.db.close()

    @property
    def url(self) -> str:
        return self.gateway.url

    @property
    def port(self) -> int:
        return self.gateway.address[1]

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@asynccontextmanager
async def running(
    path: Path,
    settings: HttpSettings | None = None,
    people: People | None = None,
    clock: Clock | None = None,
    *,
    post_delay_s: float = POST_DELAY_S,
) -> AsyncIterator[Rig]:
    rig = Rig(path, settings, people, clock, post_delay_s=post_delay_s)
    await rig.gateway.start()
    try:
        await rig.attach()
        rig.gateway.open()
        yield rig
    finally:
        await rig.close()


class Device:
    """A device identity of a test's own."""

    def __init__(self) -> None:
        self.key = Ed25519PrivateKey.generate()
        raw = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.public_key = _b64(raw)
        self.id = hashlib.sha256(raw).hexdigest()

    def sign(self, text: str) -> str:
        return _b64(self.key.sign(text.encode()))

    def proof(
        self, params: Mapping[str, Any], nonce: str, signed_at_ms: int, *, version: int = 3, token: str | None = None
    ) -> dict[str, Any]:
        auth = params.get("auth") or {}
        client = params["client"]
        parts = [
            f"v{version}",
            self.id,
            client["id"],
            client["mode"],
            params.get("role", "operator"),
            ",".join(params.get("scopes", [])),
            str(signed_at_ms),
            token
            if token is not None
            else auth.get("token") or auth.get("deviceToken") or auth.get("bootstrapToken") or "",
            nonce,
        ]
        if version == 3:
            parts += [client["platform"].strip().lower(), (client.get("deviceFamily") or "").strip().lower()]
        signature = self.sign("|".join(parts))
        return {
            "id": self.id,
            "publicKey": self.public_key,
            "signature": signature,
            "signedAt": signed_at_ms,
            "nonce": nonce,
        }


class Client:
    """A WebSocket client as the real ones behave."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws
        self.nonce = ""
        self.events: list[dict[str, Any]] = []
        self._count = 0

    async def frame(self, limit_s: float = 30) -> dict[str, Any]:
        message = await self.ws.receive(limit_s)
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise ConnectionError(f"closed: {message.type} {self.ws.close_code}")
        frame: dict[str, Any] = orjson.loads(message.data)
        return frame

    async def send(self, method: str, params: Any = None, id: str | None = None) -> str:
        self._count += 1
        id = id or f"r{self._count}"
        frame: dict[str, Any] = {"type": "req", "id": id, "method": method}
        if params is not None:
            frame["params"] = params
        await self.ws.send_str(orjson.dumps(frame).decode())
        return id

    async def answer(self, id: str) -> dict[str, Any]:
        while True:
            frame = await self.frame()
            if frame["type"] == "res" and frame["id"] == id:
                return frame
            self.events.append(frame)

    async def call(self, method: str, params: Any = None) -> dict[str, Any]:
        return await self.answer(await self.send(method, params))

    async def event(self, name: str, where: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        for index, frame in enumerate(self.events):
            if frame.get("event") == name and where(frame["payload"]):
                return self.events.pop(index)
        while True:
            frame = await self.frame()
            if frame.get("event") == name and where(frame["payload"]):
                return frame
            self.events.append(frame)

    async def connect(
        self, device: Device | None = None, *, version: int = 3, clock_ms: int | None = None, **changes: Any
    ) -> dict[str, Any]:
        params = connect_params(**changes)
        if device is not None:
            now = clock_ms if clock_ms is not None else int(Clock().time() * 1000)
            params["device"] = device.proof(params, self.nonce, now, version=version)
        return await self.call("connect", params)


def connect_params(**changes: Any) -> dict[str, Any]:
    params: dict[str, Any] = {
        "minProtocol": 4,
        "maxProtocol": 4,
        "client": {"id": "cli", "version": "2026.9.6", "platform": "linux", "mode": "cli"},
        "role": "operator",
        "scopes": ["operator.admin"],
        "caps": [],
    }
    token = changes.pop("token", None)
    if token is not None:
        params["auth"] = {"token": token}
    return params | changes


@asynccontextmanager
async def client_of(
    rig: Reachable, *, path: str = "/", headers: Mapping[str, str] | None = None, challenge: bool = True
) -> AsyncIterator[Client]:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{rig.url}{path}", headers=headers, max_msg_size=0) as ws,
    ):
        client = Client(ws)
        if challenge:
            first = await client.frame()
            client.nonce = first["payload"]["nonce"]
        yield client


@asynccontextmanager
async def connected(rig: Reachable, **changes: Any) -> AsyncIterator[Client]:
    async with client_of(rig) as client:
        answer = await client.connect(**({"token": rig.token} | changes))
        assert answer["ok"], answer
        yield client


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
