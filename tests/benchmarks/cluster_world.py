"""The world around the homes of the simulation: a chat app with a bot for each home, and a model that takes its time.

Both keep account of each message, which carries its number: when it was said, how often the model was asked about it,
and when its answers arrived.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

from aiohttp import web

WHO = 7
"""The number of the person who writes to every bot; smaller than those of the bots."""
FIRST_BOT = 1_000
POLL_LIMIT_S = 20.0
_NUMBER = re.compile(r"#(\d+)")


@dataclass
class Said:
    """One message, and what became of it."""

    home: int
    number: int
    said_s: float
    model_s: list[float] = field(default_factory=list)
    answered_s: list[float] = field(default_factory=list)

    @property
    def wait_s(self) -> float:
        """From the message to its first answer."""
        return self.answered_s[0] - self.said_s

    @property
    def own_wait_s(self) -> float:
        """The same without what the model took, the time when it answered."""
        return self.wait_s - self.model_s[-1]


class Bot:
    """What one home has in the chat app."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.messages: list[Said] = []
        self.answers: list[int] = []
        self.other: list[str] = []
        self.up = False
        self._before = 0
        self._updates: list[dict[str, Any]] = []
        self._arrived = asyncio.Event()
        self._sent = 0

    @property
    def busy(self) -> bool:
        """Whether its last message is not answered yet."""
        return bool(self.messages) and not self.messages[-1].answered_s

    def say(self) -> None:
        """Let the person write."""
        number = self._before + len(self.messages) + 1
        self.messages.append(Said(self.number, number, time.monotonic()))
        person = {"id": WHO, "is_bot": False, "first_name": "Ada"}
        message = {
            "message_id": 2 * number,
            "date": int(time.time()),
            "from": person,
            "text": f"message #{number}",
            "chat": {"id": WHO, "type": "private", "first_name": "Ada"},
        }
        self._updates.append({"update_id": number, "message": message})
        self._arrived.set()

    def find(self, number: int) -> Said | None:
        """Return a message of this run."""
        index = number - self._before - 1
        return self.messages[index] if 0 <= index < len(self.messages) else None

    def begin_anew(self) -> None:
        """Forget what was said; the numbers go on."""
        self._before += len(self.messages)
        self.messages, self.answers, self.other = [], [], []

    async def updates(self, offset: int, wait_s: float) -> list[dict[str, Any]]:
        """Return what is not confirmed; wait for it."""
        self.up = True
        self._updates = [each for each in self._updates if each["update_id"] >= offset]
        if not self._updates:
            self._arrived.clear()
            try:
                async with asyncio.timeout(wait_s):
                    await self._arrived.wait()
            except TimeoutError:
                return []
        return list(self._updates)

    def is_last(self, text: str) -> bool:
        """Return whether this answers what was said last, for the first time."""
        found = _NUMBER.search(text)
        return self.busy and found is not None and self.find(int(found[1])) is self.messages[-1]

    def show(self, text: str) -> dict[str, Any]:
        """Show what the bot sends."""
        found = _NUMBER.search(text)
        said = self.find(int(found[1])) if found is not None else None
        if said is None:
            self.other.append(text)
        else:
            self.answers.append(said.number)
            said.answered_s.append(time.monotonic())
        self._sent += 1
        chat = {"id": WHO, "type": "private", "first_name": "Ada"}
        return {"message_id": 2 * self._sent + 1, "date": int(time.time()), "chat": chat, "text": text}


class HeldSend:
    """A message that has arrived at the chat app from a home, and is not shown yet.

    Args:
        bot: Whose it is.
        port: Which it comes from.
    """

    def __init__(self, bot: Bot, port: int) -> None:
        self.bot = bot
        self.port = port
        self.shown = asyncio.Event()
        """Set it to let it show."""


class World:
    """The chat app and the model, on one port.

    Args:
        homes: How many.
        model_s: The least and the most that the model takes.
    """

    def __init__(self, homes: int, model_s: tuple[float, float]) -> None:
        self.bots = [Bot(number) for number in range(1, homes + 1)]
        self._model_s = model_s
        self._port = 0
        self._runner: web.AppRunner | None = None
        self._hold: asyncio.Future[HeldSend] | None = None

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_route("*", "/bot{number}:{token}/{method}", self._bot)
        application.router.add_post("/model/{number}/v1/chat/completions", self._model)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=4_096)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def configuration(self, number: int) -> str:
        """Return the configuration of a home that lives in this world."""
        root = f"http://127.0.0.1:{self._port}"
        return (
            f"hub: {{name: Home {number}, install: never}}\n"
            "messages: {inbound: {debounce_ms: 0}}\n"
            "models:\n  default: bench/slow\n  providers:\n    bench:\n      api: openai\n"
            f"      base_url: {root}/model/{number}/v1\n      api_key: bench-key-0123456789\n"
            "      models: [{id: slow, context_window: 200000}]\n"
            "agents:\n  - {id: main, default: true}\n"
            f"telegram:\n  - {{token: '{FIRST_BOT + number}:AAtoken-of-a-bot-in-the-simulation', api_root: '{root}', "
            f"dm_policy: allowlist, allow_from: [{WHO}]}}\n"
        )

    async def drive(self, rate: float, seconds: float) -> None:
        """Let people write, so many messages a second over all homes; who waits for an answer writes no other."""
        end = next_s = time.monotonic()
        end += seconds
        while (now := time.monotonic()) < end:
            if now < next_s:
                await asyncio.sleep(next_s - now)
            next_s += 1 / rate
            free = [bot for bot in random.sample(self.bots, min(len(self.bots), 50)) if not bot.busy]
            if free:
                free[0].say()

    async def settled(self, limit_s: float) -> None:
        """Wait until every message is answered, or a time is over."""
        end = time.monotonic() + limit_s
        while any(bot.busy for bot in self.bots) and time.monotonic() < end:  # noqa: ASYNC110  no event tells of it
            await asyncio.sleep(0.1)

    async def all_up(self, limit_s: float) -> None:
        """Wait until each home asks for its messages.

        Raises:
            TimeoutError: Some do not.
        """
        async with asyncio.timeout(limit_s):
            while not all(bot.up for bot in self.bots):  # noqa: ASYNC110  no event tells of it
                await asyncio.sleep(0.1)

    async def hold_send(self) -> HeldSend:
        """Wait for the next answer to the last message of a home, and hold it."""
        self._hold = asyncio.get_running_loop().create_future()
        return await self._hold

    def account(self) -> Account:
        """Return what became of all messages, and begin anew."""
        made = Account.of(self.bots)
        for bot in self.bots:
            bot.begin_anew()
        return made

    async def _bot(self, request: web.Request) -> web.Response:
        bot = self.bots[int(request.match_info["number"]) - FIRST_BOT - 1]
        given: dict[str, Any] = dict(request.query)
        if request.content_type == "application/json":
            given |= await request.json()
        elif request.method == "POST":
            given |= dict(await request.post())
        method, (_, port, *_) = request.match_info["method"].lower(), request.get_extra_info("peername")
        done = asyncio.ensure_future(self._do(bot, method, given, port))
        if method == "sendmessage":  # what has arrived shows, even when its sender is gone
            return web.json_response({"ok": True, "result": await asyncio.shield(done)})
        return web.json_response({"ok": True, "result": await done})

    async def _do(self, bot: Bot, method: str, given: dict[str, Any], port: int) -> Any:
        match method:
            case "getme":
                return {
                    "id": FIRST_BOT + bot.number,
                    "is_bot": True,
                    "first_name": "Bot",
                    "username": f"home_{bot.number}_bot",
                }
            case "getwebhookinfo":
                return {"url": "", "has_custom_certificate": False, "pending_update_count": 0}
            case "getupdates":
                wait_s = min(float(given.get("timeout") or 0), POLL_LIMIT_S)
                return await bot.updates(int(given.get("offset") or 0), wait_s)
            case "sendmessage" | "editmessagetext":
                wanted = self._hold is not None and not self._hold.done() and bot.is_last(str(given["text"]))
                if self._hold is not None and wanted and method == "sendmessage":
                    held = HeldSend(bot, port)
                    self._hold.set_result(held)
                    await held.shown.wait()
                return bot.show(str(given["text"]))
        return True

    async def _model(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        asked = [message for message in body["messages"] if message["role"] == "user"]
        found = _NUMBER.findall(json.dumps(asked[-1]["content"])) if asked else []
        number = int(found[-1]) if found else 0
        bot = self.bots[int(request.match_info["number"]) - 1]
        takes_s = random.uniform(*self._model_s)
        if (said := bot.find(number)) is not None:
            said.model_s.append(takes_s)
        await asyncio.sleep(takes_s)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for delta, finish in (({"role": "assistant", "content": f"answer #{number}"}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {"id": "c", "object": "chat.completion.chunk", "model": "slow", "choices": [choice]}
            await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response


@dataclass
class Account:
    """What became of the messages of a run.

    Attributes:
        lost: Messages without an answer, by home and number.
        twice: Answers beyond the first of a message.
        out_of_order: Answers that came after that of a later message.
        begun_again: How often the model was asked about a message beyond the first time.
        other: What homes sent that answers no message.
    """

    said: int
    answered: int
    lost: list[str]
    twice: int
    out_of_order: int
    begun_again: int
    waits_s: list[float]
    own_waits_s: list[float]
    other: list[str]

    @classmethod
    def of(cls, bots: Iterable[Bot]) -> Account:
        """Count what became of all messages of some bots."""
        counts: defaultdict[str, int] = defaultdict(int)
        waits, own, other, lost = [], [], [], []
        for bot in bots:
            other += bot.other
            firsts = list(dict.fromkeys(bot.answers))
            counts["out_of_order"] += sum(one > next_ for one, next_ in pairwise(firsts))
            for said in bot.messages:
                counts["said"] += 1
                counts["begun_again"] += max(0, len(said.model_s) - 1)
                if not said.answered_s:
                    lost.append(f"h{said.home} #{said.number}, model asked {len(said.model_s)} times")
                    continue
                counts["answered"] += 1
                counts["twice"] += len(said.answered_s) - 1
                waits.append(said.wait_s)
                if said.model_s:
                    own.append(said.own_wait_s)
        names = ("said", "answered", "twice", "out_of_order", "begun_again")
        return cls(**{name: counts[name] for name in names}, lost=lost, waits_s=waits, own_waits_s=own, other=other)
