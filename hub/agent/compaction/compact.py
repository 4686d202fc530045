"""Compacts a conversation: memory is written first, then a summary is made, then the transcript says so."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agent
from hub.agent.budgets.ledger import Spender
from hub.agent.compaction.entry import Compaction, compaction_entry
from hub.agent.compaction.plan import Cut, chunks, find_cut
from hub.agent.compaction.summarise import SUMMARY_CHARS, PoorSummary, SummaryNeeds, summarise
from hub.agent.conversation.conversation import RunConversation
from hub.agent.conversation.window import Item
from hub.agent.parts import RunDependencies
from hub.agent.runs.trace import RunTrace
from hub.agent.small_call import is_real
from hub.agent.taint.authorship import speaker
from hub.core.context import Context
from hub.core.errors import HubError, Unavailable
from hub.models.contract import Message, ModelError, Role, Usage
from hub.models.resolved import Resolved

EVENT_STARTED = "compaction_started"
EVENT_FINISHED = "compaction_finished"
"""Fired with `agent_id`, `session_key`, `run_id`, `reason`, `tokens_before`; at the end with `tokens_after` and
`messages`, or with `error`."""

FLUSH_LIMIT_S = 60.0
SUMMARY_LIMIT_S = 300.0
STARTUP_CHARS = 3_000
RULES_FILE = "AGENTS.md"
GAIN_SHARE = 10
"""A cut that summarises less than a tenth of the conversation is not worth a call."""
CHARS_PER_TOKEN = 3

_STARTUP = re.compile(
    r"^##\s+(?:Session Startup|Red Lines)\s*$.*?(?=^##?\s|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE
)

_log = logging.getLogger(__name__)


class CompactionReason(StrEnum):
    """The reason for compacting a conversation."""

    THRESHOLD = "threshold"
    OVERFLOW = "overflow"
    ASKED = "asked"


class NoSummary(Unavailable):
    """No model gave a usable summary; the message says why."""


class CompactionRequest(Struct, frozen=True):
    """A conversation to be compacted.

    Attributes:
        agent: Its agent.
        session_key: Its session.
        context: The cause, and the authority.
        candidates: Models that may write the summary, in order.
        reason: Why it is compacted.
        spender: Whose budgets pay for the summary.
        fixed_tokens: Size of prompt and tools.
        run_id: The active run, if there is one.
        instructions: What the requester wants in the summary.
        trace: The trace of that run.
    """

    agent: Agent
    session_key: str
    context: Context
    candidates: Sequence[Resolved]
    reason: CompactionReason
    spender: Spender
    fixed_tokens: int = 0
    run_id: str | None = None
    instructions: str = ""
    trace: RunTrace | None = None


class Compacted(Struct, frozen=True):
    """The result of a compaction: estimated tokens before and after, and the number of messages summarised."""

    tokens_before: int
    tokens_after: int
    messages: int


async def compact(
    parts: RunDependencies, conversation: RunConversation, request: CompactionRequest
) -> Compacted | None:
    """Replace the older part of a conversation by a summary; None when nothing was replaced.

    Nothing is lost when that fails: the conversation is as it was before. It is tried again once it has grown.

    Raises:
        NoSummary: Somebody asked for it, and no model gave a usable summary.
        HubError: Somebody asked for it, and the entry could not be written.

    Cancelling it leaves the conversation as it was.
    """
    candidates = [each for each in request.candidates if is_real(each)]
    before = conversation.tokens() + request.fixed_tokens
    cut = _cut(conversation, request, before) if candidates else None
    if cut is None or (request.reason is CompactionReason.THRESHOLD and before < conversation.try_again_at):
        return None
    facts = {
        "agent_id": request.agent.id,
        "session_key": request.session_key,
        "run_id": request.run_id,
        "reason": request.reason.value,
        "tokens_before": before,
    }
    parts.bus.fire(EVENT_STARTED, facts, request.context)
    window = candidates[0].info.context_window
    told: dict[str, Any] = {}
    calls: list[tuple[str, Usage]] = []
    begun = parts.clock.monotonic()
    try:
        await _write_memory(parts, request)
        items = conversation.items()
        done = Compaction(
            await _summary(parts, conversation, request, candidates, _summarised(items, cut), calls),
            items[cut.at].entry_id,
            items[cut.turn].entry_id if cut.turn is not None else None,
            request.reason.value,
            len(items) - len(_kept(items, cut)),
            before,
            _startup(parts, request.agent.id),
        )
        derived = conversation.taint().is_heard(speaker(request.context.authority))
        entry = compaction_entry(done, parts.now_ms(), derived=derived, run_id=request.run_id)
        await conversation.transcript.append(entry, sync=True)
        after = conversation.tokens() + request.fixed_tokens
        told = {"tokens_after": after, "messages": done.messages}
        return Compacted(before, after, done.messages)
    except (HubError, PoorSummary, TimeoutError) as error:
        reason = str(error) or f"no summary within {SUMMARY_LIMIT_S:g} s"
        _log.warning("%s is not compacted: %s", request.session_key, reason)
        told = {"error": reason}
        conversation.try_again_at = before + window // GAIN_SHARE
        if request.reason is not CompactionReason.ASKED:
            return None
        if isinstance(error, HubError) and not isinstance(error, ModelError):
            raise  # the caller reports it
        raise NoSummary(reason) from error
    finally:
        told = told or {"error": "it was stopped"}
        parts.bus.fire(EVENT_FINISHED, {**facts, **told}, request.context)
        if request.trace is not None:
            usage = sum((each for _, each in calls), Usage())
            used = {"model": calls[-1][0] if calls else "", "usage": usage.as_dict()}
            facts = {"reason": request.reason.value, "tokens_before": before, "tokens_after": before, "messages": 0}
            request.trace.note("compaction", begun, {**facts, **told, **used})


def startup_sections(rules: str) -> str:
    """Return the sections “Session Startup” and “Red Lines” of AGENTS.md."""
    return "\n\n".join(found[0].strip() for found in _STARTUP.finditer(rules))[:STARTUP_CHARS]


def _cut(conversation: RunConversation, request: CompactionRequest, before: int) -> Cut | None:
    """Return where to cut, or None if cutting would gain nothing."""
    settings, items = request.agent.compaction, conversation.items()
    estimated = sum(item.tokens for item in items)
    room = settings.threshold(request.candidates[0].info.context_window) - request.fixed_tokens
    if request.reason is not CompactionReason.THRESHOLD:
        room = min(room, before - request.fixed_tokens)
    # Items have estimated sizes; where the provider counts more, fewer of them are what is to be kept.
    share = min(1.0, (estimated + request.fixed_tokens) / max(1, before))
    cut = find_cut(items, int(settings.keep(max(room, 0)) * share))
    gained = sum(item.tokens for item in _summarised(items, cut))
    if cut.at == 0 or not gained or (gained * GAIN_SHARE < estimated and request.reason is CompactionReason.THRESHOLD):
        return None
    return cut


def _summarised(items: Sequence[Item], cut: Cut) -> Sequence[Item]:
    return items[: cut.at] if cut.turn is None else [*items[: cut.turn], *items[cut.turn + 1 : cut.at]]


def _kept(items: Sequence[Item], cut: Cut) -> Sequence[Item]:
    return items[cut.at :] if cut.turn is None else [items[cut.turn], *items[cut.at :]]


async def _write_memory(parts: RunDependencies, request: CompactionRequest) -> None:
    """Let memory keep what matters before it leaves the window; a failure does not stop the compaction."""
    if not request.agent.compaction.memory_flush:
        return
    for write in parts.before_compaction:
        try:
            async with asyncio.timeout(FLUSH_LIMIT_S):
                await write(request.session_key)
        except (HubError, TimeoutError) as error:
            _log.warning(
                "memory was not written before %s was compacted: %s", request.session_key, str(error) or "too slow"
            )


async def _summary(
    parts: RunDependencies,
    conversation: RunConversation,
    request: CompactionRequest,
    candidates: Sequence[Resolved],
    items: Sequence[Item],
    calls: list[tuple[str, Usage]],
) -> str:
    window = min(each.info.context_window for each in candidates)
    agent, key = request.agent, request.session_key

    def used(model: str, usage: Usage) -> None:
        calls.append((model, usage))
        parts.charge(request.spender, model, usage)
        parts.sessions.add_usage(key, usage, turns=1)

    needs = SummaryNeeds(parts.models, agent, candidates, used)
    limit = min(SUMMARY_CHARS, window * CHARS_PER_TOKEN // GAIN_SHARE)
    async with asyncio.timeout(SUMMARY_LIMIT_S):
        pieces = chunks([_as_it_was(conversation, item) for item in items], window)
        return await summarise(needs, pieces, conversation.summary(), request.instructions, limit)


def _as_it_was(conversation: RunConversation, item: Item) -> Message:
    """Return a message with its full tool result, of which the model may have been sent only a part."""
    entry = conversation.transcript.get(item.entry_id)
    if item.message.role is not Role.TOOL or entry is None or entry.message is None:
        return item.message
    return entry.message


def _startup(parts: RunDependencies, agent_id: str) -> str:
    files = parts.workspaces.prompt_files(agent_id, private=False)
    return startup_sections(next((file.text or "" for file in files if file.name == RULES_FILE), ""))
