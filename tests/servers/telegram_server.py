"""A Bot API server: real HTTP, real long polls, chats that show what a person would see, and faults on demand.

It behaves as https://core.telegram.org/bots/api and the source of tdlib/telegram-bot-api say: an offset confirms all
below it, a second poller ends the first with 409, markup is parsed and refused when it is wrong, and parameters come as
query, form, JSON or multipart.

    async with TelegramServer() as server:
        server.chats.says("hello", chat=7)      # a person writes
        server.chats.shown(7)                   # what the chat shows of the bot
        server.fail("sendMessage", RATE_LIMITED, DROPPED_AFTER)
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.servers.telegram_chats import MEDIA, ApiError, Json, TelegramChats

T = TypeVar("T")

BOT_ID = 4242
POLL_LIMIT_S = 50
UPDATES_LIMIT = 100
WEBHOOK_RETRY_S = 0.05
THREAD_LIMIT_S = 120.0


@dataclass(frozen=True)
class Fault:
    """What happens to one request instead of an answer.

    Attributes:
        status, description, parameters: The error that is answered.
        commit: Whether the request is carried out first.
        drop: Whether the connection is closed without an answer.
        hang: Whether nothing is ever answered, as on a connection that is dead without saying so.
        drip: Whether blanks are answered, one by one, without end.
        body: What is answered as it is.
        delay_s: How long it takes; alone, the request succeeds after it.
    """

    status: int = 0
    description: str = ""
    parameters: Json | None = None
    commit: bool = False
    drop: bool = False
    hang: bool = False
    drip: bool = False
    body: bytes | None = None
    delay_s: float = 0.0


RATE_LIMITED = Fault(429, "Too Many Requests: retry after 1", {"retry_after": 1})
BAD_GATEWAY = Fault(502, "Bad Gateway")
PROXY_PAGE = Fault(502, body=b"<html>502 Bad Gateway</html>")
PROXY_PAGE_AFTER = replace(PROXY_PAGE, commit=True)
DROPPED = Fault(drop=True)
DROPPED_AFTER = Fault(drop=True, commit=True)
HANGS = Fault(hang=True)
DRIPS = Fault(drip=True)
MALFORMED = Fault(200, body=b'{"ok": true, "result": [')
CONFLICT = Fault(
    409,
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
)


BLOCKED = Fault(403, "Forbidden: bot was blocked by the user")
DELETED_AT_ONCE = Fault(
    500, "Internal Server Error: sent message was immediately deleted and can't be returned", commit=True
)
BAD_MARKUP = Fault(400, "Bad Request: can't parse entities: Unsupported start tag")


@dataclass
class _Poll:
    ended: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    cut: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class TelegramServer:
    """A server with one bot.

    Args:
        username: The bot's name.
        bot_id: Its number.
        repeat_s: The same offset again within this time is answered after it at the earliest (3 s in truth).
    """

    def __init__(self, username: str = "homarus_bot", bot_id: int = BOT_ID, repeat_s: float = 0.02) -> None:
        self.token = f"{bot_id}:AAtest-token-of-a-bot"
        bot = {"id": bot_id, "is_bot": True, "first_name": "Homarus", "username": username}
        self.chats = TelegramChats(bot, self.queue)
        self.updates: deque[Json] = deque()
        self.last_update: Json = {}
        self.confirmed: list[int] = []
        self.calls: Counter[str] = Counter()
        self.shuffles: random.Random | None = None
        self.webhook: Json = {}
        self.webhook_error = ""
        self.running = True
        self._next_update = 1_000
        self._repeat_s = repeat_s
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._arrived = asyncio.Event()
        self._poll: _Poll | None = None
        self._last_ask: tuple[int, float] = (0, 0.0)
        self._delivering: asyncio.Task[None] | None = None
        application = web.Application(client_max_size=60_000_000)
        application.router.add_get("/file/bot{token}/{file}", self._file)
        application.router.add_route("*", "/bot{token}/{method}", self._call)
        self._server = TestServer(application)

    async def start(self) -> None:
        """Listen on a free port."""
        await self._server.start_server(shutdown_timeout=0.01)

    async def stop(self) -> None:
        """Close every connection."""
        self.running = False
        if self._delivering is not None:
            self._delivering.cancel()
            await asyncio.gather(self._delivering, return_exceptions=True)
        self._arrived.set()
        await self._server.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def api_root(self) -> str:
        """What `api_root` in the configuration is."""
        return str(self._server.make_url("/")).rstrip("/")

    def fail(self, method: str, *faults: Fault) -> None:
        """Let the next requests of a method fail, one after the other."""
        self._faults[method.lower()].extend(faults)

    def faults_left(self) -> int:
        """Return how many faults have not happened yet."""
        return sum(map(len, self._faults.values()))

    def queue(self, kind: str, body: Json) -> Json:
        """Queue an update for the bot."""
        update = {"update_id": self._next_update, kind: body}
        self._next_update += 1
        self.queue_again(update)
        return update

    def queue_again(self, update: Json) -> None:
        """Queue an update as it is, perhaps once more."""
        self.updates.append(update)
        self.last_update = update
        self._arrived.set()

    def repeat(self, update: Json) -> None:
        """Queue what an update says once more, under a number of its own."""
        self.queue_again(update | {"update_id": self._next_update})
        self._next_update += 1

    def cut_poll(self) -> None:
        """Answer the poll that waits, with nothing."""
        if self._poll is not None and not self._poll.cut.done():
            self._poll.cut.set_result(None)

    def begin_ids_at(self, update_id: int) -> None:
        """Let the ids of updates go on from another number, as after a week without any."""
        self._next_update = update_id

    # --- the HTTP side ---

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"].lower()
        given = await _parameters(request)
        self.calls[method] += 1
        waiting = self._faults[method]
        fault = waiting.popleft() if waiting else Fault()
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        if request.match_info["token"] != self.token:
            return _answer(ApiError(401, "Unauthorized"))
        if fault.drip:
            return await self._drip(request)
        fails = fault.status or fault.drop or fault.hang
        answer = _answer(ApiError(fault.status or 500, fault.description, fault.parameters))
        if not fails or fault.commit:
            try:
                done = _answer(await self._do(method, given))
            except ApiError as error:
                done = _answer(error)
            answer = answer if fails else done
        if fault.hang:
            while self.running:  # noqa: ASYNC110  nothing may end it but the end of the server
                await asyncio.sleep(0.05)
        if fault.hang or fault.drop:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        if fault.body is not None:
            return web.Response(body=fault.body, status=fault.status, content_type="application/json")
        return answer

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        while self.running:
            await answer.write(b" ")
            await asyncio.sleep(0.05)
        return answer

    async def _do(self, method: str, given: Json) -> Any:
        chats = self.chats
        if method.startswith("send") and (kind := method.removeprefix("send")) in MEDIA:
            return chats.send_media(kind, given)
        if method == "getupdates":
            return await self._get_updates(given)
        done: dict[str, Callable[[Json], Any]] = {
            "getme": lambda _: {
                **chats.bot,
                "can_join_groups": chats.joins_groups,
                "can_read_all_group_messages": chats.reads_groups,
            },
            "getchatmember": chats.member,
            "getchat": chats.full_chat,
            "setwebhook": self._set_webhook,
            "deletewebhook": lambda _: self._set_webhook({}),
            "getwebhookinfo": lambda _: self._webhook_info(),
            "sendmessage": chats.send_message,
            "sendpoll": chats.send_poll,
            "createforumtopic": chats.create_topic,
            "editmessagetext": chats.edit,
            "editmessagecaption": chats.edit,
            "deletemessage": chats.delete,
            "setmessagereaction": chats.react,
            "sendchataction": chats.act,
            "sendmessagedraft": chats.draft,
            "answercallbackquery": chats.answer_query,
            "setmycommands": chats.set_commands,
            "getfile": lambda given: self._file_info(given["file_id"]),
        }
        if method not in done:
            raise ApiError(404, "Not Found")
        return done[method](given)

    async def _get_updates(self, given: Json) -> list[Json]:
        if self.webhook:
            told = (
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook"
            )
            raise ApiError(409, f"{told} first")
        if self._poll is not None and not self._poll.ended.done():
            self._poll.ended.set_result(None)
        mine = self._poll = _Poll()
        offset, now = int(given.get("offset") or 0), time.monotonic()
        limit = min(int(given.get("limit") or UPDATES_LIMIT), UPDATES_LIMIT)
        wait_s = min(float(given.get("timeout") or 0), POLL_LIMIT_S)
        if offset == self._last_ask[0] and now < self._last_ask[1] + self._repeat_s:
            wait_s, limit = max(wait_s, self._repeat_s), 1
        self._confirm(offset)
        until = now + wait_s
        while not (found := [each for each in self.updates if each["update_id"] >= offset]):
            if (left := until - time.monotonic()) <= 0 or not self.running:
                break
            self._arrived.clear()
            arrived = asyncio.ensure_future(self._arrived.wait())
            either: set[asyncio.Future[Any]] = {arrived, mine.ended, mine.cut}
            await asyncio.wait(either, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            arrived.cancel()
            if mine.cut.done():
                break
            if mine.ended.done():
                raise ApiError(CONFLICT.status, CONFLICT.description)
        self._last_ask = (offset, time.monotonic())
        if self._poll is mine:
            self._poll = None
        found = found[:limit]
        if self.shuffles is not None:
            self.shuffles.shuffle(found)
        return found

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            while len(self.updates) > -offset:
                self.confirmed.append(self.updates.popleft()["update_id"])
            return
        self.confirmed += [each["update_id"] for each in self.updates if each["update_id"] < offset]
        self.updates = deque(each for each in self.updates if each["update_id"] >= offset)

    def _set_webhook(self, given: Json) -> bool:
        self.webhook = dict(given) if given.get("url") else {}
        self.webhook_error = ""
        if self._delivering is not None:
            self._delivering.cancel()
            self._delivering = None
        if self.webhook:
            self._delivering = asyncio.create_task(self._deliver())
        return True

    def _webhook_info(self) -> Json:
        info = {"url": self.webhook.get("url", ""), "has_custom_certificate": False}
        info["pending_update_count"] = len(self.updates)
        return info | ({"last_error_message": self.webhook_error} if self.webhook_error else {})

    async def _deliver(self) -> None:
        headers = {"X-Telegram-Bot-Api-Secret-Token": self.webhook.get("secret_token", "")}
        async with aiohttp.ClientSession(headers=headers) as session:
            while True:
                while not self.updates:
                    self._arrived.clear()
                    await self._arrived.wait()
                try:
                    async with session.post(self.webhook["url"], json=self.updates[0]) as answer:
                        status = answer.status
                except aiohttp.ClientError:
                    status = 0
                if 200 <= status < 300:
                    self.confirmed.append(self.updates.popleft()["update_id"])
                    continue
                self.webhook_error = f"Wrong response from the webhook: {status}"
                await asyncio.sleep(WEBHOOK_RETRY_S)

    def _file_info(self, file_id: str) -> Json:
        if file_id not in self.chats.files:
            raise ApiError(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        size = len(self.chats.files[file_id])
        if size > 20_000_000:
            raise ApiError(400, "Bad Request: file is too big")
        return {"file_id": file_id, "file_unique_id": file_id, "file_size": size, "file_path": file_id}

    async def _file(self, request: web.Request) -> web.Response:
        self.calls["file"] += 1
        content = self.chats.files.get(request.match_info["file"])
        if content is None or request.match_info["token"] != self.token:
            return web.Response(status=404)
        return web.Response(body=content)


class TelegramThread:
    """A server on a loop of its own, for tests that wait for other processes."""

    def __init__(self, bot_id: int = BOT_ID) -> None:
        self._bot_id = bot_id
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        self.server = self.run(self._make())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.run(self.server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the loop of the server; return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(THREAD_LIMIT_S)

    def says(self, text: str, **more: Any) -> None:
        """Let somebody write; see `TelegramChats.says`."""

        async def say() -> None:
            self.server.chats.says(text, **more)

        self.run(say())

    def presses(self, label: str) -> None:
        """Let the owner press the newest button with this label; see `TelegramChats.presses`."""

        async def press() -> None:
            self.server.chats.presses(7, label)

        self.run(press())

    async def _make(self) -> TelegramServer:
        server = TelegramServer(bot_id=self._bot_id)
        await server.start()
        return server


async def _parameters(request: web.Request) -> Json:
    """Return the parameters of a request, wherever they are; uploaded files as bytes."""
    given: Json = dict(request.query)
    if request.content_type == "application/json":
        given |= {k: v if isinstance(v, str) else json.dumps(v) for k, v in (await request.json()).items()}
    elif request.method == "POST":
        for name, value in (await request.post()).items():
            given[name] = value.file.read() if isinstance(value, web.FileField) else value
    return given


def _answer(result: Any) -> web.Response:
    if not isinstance(result, ApiError):
        return web.json_response({"ok": True, "result": result})
    body = {"ok": False, "error_code": result.status, "description": result.description}
    if result.parameters:
        body["parameters"] = dict(result.parameters)
    headers = {}
    if result.parameters and "retry_after" in result.parameters:
        headers["Retry-After"] = str(result.parameters["retry_after"])
    return web.json_response(body, status=result.status, headers=headers)
