"""The Bot Connector of Microsoft Teams as its documentation describes it: tokens, activities, cards, files.

It signs what it delivers with a key of its own, and refuses what Teams would. A file that is offered to Ada she takes.
Source: https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from typing import Any, Self

import aiohttp
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from integrations.channels.bearer_tokens import signed_token

APP, PASSWORD, TENANT = (
    "0c5e7a52-7f4e-4b2e-9a65-0123456789ab",
    "a client secret",
    "7d1e4c2b-1111-2222-3333-444455556666",
)
ADA, ADAS_USER, EVES_USER = "6a2f0d31-aaaa-bbbb-cccc-ddddeeeeffff", "29:1ada", "29:1eve"
EVE = "6a2f0d31-0000-0000-0000-000000000666"
ADAS_CHAT, EVES_CHAT, GROUP_CHAT = "a:1adaChat_X", "a:1eveChat", "19:Group-Chat@thread.v2"
ROOM, TEAM, FIRST_ROOM = "19:Room_of-Ours@thread.tacv2", "19:Team@thread.tacv2", "19:Team@thread.tacv2"
MESSAGE_BYTES = 28_672
KEY_ID = "key-of-the-connector"
TOKEN_LIFE_S = 86_400
"""Longer than the real hour: some tests run on a clock that is ahead."""

Json = dict[str, Any]


@cache
def private_key(name: str = KEY_ID) -> RSAPrivateKey:
    """Return a key; making one takes longer than most tests."""
    return generate_private_key(65_537, 2_048)


def jwk(key: RSAPrivateKey, name: str, **more: Any) -> Json:
    """Return the public half."""
    numbers = key.public_key().public_numbers()
    return {"kty": "RSA", "kid": name, "n": _base64(numbers.n), "e": _base64(numbers.e), **more}


class TeamsServer:
    """One bot: `app` is its id."""

    def __init__(self, app: str = APP) -> None:
        self.app = app
        self.password = PASSWORD
        self.hub: str | None = None
        """Where the webhook is."""
        self.messages: list[Json] = []
        """What the bot posted and did not delete, each with `id` and `conversation`."""
        self.asked: list[Json] = []
        self.typing: list[str] = []
        self.streams: dict[str, Json] = {}
        """Open streams by their ids: `chat`, `text`, `sequence`."""
        self.streamed: list[str] = []
        self.stream_refusals = 0
        self.can_stream = True
        self.refuses_markup = False
        self.graph_roles: list[str] | None = []
        """What an administrator granted at Microsoft Graph; None for a tenant that gives no token for it."""
        self.roster = [{"id": ADAS_USER, "name": "Ada King"}, {"id": EVES_USER, "name": "Eve"}]
        """Of the team, told one at a time."""
        self.opened: list[str] = []
        self.left: set[str] = set()
        """The chats that the bot was removed from."""
        self.stream_takes: int | None = None
        """After so many updates a stream is over, as after two minutes; what was shown is a message then."""
        self.same_beginning = False
        """Whether the last content of a stream, too, must begin with what was shown."""
        self.regions: list[str] = []
        """The region of each request to the Connector."""
        self.faults: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.file_root: str | None = None
        self.fetched: list[str] = []
        self.uploaded: list[bytes] = []
        self.room_name = "Kitchen"
        self.accepts: bool | None = True
        """Whether she takes a file that she is offered; None for no answer."""
        self.now: Callable[[], float] = time.time
        self.tokens: set[str] = set()
        self.answers: list[tuple[int, Any]] = []
        """How the webhook answered."""
        self.keys_asked = 0
        self.keys = {KEY_ID: {"endorsements": ["msteams"]}}
        self._count = itertools.count(1_700_000_000_001)
        self._deliveries: asyncio.Queue[tuple[bytes, str]] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=110_000_000)
        application.router.add_post("/login/{tenant}/oauth2/v2.0/token", self._token)
        application.router.add_get("/openid", self._openid)
        application.router.add_get("/keys", self._keys)
        application.router.add_post("/{region}/v3/conversations", self._create)
        application.router.add_post("/{region}/v3/conversations/{id}/activities", self._post)
        application.router.add_put("/{region}/v3/conversations/{id}/activities/{activity}", self._put)
        application.router.add_delete("/{region}/v3/conversations/{id}/activities/{activity}", self._delete)
        application.router.add_get("/{region}/v3/teams/{team}", self._team)
        application.router.add_get("/{region}/v3/teams/{team}/conversations", self._rooms)
        application.router.add_get("/{region}/v3/conversations/{id}/pagedmembers", self._members)
        application.router.add_get("/files/{id}", self._file)
        application.router.add_put("/upload/{id}", self._upload)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.service = f"{self.url}/emea/"
        self._delivering = asyncio.create_task(self._deliver())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._delivering.cancel()
        await self._runner.cleanup()

    def fail(self, **fault: Any) -> None:
        """Let the next activity that is posted fail: `status`, `code`, `headers`, `done`."""
        self.faults.append(fault)

    # --- the webhook ---

    def new_id(self) -> str:
        """Return a new id of a message."""
        return str(next(self._count))

    def activity(self, kind: str, chat: str = ADAS_CHAT, who: str = ADA, **more: Any) -> Json:
        """Return an activity of somebody; `chat` may be a thread."""
        conversation: Json = {"id": chat, "tenantId": TENANT, "conversationType": "personal"}
        data: Json = {"tenant": {"id": TENANT}}
        if chat.startswith(ROOM):
            conversation |= {"conversationType": "channel", "isGroup": True}
            data |= {"channel": {"id": ROOM}, "team": {"id": TEAM}, "teamsChannelId": ROOM, "teamsTeamId": TEAM}
        elif chat == GROUP_CHAT:
            conversation |= {"conversationType": "groupChat", "isGroup": True, "name": "Family"}
        user = {ADA: ADAS_USER, EVE: EVES_USER}[who]
        return {
            "type": kind,
            "id": self.new_id(),
            "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "serviceUrl": self.service,
            "channelId": "msteams",
            "from": {"id": user, "name": "Ada" if who == ADA else "Eve", "aadObjectId": who},
            "conversation": conversation,
            "recipient": {"id": f"28:{self.app}", "name": "Bot"},
            "channelData": data | more.pop("channelData", {}),
            **more,
        }

    def says(self, text: str, chat: str = ADAS_CHAT, who: str = ADA, *, mention: bool = False, **more: Any) -> Json:
        """Let somebody write; return the activity."""
        said = self.activity("message", chat, who, text=text, textFormat="plain", **more)
        if mention:
            mentioned = {"id": f"28:{self.app}", "name": "Bot"}
            said["text"] = f"<at>Bot</at>\xa0{text}"
            said["entities"] = [{"type": "mention", "text": "<at>Bot</at>", "mentioned": mentioned}]
        said.setdefault("attachments", []).append({"contentType": "text/html", "content": f"<p>{text}</p>"})
        if chat == ROOM:  # a post begins a thread
            said["conversation"]["id"] = f"{ROOM};messageid={said['id']}"
        return self.deliver(said)

    def deliver(self, activity: Json) -> Json:
        """Deliver an activity as it is."""
        self.deliver_raw(json.dumps(activity).encode())
        return activity

    def deliver_raw(self, body: bytes) -> None:
        """Deliver any bytes."""
        self._deliveries.put_nowait((body, f"Bearer {self.token()}"))

    def token(self, *, key: str = KEY_ID, **claims: Any) -> str:
        """Return a token of the Connector for the bot."""
        now = int(self.now())
        all_claims = {"iss": "https://api.botframework.com", "aud": self.app, "serviceurl": self.service}
        all_claims |= {"nbf": now, "exp": now + TOKEN_LIFE_S} | claims
        return signed_token(all_claims, private_key(key), key)

    async def settled(self) -> None:
        """Wait until all was delivered."""
        await self._deliveries.join()

    async def _deliver(self) -> None:
        async with aiohttp.ClientSession() as client:
            while True:
                body, authorization = await self._deliveries.get()
                headers = {"Authorization": authorization, "Content-Type": "application/json; charset=utf-8"}
                try:
                    async with client.post(str(self.hub), data=body, headers=headers) as answer:
                        text = await answer.text()
                        self.answers.append((answer.status, json.loads(text) if text else None))
                except aiohttp.ClientError:
                    self.answers.append((0, None))
                self._deliveries.task_done()

    # --- the API ---

    async def _token(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        right = (self.app, self.password, "client_credentials")
        given = tuple(form.get(key) for key in ("client_id", "client_secret", "grant_type"))
        graph = form.get("scope") == "https://graph.microsoft.com/.default"
        if not graph and form.get("scope") != "https://api.botframework.com/.default":
            return web.json_response({"error": "invalid_scope"}, status=400)
        if graph and self.graph_roles is None:
            return web.json_response({"error": "unauthorized_client"}, status=400)
        if request.match_info["tenant"] != TENANT or given != right:
            text = "AADSTS7000215: Invalid client secret provided.\r\nTrace ID: 1"
            return web.json_response({"error": "invalid_client", "error_description": text}, status=401)
        token = f"token-{self.new_id()}"
        if graph:
            token = signed_token({"roles": self.graph_roles} if self.graph_roles else {}, private_key(), KEY_ID)
        else:
            self.tokens.add(token)
        return web.json_response({"token_type": "Bearer", "expires_in": 3_599, "access_token": token})

    async def _openid(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"issuer": "https://api.botframework.com", "jwks_uri": f"{self.url}/keys"})

    async def _keys(self, _: web.Request) -> web.StreamResponse:
        self.keys_asked += 1
        return web.json_response({"keys": [jwk(private_key(name), name, **more) for name, more in self.keys.items()]})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if not body["isGroup"]:
            return self._open(request, body)
        if body["channelData"]["channel"]["id"] != ROOM or body["tenantId"] != TENANT or not body["isGroup"]:
            return _refused(400, "BadArgument")
        return await self._take(request, body["activity"], ROOM)

    def _open(self, request: web.Request, body: Json) -> web.StreamResponse:
        """Open the personal chat with a member of the team, or return it."""
        if refusal := self._unauthorized(request, None):
            return refusal
        (member,) = body["members"]
        if body["bot"]["id"] != f"28:{self.app}" or body["tenantId"] != TENANT:
            return _refused(400, "BadArgument")
        if member["id"] not in {each["id"] for each in self.roster}:
            return _refused(403, "BotNotInConversationRoster")
        self.opened.append(member["id"])
        return web.json_response({"id": {ADAS_USER: ADAS_CHAT, EVES_USER: EVES_CHAT}[member["id"]]}, status=201)

    async def _post(self, request: web.Request) -> web.StreamResponse:
        return await self._take(request, await request.json(), request.match_info["id"])

    async def _take(self, request: web.Request, activity: Json, chat: str) -> web.StreamResponse:
        if refusal := self._unauthorized(request, chat):
            return refusal
        info = next((each for each in activity.get("entities") or () if each["type"] == "streaminfo"), None)
        if activity["type"] == "typing" and info is not None:
            answer = self._stream(activity, info, chat)
            self.stream_refusals += answer.status >= 400
            return answer
        if activity["type"] == "typing":
            self.typing.append(chat)
            return web.json_response({"id": self.new_id()}, status=201)
        self.asked.append(activity)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and not fault.get("done"):
            return self._broken(request, fault)
        if (problem := self._problem_with(activity)) is not None:
            return _refused(*problem)
        if info is not None and (refused := self._end_stream(activity, info, chat)) is not None:
            return refused
        id = self.new_id() if info is None else info["streamId"]
        whole = f"{ROOM};messageid={id}" if chat == ROOM else chat
        self.messages.append({**activity, "id": id, "conversation": whole})
        self._answer_consent(activity, id, chat)
        if fault is not None:
            return self._broken(request, fault)
        return web.json_response({"id": id} if chat != ROOM else {"id": whole, "activityId": id}, status=201)

    def _problem_with(self, activity: Json) -> tuple[int, str] | None:
        if self.refuses_markup and activity.get("textFormat") == "xml":
            return 400, "BadSyntax"
        return problem_with(activity)

    def _stream(self, activity: Json, info: Json, chat: str) -> web.Response:
        """Begin or go on with a stream, of one chat with one person."""
        if not self.can_stream or chat not in (ADAS_CHAT, EVES_CHAT) or not activity.get("text"):
            return _refused(400, "BadArgument")
        id, sequence = info.get("streamId"), info["streamSequence"]
        if id is None:
            if sequence != 1:
                return _refused(400, "BadArgument")
            id = self.new_id()
            self.streams[id] = {"chat": chat, "text": "", "sequence": 0}
        stream = self.streams.get(id)
        if stream is None or (stream["chat"], stream["sequence"]) != (chat, sequence - 1):
            return _refused(403, "ContentStreamNotAllowed")
        if self.stream_takes is not None and sequence > self.stream_takes:
            self.cancel_stream(id)
            return _refused(403, "ContentStreamNotAllowed")
        if not activity["text"].startswith(stream["text"]):
            return _refused(403, "ContentStreamNotAllowed")
        stream |= {"text": activity["text"], "sequence": sequence}
        self.streamed.append(activity["text"])
        return web.json_response({"id": id}, status=201)

    def cancel_stream(self, id: str) -> None:
        """End a stream, as a person can, or time: what was shown stays."""
        stream = self.streams.pop(id)
        self.messages.append({"type": "message", "text": stream["text"], "id": id, "conversation": stream["chat"]})

    def _end_stream(self, activity: Json, info: Json, chat: str) -> web.Response | None:
        stream = self.streams.get(info.get("streamId", ""))
        if stream is None or stream["chat"] != chat or info["streamType"] != "final":
            return _refused(403, "ContentStreamNotAllowed")
        if self.same_beginning and not str(activity.get("text")).startswith(stream["text"]):
            return _refused(403, "ContentStreamNotAllowed")
        del self.streams[info["streamId"]]
        return None

    def _answer_consent(self, activity: Json, id: str, chat: str) -> None:
        for card in activity.get("attachments") or ():
            if card["contentType"].endswith("file.consent") and self.accepts is not None:
                self.consents(card, id, chat, accept=self.accepts)

    def consents(self, card: Json, id: str, chat: str, *, accept: bool, url: str | None = None) -> None:
        """Let Ada answer whether she wants a file."""
        place = {"contentUrl": "https://x-my.sharepoint.com/a", "name": card["name"]}
        place |= {"uploadUrl": url or f"{self.url}/upload/{id}", "uniqueId": f"U{id}", "fileType": "bin"}
        value = {"type": "fileUpload", "action": "accept" if accept else "decline"}
        value["context"] = card["content"]["acceptContext" if accept else "declineContext"]
        more = {"uploadInfo": place} if accept else {}
        self.deliver(self.activity("invoke", chat, name="fileConsent/invoke", value={**value, **more}, replyToId=id))

    async def _put(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request, request.match_info["id"]):
            return refusal
        activity, message = await request.json(), self._message(request)
        if message is None:
            return _refused(404, "ActivityNotFoundInConversation")
        if (problem := self._problem_with(activity)) is not None:
            return _refused(*problem)
        kept = {"id": message["id"], "conversation": message["conversation"]}
        message.clear()
        message.update(activity | kept)
        return web.json_response({"id": kept["id"]})

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request, request.match_info["id"]):
            return refusal
        if (message := self._message(request)) is None:
            return _refused(404, "ActivityNotFoundInConversation")
        self.messages.remove(message)
        return web.Response()

    def _message(self, request: web.Request) -> Json | None:
        where, id = request.match_info["id"], request.match_info["activity"]
        return next((each for each in self.messages if (each["conversation"], each["id"]) == (where, id)), None)

    async def _team(self, request: web.Request) -> web.StreamResponse:
        return self._unauthorized(request, None) or web.json_response({"id": TEAM, "name": "Our home"})

    async def _rooms(self, request: web.Request) -> web.StreamResponse:
        rooms = [{"id": FIRST_ROOM}, {"id": ROOM, "name": self.room_name}]
        return self._unauthorized(request, None) or web.json_response({"conversations": rooms})

    async def _members(self, request: web.Request) -> web.StreamResponse:
        chat = request.match_info["id"]
        if refusal := self._unauthorized(request, chat):
            return refusal
        if chat in self.left:
            return _refused(403, "BotNotInConversationRoster")
        at = int(request.query.get("continuationToken", 0))
        more = {"continuationToken": str(at + 1)} if at + 1 < len(self.roster) else {}
        return web.json_response({"members": self.roster[at : at + 1], **more})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        self.fetched.append(request.match_info["id"])
        return web.Response(body=self.files[request.match_info["id"]])

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        content = await request.read()
        if request.headers.get("Content-Range") != f"bytes 0-{len(content) - 1}/{len(content)}":
            return web.Response(status=416)
        assert "Authorization" not in request.headers
        self.uploaded.append(content)
        return web.json_response({"id": "1"}, status=201)

    def _unauthorized(self, request: web.Request, chat: str | None) -> web.StreamResponse | None:
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            return web.json_response({"message": "Authorization has been denied for this request."}, status=401)
        self.regions.append(request.match_info["region"])
        if chat is not None and chat.partition(";messageid=")[0] not in (ADAS_CHAT, EVES_CHAT, GROUP_CHAT, ROOM, TEAM):
            return _refused(404, "ConversationNotFound")
        return None

    def _broken(self, request: web.Request, fault: Json) -> web.StreamResponse:
        if fault.get("status"):
            return _refused(fault["status"], fault.get("code"), fault.get("headers"))
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


def problem_with(activity: Json) -> tuple[int, str] | None:
    """Return why Teams would refuse an activity."""
    text, attachments = activity.get("text"), activity.get("attachments") or []
    if activity.get("type") != "message" or not (text or attachments):
        return 400, "BadArgument"
    if text and attachments:
        return 400, "BadSyntax"  # "Activity resulted into multiple skype activities"
    others = [each for each in attachments if not each["contentType"].startswith("image/")]
    counted = {**activity, "attachments": others}
    if len(json.dumps(counted, ensure_ascii=False).encode()) > MESSAGE_BYTES:
        return 413, "MessageSizeTooBig"
    if activity.get("textFormat") == "xml" and not _is_html(text or ""):
        return 400, "BadSyntax"
    for each in attachments:
        content = each.get("content")
        if each["contentType"].endswith("card.adaptive") and not _is_card(content):
            return 400, "BadArgument"
        if each["contentType"].startswith("image/"):
            picture = base64.b64decode(each["contentUrl"].split(",")[1])
            if len(picture) > 1 << 20:
                return 413, "MessageSizeTooBig"
    return None


def _is_card(card: Json) -> bool:
    if card["type"] != "AdaptiveCard" or card["version"] not in ("1.2", "1.3", "1.4", "1.5"):
        return False
    actions = [action for each in card["body"] for action in each.get("actions", ())]
    return all(each["type"] in ("Action.Execute", "Action.Submit") and each["title"] for each in actions)


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.good = True

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None: ...

    def handle_endtag(self, tag: str) -> None:
        self.good = self.good and bool(self.open) and self.open.pop() == tag


def _is_html(text: str) -> bool:
    balance = _Balance()
    balance.feed(text)
    balance.close()
    return balance.good and not balance.open


def _base64(number: int) -> str:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _refused(status: int, code: str | None, headers: dict[str, str] | None = None) -> web.Response:
    if code is None:
        return web.Response(status=status, text="upstream error", headers=headers)
    return web.json_response({"error": {"code": code, "message": "as told"}}, status=status, headers=headers)
