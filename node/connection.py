"""The connection to the hub's gateway: challenge, `connect`, hello, invocations; and reconnecting."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import __version__
from .backends.contract import Backend, Handler, host_statistics
from .home import NodeHome, NodeProblem, NodeSettings
from .identity import identity_of
from .invocations import Invocations
from .microphone import EVENT, PLAY, Microphone

if TYPE_CHECKING:
    import aiohttp

PROTOCOL = 4
FRAME_LIMIT_BYTES = 25 * 1024 * 1024
ANSWER_LIMIT_S = 20.0
STATISTICS_EVERY_S = 60.0
FIRST_DELAY_S, LAST_DELAY_S = 2.0, 60.0
WAITING_DELAY_S = 5.0
"""Between two attempts while a person has yet to approve this node."""

# What a person must do before another attempt can succeed.
_HOPELESS = {
    "AUTH_TOKEN_MISSING": "the hub asks for a credential: pair with --pair CODE or --token TOKEN",
    "AUTH_TOKEN_MISMATCH": "the hub does not take this node's token (any more): pair it again with --pair CODE",
    "AUTH_BOOTSTRAP_TOKEN_INVALID": "the setup code was used already, or has expired: make a new one",
    "PROTOCOL_MISMATCH": "the hub speaks another version of the protocol: update the older of the two",
    "DEVICE_AUTH_SIGNATURE_EXPIRED": "the clocks of this machine and of the hub differ by more than two minutes",
}


class Refused(Exception):
    """The hub refused the connection.

    Args:
        message: Its message.
        code: The code of the reason.
        request_id: The id of the request that a person approves, when it waits for one.
    """

    def __init__(self, message: str, code: str = "", request_id: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.request_id = request_id


@dataclass(frozen=True, slots=True)
class NodeCredential:
    """The credentials presented to the hub: the key in `auth`, and the secret."""

    kind: str
    secret: str


class NodeConnection:
    """Keeps this node connected.

    Args:
        home: Its directory.
        backend: Its commands.
        handlers: The offered commands, by name.
        tell: Shows a line to the person who started it.
    """

    def __init__(
        self, home: NodeHome, backend: Backend, handlers: Mapping[str, Handler], tell: Callable[[str], None]
    ) -> None:
        self._home = home
        self._backend = backend
        self._handlers = handlers
        self._tell = tell
        self._microphone = Microphone(tell) if PLAY in handlers else None
        self._identity = identity_of(home)
        self._invocations = Invocations(handlers, self._identity.id)
        self._ids = itertools.count(1)

    async def run(
        self, credential: NodeCredential | None, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """Connect, and reconnect whenever the connection ends, until cancelled.

        Args:
            credential: For the first pairing; afterwards the hub's own token is used.
            sleep: Waits between two attempts.

        Raises:
            NodeProblem: No further attempt can succeed.
        """
        delay, told = FIRST_DELAY_S, ""
        try:
            while True:
                try:
                    await self._once(self._home.settings(), credential)
                    credential, delay, why = None, FIRST_DELAY_S, "the connection ended"
                except Refused as refused:
                    why = str(refused)
                    if refused.code in _HOPELESS:
                        raise NodeProblem(f"{_HOPELESS[refused.code]} ({why})") from refused
                    if refused.request_id:
                        why = f"waiting for approval: homarus devices approve {refused.request_id}"
                        delay = WAITING_DELAY_S
                except (OSError, TimeoutError, ValueError, LookupError) as error:
                    why = f"no connection: {str(error) or type(error).__name__}"
                if why != told:
                    self._tell(why)
                    told = why
                await sleep(delay * random.uniform(0.1, 1))  # noqa: S311 - it spreads the attempts of many nodes
                delay = min(delay * 2, LAST_DELAY_S)
        finally:
            await self._invocations.close()

    async def _once(self, settings: NodeSettings, credential: NodeCredential | None) -> None:
        """Connect once and serve until the connection ends."""
        import aiohttp

        try:
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(
                    settings.url, ssl=_tls(settings), heartbeat=30, max_msg_size=FRAME_LIMIT_BYTES, autoclose=True
                ) as ws,
            ):
                hello = await self._shake(ws, settings, credential)
                self._tell(f"connected to {settings.url} as {settings.name} ({self._identity.id[:12]})")
                await self._serve(ws, hello)
        except aiohttp.ServerFingerprintMismatch as error:
            raise OSError(
                f"the hub's certificate has another fingerprint than --fingerprint: {error.got.hex()}"
            ) from error
        except aiohttp.ClientError as error:
            raise OSError(str(error) or type(error).__name__) from error

    async def _shake(
        self, ws: aiohttp.ClientWebSocketResponse, settings: NodeSettings, credential: NodeCredential | None
    ) -> Mapping[str, Any]:
        async with asyncio.timeout(ANSWER_LIMIT_S):
            challenge = await _frame(ws)
            if challenge.get("event") != "connect.challenge":
                raise ValueError("this is not a hub's gateway: it sent no challenge")
            said = challenge["payload"]
            known = NodeCredential("deviceToken", settings.device_token) if settings.device_token else None
            used = credential or known
            params = self._connect(settings, used)
            secret = used.secret if used else ""
            params["device"] = self._identity.proof(params, secret, str(said["nonce"]), int(said["ts"]))
            await ws.send_json({"type": "req", "id": "connect", "method": "connect", "params": params})
            answer = await _frame(ws)
        if not answer.get("ok"):
            raise _refusal(answer.get("error") or {})
        hello: Mapping[str, Any] = answer["payload"]
        token = (hello.get("auth") or {}).get("deviceToken")
        if token and token != settings.device_token:
            self._home.keep(replace(settings, device_token=token))
        return hello

    def _connect(self, settings: NodeSettings, used: NodeCredential | None) -> dict[str, Any]:
        commands = sorted(self._handlers)
        return {
            "minProtocol": PROTOCOL,
            "maxProtocol": PROTOCOL,
            "client": {
                "id": "node-host",
                "displayName": settings.name,
                "version": __version__,
                "platform": self._backend.platform,
                "deviceFamily": self._backend.family,
                "mode": "node",
                "instanceId": self._identity.id,
            },
            "caps": sorted({each.partition(".")[0] for each in commands}),
            "commands": commands,
            "role": "node",
            "scopes": [],
            **({"auth": {used.kind: used.secret}} if used else {}),
        }

    async def _serve(self, ws: aiohttp.ClientWebSocketResponse, hello: Mapping[str, Any]) -> None:
        limit = int((hello.get("policy") or {}).get("maxPayload", FRAME_LIMIT_BYTES))
        beside = [asyncio.create_task(self._statistics(ws), name="host statistics")]
        if self._microphone is not None:
            beside.append(asyncio.create_task(self._listen(ws, self._microphone), name="microphone"))

        async def send(result: dict[str, Any]) -> None:
            if len(result.get("payloadJSON", "")) > limit - 4_096:
                message = f"the answer has more than the {limit} bytes that the hub takes; ask for less"
                result = {**result, "ok": False, "error": {"code": "PAYLOAD_TOO_LARGE", "message": message}}
                del result["payloadJSON"]
            # A hub that went away gets the answer under the same key when it asks again.
            with contextlib.suppress(OSError):
                await self._send(ws, "node.invoke.result", result)

        try:
            async for message in ws:
                frame = json.loads(message.data)
                payload = frame.get("payload") or {}
                if frame.get("event") == "node.invoke.request":
                    self._invocations.request(payload, send)
                elif frame.get("event") == "node.invoke.cancel":
                    self._invocations.cancel(str(payload.get("invokeId")))
        finally:
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)

    async def _statistics(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            stats = json.dumps(await asyncio.to_thread(host_statistics))
            try:
                await self._send(ws, "node.event", {"event": "node.host.stats", "payloadJSON": stats})
            except OSError:
                return
            await asyncio.sleep(STATISTICS_EVERY_S)

    async def _listen(self, ws: aiohttp.ClientWebSocketResponse, microphone: Microphone) -> None:
        async def send(sound: str) -> None:
            await self._send(ws, "node.event", {"event": EVENT, "payload": {"base64": sound}})

        with contextlib.suppress(OSError):  # the connection has ended
            await microphone.run(send)

    async def _send(self, ws: aiohttp.ClientWebSocketResponse, method: str, params: Mapping[str, Any]) -> None:
        await ws.send_json({"type": "req", "id": str(next(self._ids)), "method": method, "params": params})


async def probe(settings: NodeSettings) -> str:
    """Connect far enough to see that a hub answers, and report that.

    Raises:
        NodeProblem: None does.
    """
    import aiohttp

    try:
        async with (
            asyncio.timeout(ANSWER_LIMIT_S),
            aiohttp.ClientSession() as session,
            session.ws_connect(settings.url, ssl=_tls(settings)) as ws,
        ):
            if (await _frame(ws)).get("event") != "connect.challenge":
                raise ValueError("what answers is not a hub's gateway")
            return f"{settings.url} answers"
    except (aiohttp.ClientError, OSError, ValueError, Refused) as error:
        raise NodeProblem(f"{settings.url} does not answer: {str(error) or type(error).__name__}") from error


async def _frame(ws: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    message = await ws.receive()
    if not isinstance(message.data, str):
        raise Refused(f"the hub closed the connection: {message.extra or message.data}")
    found = json.loads(message.data)
    if not isinstance(found, dict):
        raise ValueError("this is not a hub's gateway: a frame is not an object")
    return found


def _refusal(error: Mapping[str, Any]) -> Refused:
    details = error.get("details") or {}
    code = str(details.get("code") or error.get("code") or "")
    return Refused(str(error.get("message", "refused")), code, str(details.get("requestId") or ""))


def _tls(settings: NodeSettings) -> ssl.SSLContext | aiohttp.Fingerprint | bool:
    if settings.fingerprint:
        import aiohttp

        return aiohttp.Fingerprint(bytes.fromhex(settings.fingerprint))
    if not settings.certificate:
        return True
    try:
        return ssl.create_default_context(cafile=settings.certificate)
    except (OSError, ssl.SSLError) as error:
        raise NodeProblem(f"--ca: {settings.certificate} is not a readable certificate: {error}") from error
