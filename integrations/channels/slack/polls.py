"""Polls of our own on Slack, which has none: a button for each option, and counts that are edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.messaging.contract import Receiver
from integrations.channels.persistent_map import PersistentMap

KEPT = 50
VOTE = "vote:"
"""Begins the action ids of options."""
OPTION_CHARS, QUESTION_CHARS = 60, 3_000
OPTIONS = 25


class SlackVote(Struct, frozen=True):
    """What somebody chose, and the event that said so: one that comes again changes nothing."""

    numbers: tuple[int, ...]
    event_id: str


class SlackPoll(Struct, frozen=True):
    """A poll, and the votes of people by their typed identities."""

    question: str
    options: tuple[str, ...]
    multiple: bool
    votes: Mapping[str, SlackVote] = {}

    def voted(self, who: str, number: int, event_id: str) -> SlackPoll:
        """Return the poll after somebody pressed an option; one that was chosen is taken back."""
        before = self.votes.get(who)
        if before is not None and before.event_id == event_id:
            return self
        chosen = before.numbers if before is not None else ()
        if number in chosen:
            now = tuple(each for each in chosen if each != number)
        else:
            now = (*chosen, number) if self.multiple else (number,)
        return replace(self, votes={**self.votes, who: SlackVote(tuple(sorted(now)), event_id)})

    def blocks(self) -> list[dict[str, Any]]:
        """Return the question, and a button for each option with its count."""
        counts = [sum(number in vote.numbers for vote in self.votes.values()) for number in range(len(self.options))]
        buttons = [
            {
                "type": "button",
                "text": {"type": "plain_text", "text": f"{option[:OPTION_CHARS]} ({count})"},
                "action_id": f"{VOTE}{number}",
                "value": str(number),
            }
            for number, (option, count) in enumerate(zip(self.options, counts, strict=True))
        ]
        question = {"type": "plain_text", "text": self.question[:QUESTION_CHARS]}
        return [{"type": "section", "text": question}, {"type": "actions", "elements": buttons}]


class SlackPolls(PersistentMap[SlackPoll]):
    """The latest polls, by conversation and message, over restarts."""

    def __init__(self, receive: Receiver) -> None:
        super().__init__(receive, "polls", KEPT, SlackPoll)
