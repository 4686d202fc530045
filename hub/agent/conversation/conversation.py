"""A transcript as a model sees it: users' messages in envelopes, text from outside quoted, ends of runs noted.

Each entry is turned into a message once, so a look at a long conversation costs only what was added since the last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from hub.agent.compaction.entry import Compaction, read_compaction, summary_message
from hub.agent.conversation.window import Item, Window, estimate_message, fit, last_turns
from hub.agent.taint.taint import ConversationTaint
from hub.models.contract import Block, Message, Role, TextBlock
from hub.sessions.entry import TranscriptEntry
from hub.sessions.repair import pair_results
from hub.sessions.transcript import Transcript
from hub.tools.quoting import new_marker, quote_untrusted

RUN_ENDED = "run_ended"
"""The event entry for the end of a run without an answer."""

RUN_RESTARTED = "run_restarted"
PROGRAM_ASKED = "program_asked"
STOPPED_MARK = "[stopped here by the user]"
BROKEN_MARK = "[broken off here]"
FAILED_MARK = "[no answer was given: {code}]"
CONVERSATIONS_KEPT = 256
NAME_LIMIT = 64

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\[\]]+")


PARTS = "parts"
"""Stands with words that answer several messages, or were heard by a running turn: the run each was to have."""

QUOTED = "quoted"
"""Stands with words of this home that hold words from outside: these are quoted in them, the rest is as it was said."""


def message_data(
    *, channel: str | None, sender: str | None, trusted: bool, quoted: bool = False, area: str | None = None
) -> dict[str, Any]:
    """Return the data stored with a user's words, so that they are always shown the same way.

    Args:
        quoted: Whether untrusted text is already quoted in the words.
        area: The area of the home where they were said.
    """
    said: dict[str, Any] = {"channel": channel or "hub"}
    if area:
        said["area"] = area
    if sender:
        said["sender"] = sender
    if quoted:
        said[QUOTED] = True
    elif not trusted:
        said["marker"] = new_marker()
    return said


class RunConversation:
    """The messages of one transcript's current branch.

    Args:
        transcript: The transcript.
        zone: The home's time zone, for envelopes.

    Attributes:
        called_at: When a model was last sent it, on the monotonic clock.
        try_again_at: Tokens at which a failed compaction is tried again; 0 when none failed.
    """

    def __init__(self, transcript: Transcript, zone: tzinfo) -> None:
        self.transcript = transcript
        self.called_at: float | None = None
        self.try_again_at = 0
        self._zone = zone
        self._reset()

    def window(self, budget: int, *, halvings: int = 0, turns: int | None = None) -> Window:
        """Return the part of the conversation that fits into `budget` tokens and a number of turns."""
        self._refresh()
        budget -= self._measured
        summary = self._summary
        if summary is not None:
            budget -= summary.tokens
        items = self._items if turns is None else last_turns(self._items, turns)
        if len(items) == len(self._items) and self._tokens <= budget and not halvings:
            window = Window(tuple(self._messages), self._tokens)
        else:
            window = fit(items, budget, halvings=halvings)
        if not self._tidy or self._waiting:
            window = replace(window, messages=tuple(pair_results(window.messages)))
        if summary is None:
            return window
        return Window((summary.message, *window.messages), summary.tokens + window.tokens, window.left_out)

    def taint(self) -> ConversationTaint:
        """Return the taint of the whole conversation, inside and outside the window."""
        self._refresh()
        return self._taint

    def items(self) -> Sequence[Item]:
        """Return the messages since the last compaction, as models are sent them."""
        self._refresh()
        return self._items

    def summary(self) -> str:
        """Return the summary of the messages before them; empty if there is none."""
        self._refresh()
        return self._compaction.summary if self._compaction is not None else ""

    def tokens(self) -> int:
        """Return the estimated tokens of the conversation: the provider's last count, plus estimates since."""
        self._refresh()
        return self._tokens + (self._summary.tokens if self._summary is not None else 0) + self._measured

    def is_cold(self, now: float, ttl_s: float) -> bool:
        """Whether the provider's cache, kept for `ttl_s` seconds, has expired for this conversation."""
        return self.called_at is None or now - self.called_at > ttl_s

    def show_instead(self, messages: Mapping[int, Message]) -> None:
        """Replace messages in what a model is sent, by their index in `items`; the transcript stays unchanged."""
        for at, message in messages.items():
            old = self._items[at]
            self._items[at] = Item(message, estimate_message(message), old.entry_id)
            self._messages[at] = message
            self._tokens += self._items[at].tokens - old.tokens

    def calibrate(self, counted: int, estimated: int) -> None:
        """Correct the estimates with the provider's token count of a request.

        Args:
            counted: Tokens of the request, from the provider; 0 when it told none.
            estimated: Our estimate. A provider's count below half of it is not believed.
        """
        if counted > 0:
            self._measured = max(counted - estimated, -(estimated // 2))

    def _reset(self) -> None:
        self._items: list[Item] = []
        # Sums over the items, since nearly every look finds that all of them fit.
        self._messages: list[Message] = []
        self._tokens = 0
        self._measured = 0
        self._seen = 0
        self._leaf: TranscriptEntry | None = None
        self._waiting: list[str] = []
        self._tidy = True
        self._taint = ConversationTaint()
        self._compaction: Compaction | None = None
        self._summary: Item | None = None

    def _refresh(self) -> None:
        leaf = self.transcript.leaf
        if leaf is self._leaf:
            return
        branch = self.transcript.branch()
        if self._seen > len(branch) or (self._seen and branch[self._seen - 1] is not self._leaf):
            self._reset()
        fresh, self._seen, self._leaf = branch[self._seen :], len(branch), leaf
        for entry in fresh:
            self._taint.add(entry)
            if entry.message is None and (done := read_compaction(entry)) is not None:
                self._shorten(done, entry)
            elif (message := self._message(entry)) is not None:
                self._add(Item(message, estimate_message(message), entry.id))

    def _add(self, item: Item) -> None:
        self._tidy = self._tidy and self._follows(item.message)
        self._items.append(item)
        self._messages.append(item.message)
        self._tokens += item.tokens

    def _shorten(self, done: Compaction, entry: TranscriptEntry) -> None:
        """Put a summary in place of everything before the first entry that it keeps."""
        cut = next((at for at, item in enumerate(self._items) if item.entry_id == done.first_kept), None)
        if cut is None:
            return
        kept = [*[item for item in self._items[:cut] if item.entry_id == done.turn], *self._items[cut:]]
        message = summary_message(done, entry)
        self._compaction, self._summary = done, Item(message, estimate_message(message), entry.id)
        self._items, self._messages, self._waiting = [], [], []
        self._tokens = self._measured = 0
        self._tidy = True
        for item in kept:
            self._add(item)

    def _follows(self, message: Message) -> bool:
        """Whether tool results directly follow their calls, in order, as models require."""
        if message.role is Role.TOOL:
            return bool(self._waiting) and self._waiting.pop(0) == message.tool_call_id
        if self._waiting:
            return False
        self._waiting = [call.id for call in message.tool_calls]
        return True

    def _message(self, entry: TranscriptEntry) -> Message | None:
        message = entry.message
        if message is None:
            return self._ended(entry.data)
        if message.role is Role.USER:
            return _said(entry, message, self._zone)
        status = entry.data.get("status", "ok")
        if message.role is Role.ASSISTANT and status != "ok":
            mark = STOPPED_MARK if status == "aborted" else BROKEN_MARK
            return replace(message, content=(*message.content, TextBlock(f"\n{mark}")))
        return message

    def _ended(self, data: Mapping[str, Any]) -> Message | None:
        """Add a note that an earlier run gave no answer, unless its last words say so."""
        if data.get("name") != RUN_ENDED or not self._items or self._items[-1].message.role is Role.ASSISTANT:
            return None
        stopped = data.get("status") == "aborted"
        text = STOPPED_MARK if stopped else FAILED_MARK.format(code=data.get("code") or "INTERNAL")
        return Message(Role.ASSISTANT, (TextBlock(text),))


class ConversationSource:
    """A cache of the most recent conversations, prepared for models."""

    def __init__(self) -> None:
        self._kept: dict[str, RunConversation] = {}

    def of(self, session_id: str, transcript: Transcript, zone: tzinfo) -> RunConversation:
        """Return the conversation of a transcript; the same object as long as both stay the same."""
        known = self._kept.pop(session_id, None)
        if known is None or known.transcript is not transcript:
            known = RunConversation(transcript, zone)
        self._kept[session_id] = known
        if len(self._kept) > CONVERSATIONS_KEPT:
            del self._kept[next(iter(self._kept))]
        return known

    def is_prepared(self, session_id: str, transcript: Transcript) -> bool:
        """Whether the conversation was prepared since its transcript was opened."""
        known = self._kept.get(session_id)
        return known is not None and known.transcript is transcript


def _said(entry: TranscriptEntry, message: Message, zone: tzinfo) -> Message:
    channel = entry.data.get("channel")
    if channel is None:
        return message
    told = envelope(entry.ts_ms, zone, channel=channel, area=entry.data.get("area"), sender=entry.data.get("sender"))
    blocks: list[Block] = [TextBlock(told)]
    if entry.provenance.trusted or entry.data.get(QUOTED) is True:
        return replace(message, content=(*blocks, *message.content))
    # An entry without a marker of its own was not written by us; its id is no worse a marker than none.
    marker = str(entry.data.get("marker") or entry.id)
    for block in message.content:
        blocks.append(_quoted(block, str(channel), marker))
    return replace(message, content=tuple(blocks))


def _quoted(block: Block, channel: str, marker: str) -> Block:
    return TextBlock(quote_untrusted(block.text, source=channel, marker=marker)) if type(block) is TextBlock else block


def envelope(
    ts_ms: int, zone: tzinfo, *, channel: str | None = None, area: str | None = None, sender: str | None = None
) -> str:
    """Return one line in brackets that says when, where and by whom something was said.

    Args:
        ts_ms: Milliseconds since the epoch.
        zone: The home's time zone.
        channel: The channel it came by.
        area: The area of the home where it was said.
        sender: The sender's name as given by the channel; sanitized here.
    """
    facts = [_minute(ts_ms // 60_000, zone)]
    if channel:
        facts.append(channel)
    if place := harmless_name(area):
        facts.append(f"in {place}")
    if name := harmless_name(sender):
        facts.append(f"from {name}")
    return f"[{', '.join(facts)}]"


@lru_cache(maxsize=64)
def _minute(minute: int, zone: tzinfo) -> str:
    return f"{datetime.fromtimestamp(minute * 60, zone):%a %Y-%m-%d %H:%M %Z}".rstrip()


def harmless_name(name: str | None) -> str:
    """Return a name from outside as a few plain words without brackets; names never authorise."""
    return " ".join(_UNSAFE.sub(" ", name or "").split())[:NAME_LIMIT].rstrip()
