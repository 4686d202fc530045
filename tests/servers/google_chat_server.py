"""Google Chat and Pub/Sub as their documentation describes them: tokens, messages, spaces, events.

It signs what it delivers with keys of its own, and refuses what Google would.
Source: https://developers.google.com/workspace/chat/api/reference/rest
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Self

import aiohttp
import orjson
from aiohttp import web
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from integrations.channels.bearer_tokens import signed_token
from tests.servers.msteams_server import private_key

EMAIL, KEY_ID, PROJECT = "homarus@home.iam.gserviceaccount.com", "key-of-the-account", "123456789012"
GOOGLE_KEY, CHAT = "key-of-google", "chat@system.gserviceaccount.com"
SUBSCRIPTION = "projects/home/subscriptions/homarus"
ADA, EVE = "users/100000000000000000007", "users/100000000000000000666"
ADAS_DM, EVES_DM, ROOM, GROUP = "spaces/adasDM_1", "spaces/evesDM_1", "spaces/AAAAroom-1", "spaces/AAAAgroup-1"
MESSAGE_BYTES, TEXT_CHARS = 32_000, 4_096
SCOPES = {"https://www.googleapis.com/auth/chat.bot", "https://www.googleapis.com/auth/pubsub"}
TOKEN_LIFE_S = 86_400
"""Longer than the real hour: some tests run on a clock that is ahead."""

Json = dict[str, Any]


@cache
def service_account(key: str = KEY_ID, email: str = EMAIL) -> str:
    """Return the JSON of a key."""
    pem = private_key(key).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    held = {"type": "service_account", "client_email": email, "private_key_id": key, "private_key": pem}
    return json.dumps({**held, "token_uri": "https://oauth2.googleapis.com/token", "project_id": "home"})


@cache
def certificate(key: str = GOOGLE_KEY) -> str:
    """Return a certificate of Google's for a key."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, CHAT)])
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(private_key(key).public_key())
    built = built.serial_number(1).not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
    built = built.not_valid_after(datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=36_500))
    return built.sign(private_key(key), SHA256()).public_bytes(Encoding.PEM).decode()


class GoogleChatServer:
    """One app; `audience` is its authentication audience."""

    def __init__(self, audience: str = PROJECT, email: str = EMAIL) -> None:
        self.audience = audience
        self.email = email
        self.hub: str | None = None
        """Where the endpoint is; without one, events wait in the subscription."""
        self.messages: list[Json] = []
        """What the app posted and did not delete."""
        self.asked: list[Json] = []
        self.faults: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.tokens: set[str] = set()
        self.revoked = False
        self.answers: list[tuple[int, Any]] = []
        """How the endpoint answered."""
        self.now: Callable[[], float] = time.time
        self.unacknowledged: dict[str, bytes] = {}
        self.page_size = 1
        self.may_pull = True
        self.is_enabled = True
        self._by_request: dict[str, Json] = {}
        self._count = itertools.count(1)
        self._deliveries: asyncio.Queue[bytes] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=10_000_000)
        application.router.add_post("/token", self._token)
        application.router.add_get("/certs", self._certs)
        application.router.add_get("/v1/spaces", self._spaces)
        application.router.add_post("/v1/spaces/{space}/messages", self._create)
        application.router.add_patch("/v1/spaces/{space}/messages/{id}", self._patch)
        application.router.add_delete("/v1/spaces/{space}/messages/{id}", self._delete)
        application.router.add_get("/v1/media/{name:.*}", self._media)
        application.router.add_post(f"/v1/{SUBSCRIPTION}:pull", self._pull)
        application.router.add_post(f"/v1/{SUBSCRIPTION}:testIamPermissions", self._permissions)
        application.router.add_post(f"/v1/{SUBSCRIPTION}:acknowledge", self._acknowledge)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._delivering = asyncio.create_task(self._deliver())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._delivering.cancel()
        await self._runner.cleanup()

    def fail(self, **fault: Any) -> None:
        """Let the next message that is posted fail: `status`, `state`, `headers`, `done`."""
        self.faults.append(fault)

    # --- events ---

    def space(self, name: str) -> Json:
        """Return a space, as events have it."""
        kind = {ROOM: "SPACE", GROUP: "GROUP_CHAT"}.get(name, "DIRECT_MESSAGE")
        held: Json = {"name": name, "spaceType": kind, "type": "ROOM" if name in (ROOM, GROUP) else "DM"}
        if kind != "DIRECT_MESSAGE":
            return {**held, "displayName": "Kitchen" if name == ROOM else "Ada, Eve", "spaceThreadingState": "THREADED"}
        return {**held, "singleUserBotDm": True}

    def user(self, name: str) -> Json:
        """Return a person."""
        return {"name": name, "displayName": "Ada" if name == ADA else "Eve", "type": "HUMAN", "email": "x@home.test"}

    def message(self, text: str, space: str = ADAS_DM, who: str = ADA, **more: Any) -> Json:
        """Return a message of somebody."""
        id = f"m{next(self._count)}"
        held: Json = {"name": f"{space}/messages/{id}.{id}", "sender": self.user(who), "createTime": self._time()}
        held |= {"text": text, "argumentText": text, "space": self.space(space)}
        return {**held, "thread": {"name": f"{space}/threads/{id}"}, **more}

    def says(self, text: str, space: str = ADAS_DM, who: str = ADA, *, thread: str | None = None, **more: Any) -> Json:
        """Let somebody write; in a space they mention the app, else Google hands nothing on. Return the message."""
        message = self.message(text, space, who, **more)
        if space in (ROOM, GROUP):
            app = {"user": {"name": "users/1", "displayName": "Homarus", "type": "BOT"}, "type": "MENTION"}
            message |= {"text": f"@Homarus {text}", "argumentText": f" {text}"}
            message["annotations"] = [{"type": "USER_MENTION", "startIndex": 0, "length": 8, "userMention": app}]
        if thread is not None:
            message |= {"thread": {"name": thread}, "threadReply": True}
        return self.event("MESSAGE", message, who)

    def event(self, kind: str, message: Json, who: str = ADA, **more: Any) -> Json:
        """Deliver an event about a message, in the form of Chat apps; return the message."""
        event: Json = {"type": kind, "eventTime": self._time(), "message": message, "user": self.user(who)}
        self.deliver({**event, "space": message["space"], **more})
        return message

    def clicks(self, message: Json, parameters: Json, who: str = ADA, inputs: Json | None = None) -> None:
        """Let somebody press a button of a message."""
        listed = [{"key": key, "value": value} for key, value in parameters.items()]
        common = {"parameters": parameters, "formInputs": inputs or {}, "invokedFunction": "homarus"}
        held = {**message, "space": self.space(message["space"]["name"]), "sender": {"name": "users/1", "type": "BOT"}}
        self.event(
            "CARD_CLICKED", held, who, action={"actionMethodName": "homarus", "parameters": listed}, common=common
        )

    def deliver(self, event: Any) -> None:
        """Deliver an event as it is."""
        self.deliver_raw(json.dumps(event).encode())

    def deliver_raw(self, body: bytes) -> None:
        """Deliver any bytes."""
        if self.hub is None:
            self.unacknowledged[f"ack-{next(self._count)}"] = body
            return
        self._deliveries.put_nowait(body)

    def token(self, *, key: str = GOOGLE_KEY, **claims: Any) -> str:
        """Return a token of Google's for the endpoint."""
        now = int(self.now())
        own: Json = {"iss": CHAT}
        if not self.audience.isdigit():
            own = {"iss": "https://accounts.google.com", "email": CHAT, "email_verified": True}
        all_claims = {"aud": self.audience, "iat": now, "exp": now + TOKEN_LIFE_S, **own, **claims}
        return signed_token(all_claims, private_key(key), key)

    async def settled(self) -> None:
        """Wait until all was delivered."""
        await self._deliveries.join()

    async def _deliver(self) -> None:
        async with aiohttp.ClientSession() as client:
            while True:
                body = await self._deliveries.get()
                headers = {"Authorization": f"Bearer {self.token()}", "Content-Type": "application/json"}
                try:
                    async with client.post(str(self.hub), data=body, headers=headers) as answer:
                        self.answers.append((answer.status, await answer.json()))
                except aiohttp.ClientError:
                    self.answers.append((0, None))
                self._deliveries.task_done()

    def _time(self) -> str:
        return f"{datetime.now(UTC).isoformat()[:-6]}{next(self._count):03}Z"

    # --- the APIs ---

    async def _token(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        head, body, signature = str(form["assertion"]).split(".")
        try:
            key = private_key(KEY_ID).public_key()
            key.verify(_bytes(signature), f"{head}.{body}".encode(), PKCS1v15(), SHA256())
        except InvalidSignature:
            return web.json_response(
                {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}, status=400
            )
        claims = orjson.loads(_bytes(body))
        good = (claims["iss"], claims["aud"]) == (self.email, f"{self.url}/token") and {
            *claims["scope"].split()
        } <= SCOPES
        good = good and 0 < claims["exp"] - claims["iat"] <= 3_600 and "jwt-bearer" in str(form["grant_type"])
        if self.revoked or not good:
            text = "Invalid grant: account not found"
            return web.json_response({"error": "invalid_grant", "error_description": text}, status=400)
        token = f"token-{next(self._count)}"
        self.tokens.add(token)
        return web.json_response({"access_token": token, "expires_in": 3_599, "token_type": "Bearer"})

    async def _certs(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({GOOGLE_KEY: certificate()})

    async def _spaces(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request):
            return refusal
        if not self.is_enabled:
            return _refused(403, "PERMISSION_DENIED")
        at, names = int(request.query.get("pageToken") or 0), [ROOM, GROUP, ADAS_DM]
        page: Json = {"spaces": [self.space(each) for each in names[at : at + self.page_size]]}
        if at + self.page_size < len(names):
            page["nextPageToken"] = str(at + self.page_size)
        return web.json_response(page)

    async def _create(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request):
            return refusal
        space, body = f"spaces/{request.match_info['space']}", await request.json()
        self.asked.append(body)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and not fault.get("done"):
            return self._broken(request, fault)
        if space not in (ADAS_DM, EVES_DM, ROOM, GROUP):
            return _refused(404, "NOT_FOUND")
        if not _is_message(body):
            return _refused(400, "INVALID_ARGUMENT")
        id = request.query.get("requestId") or f"own-{next(self._count)}"
        if id not in self._by_request:
            self._by_request[id] = self._posted(space, body, request.query.get("messageReplyOption", ""))
        if fault is not None:
            return self._broken(request, fault)
        return web.json_response(self._by_request[id])

    def _posted(self, space: str, body: Json, option: str) -> Json:
        message = self.message(body.get("text", ""), space, "users/1") | body
        thread = (body.get("thread") or {}).get("name")
        if thread is None or not option.startswith("REPLY_MESSAGE"):
            message["thread"] = {"name": message["name"].partition(".")[0].replace("/messages/", "/threads/")}
        self.messages.append(message)
        return message

    async def _patch(self, request: web.Request) -> web.StreamResponse:
        body, mask = await request.json(), request.query["updateMask"].split(",")
        if (message := self._message(request)) is None:
            return self._unauthorized(request) or _refused(404, "NOT_FOUND")
        if not _is_message(body):
            return _refused(400, "INVALID_ARGUMENT")
        message.update({key: body.get(key) for key in mask})
        return self._unauthorized(request) or web.json_response(message)

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        if (message := self._message(request)) is None:
            return self._unauthorized(request) or _refused(404, "NOT_FOUND")
        self.messages.remove(message)
        return self._unauthorized(request) or web.json_response({})

    def _message(self, request: web.Request) -> Json | None:
        name = request.path.removeprefix("/v1/")
        return next((each for each in self.messages if each["name"] == name), None)

    async def _media(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request):
            return refusal
        assert request.query["alt"] == "media"
        self.fetched.append(request.match_info["name"])
        return web.Response(body=self.files[request.match_info["name"]])

    async def _pull(self, request: web.Request) -> web.StreamResponse:
        for _ in range(50):
            if refusal := self._unauthorized(request):
                return refusal
            if self.unacknowledged:
                break
            await asyncio.sleep(0.005)
        found = [
            {"ackId": id, "message": {"data": base64.b64encode(body).decode(), "messageId": id}}
            for id, body in self.unacknowledged.items()
        ]
        return web.json_response({"receivedMessages": found} if found else {})

    async def _permissions(self, request: web.Request) -> web.StreamResponse:
        asked = (await request.json())["permissions"]
        return self._unauthorized(request) or web.json_response({"permissions": asked} if self.may_pull else {})

    async def _acknowledge(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request):
            return refusal
        for id in (await request.json())["ackIds"]:
            self.unacknowledged.pop(id, None)
        return web.json_response({})

    def _unauthorized(self, request: web.Request) -> web.StreamResponse | None:
        if request.headers.get("Authorization", "").removeprefix("Bearer ") in self.tokens:
            return None
        return _refused(401, "UNAUTHENTICATED")

    def _broken(self, request: web.Request, fault: Json) -> web.StreamResponse:
        if fault.get("status"):
            return _refused(fault["status"], fault.get("state"), fault.get("headers"))
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


def _is_message(body: Json) -> bool:
    """Whether Google would take it."""
    text, cards = body.get("text") or "", body.get("cardsV2") or []
    if not (text or cards) or len(text) > TEXT_CHARS or len(json.dumps(body).encode()) > MESSAGE_BYTES:
        return False
    widgets = [each for card in cards for section in card["card"]["sections"] for each in section["widgets"]]
    buttons = [button for each in widgets for button in each.get("buttonList", {}).get("buttons", ())]
    return all(each["text"] and each["onClick"]["action"]["function"] for each in buttons)


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _refused(status: int, state: str | None, headers: dict[str, str] | None = None) -> web.Response:
    if state is None:
        return web.Response(status=status, text="upstream error", headers=headers)
    error = {"code": status, "message": "as told", "status": state}
    return web.json_response({"error": error}, status=status, headers=headers)
