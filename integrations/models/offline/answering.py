"""How the offline model answers: sentences in, text or tool calls out, in the form every other model answers in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime

from hub.automation.contract import DRAFT_ASKED
from hub.core.ids import new_id
from hub.models.contract import (
    Message,
    ModelEvent,
    ModelRequest,
    Role,
    StopEvent,
    StopReason,
    TextDelta,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
    UsageEvent,
)
from integrations.models.offline.decide import OfflineTurn, decide
from integrations.models.offline.drafting import answer_draft
from integrations.models.offline.entries import RecalledEntry, entries_in
from integrations.models.offline.heartbeat import ASKED, answer_heartbeat
from integrations.models.offline.listening import understood
from integrations.models.offline.memories import REMEMBER, SEARCH
from integrations.models.offline.recognizer import (
    CHINESE,
    ENGLISH,
    RecognizedIntent,
    Recognizer,
    language_of,
    languages_of,
)
from integrations.models.offline.replies import reply
from integrations.models.offline.standing import reminders_in
from integrations.models.offline.steps import Call, Say, Step, StepResult

TIMED = frozenset({"Ask", "CancelSchedule", "TimerDo"})
"""What needs the seconds, or the zone, of the moment when it was said."""
SPOKEN = "voice"
"""The channel of what is said to a satellite."""
STEPS_LIMIT = 12
AT_ONCE_LIMIT = 120
"""Characters that are recognised on the event loop; 1,000 that are all keywords would hold it for half a second."""

# The line that the hub puts before a user's words: [Sat 2026-11-21 12:51 CET, webchat, from Me]
_ENVELOPE = re.compile(
    r"\A\[\w{3} (\d{4}-\d\d-\d\d \d\d:\d\d)(?: [^,\]\n]*)?(?:, (?P<channel>[^,\]\n]*))?"
    r"(?:, in (?P<room>[^,\]\n]+))?[^\]\n]*\]\s*"
)
_NOTE = re.compile(r"\A\[\w{3} [^\]\n]*, (?:memory|reminder|system)\]\s*")
_OUTSIDE = "<<<outside "
"""What the hub begins a quotation with that did not come from people of this home."""
_QUOTED = re.compile(r"\A<<<outside (\S+) [^\n]*\n(.*)\n>>>outside \1\s*\Z", re.DOTALL)
"""A whole message of somebody who is not of this home."""
_REMINDER = re.compile(r"\A\[\w{3} [^\]\n]*, reminder\]\s*")


class OfflineAnswers:
    """Answers from sentence patterns.

    Args:
        now: Local time, for requests without one.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._recognizers = {language: Recognizer(language) for language in (ENGLISH, CHINESE)}
        self._loading = asyncio.Lock()
        self._last: tuple[str, RecognizedIntent | None] = ("", None)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request."""
        said, results = last_turn(request.messages)
        turns = _said_last(request.messages, 2)
        envelope = _ENVELOPE.match(said)
        text, minute = unwrap(said)
        now = minute or self._now()
        if (quoted := _QUOTED.match(text)) is not None:
            text = quoted[2]
        language = language_of(text)
        tools = {tool.name for tool in request.tools}
        step: Step
        if request.system.startswith(DRAFT_ASKED):
            await self._load(language)
            recognize = self._recognizers[language].recognize
            step = Say(answer_draft(request.system, text, now, language, recognize))
        elif ASKED in text:
            step = Say(answer_heartbeat(text, language))
        else:
            intent = understood(text, await self._recognize(text), language, now)
            if intent is not None:
                language = intent.language
                now = _moment(minute, self._now()) if intent.name in TIMED else now
            spoken = last_mentioned(request.messages, turns)
            room = (envelope["room"] or "") if envelope is not None else ""
            is_spoken = envelope is not None and envelope["channel"] == SPOKEN
            turn = OfflineTurn(text, language, now, tools, spoken, room=room, is_spoken=is_spoken)
            step = decide(intent, results, turn)
            if quoted is not None and isinstance(step, Call):
                step = decide(None, results, turn)  # for others it answers what it knows, and does nothing
        if isinstance(step, Call) and len(results) >= STEPS_LIMIT:
            step = Say(reply("too_many_steps", language))
        if isinstance(step, Say) and (due := reminders(request.messages[: turns[0] if turns else 0], language)):
            step = Say("\n\n".join([*due, step.text]))
        match step:
            case Say(answer):
                yield TextDelta(answer)
            case Call(tool, arguments):
                yield ToolCallEvent(ToolCallBlock(f"offline-{new_id()}", tool, arguments))
        yield UsageEvent(Usage(cost_usd=0.0))
        yield StopEvent(StopReason.TOOL_CALLS if isinstance(step, Call) else StopReason.END)

    async def load_for(self, language: str | None) -> None:
        """Load the grammar of a language, else the English one, before the first sentence."""
        await self._load(CHINESE if (language or "").lower().startswith("zh") else ENGLISH)

    async def _recognize(self, text: str) -> RecognizedIntent | None:
        """Recognise a sentence; once in a turn, which is decided again after each tool result."""
        if self._last[0] != text:
            self._last = (text, await self._recognized(text))
        return self._last[1]

    async def _recognized(self, text: str) -> RecognizedIntent | None:
        for language in languages_of(text):
            recognizer = await self._load(language)
            if len(text) <= AT_ONCE_LIMIT:
                intent = recognizer.recognize(text)
            else:
                intent = await asyncio.to_thread(recognizer.recognize, text)
            if intent is not None:
                return intent
        return None

    async def _load(self, language: str) -> Recognizer:
        recognizer = self._recognizers[language]
        async with self._loading:
            if not recognizer.loaded:
                await asyncio.to_thread(recognizer.load)
        return recognizer


def _moment(minute: datetime | None, exact: datetime) -> datetime:
    """Return when something was said: the minute that the hub tells, with its seconds while it lasts."""
    told = minute.replace(tzinfo=exact.tzinfo) if minute is not None else exact
    return exact if told == exact.replace(second=0, microsecond=0) else told


def last_turn(messages: Sequence[Message]) -> tuple[str, list[StepResult]]:
    """Return the user's last message and the tool results since."""
    results: list[StepResult] = []
    for message in reversed(messages):
        if message.role is Role.USER:
            return message.text, results[::-1]
        if message.role is Role.TOOL:
            results.append(StepResult(message.tool_name or "", message.text, message.is_error))
    return "", results[::-1]


def last_mentioned(messages: Sequence[Message], turns: Sequence[int]) -> list[RecalledEntry]:
    """Return the entries that the turn before the last was about: those remembered, or else those found.

    Args:
        messages: The conversation.
        turns: Where the last two messages of a person are, the newest first.
    """
    if len(turns) < 2:
        return []
    before = messages[turns[1] : turns[0]]
    called = [call for each in before if each.role is Role.ASSISTANT for call in each.tool_calls]
    kept = [str(call.arguments.get("text", "")) for call in called if call.name == REMEMBER]
    if kept:
        return [RecalledEntry(kept[-1])]
    found = [each.text for each in before if each.role is Role.TOOL and each.tool_name == SEARCH and not each.is_error]
    answer = before[-1].text
    return [told for told in entries_in(found[-1], "hits") if told.text in answer] if found else []


def reminders(before: Sequence[Message], language: str) -> list[str]:
    """Return the hub's notes of the last turn, from what is before the user's message: they are right before it."""
    found: list[str] = []
    for message in reversed(before):
        if message.role is not Role.USER or _is_said(message):
            break
        if _REMINDER.match(message.text):
            key = "reminded_from_outside" if _OUTSIDE in message.text else "reminded"
            found = [*(reply(key, language, text=text) for text in reminders_in(message.text)), *found]
    return found


def _said_last(messages: Sequence[Message], count: int) -> list[int]:
    """Return where the last messages of a person are, the newest first."""
    found: list[int] = []
    for number in range(len(messages) - 1, -1, -1):
        if len(found) == count:
            break
        if messages[number].role is Role.USER and _is_said(messages[number]):
            found.append(number)
    return found


def _is_said(message: Message) -> bool:
    return message.role is Role.USER and not _NOTE.match(message.text)


def unwrap(said: str) -> tuple[str, datetime | None]:
    """Return a message without its envelope, and the local time the envelope tells."""
    match = _ENVELOPE.match(said)
    if match is None:
        return said, None
    # Local time of the home, whose zone does not matter for what is computed from it.
    return said[match.end() :], datetime.strptime(match[1], "%Y-%m-%d %H:%M")  # noqa: DTZ007
