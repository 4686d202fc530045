"""Recovery of the queue after a stop or a crash: begun turns, and waiting messages. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hub.messaging.inbox.inbox_rows import InboxRow
from hub.messaging.queue.group_history import OverheardLine
from hub.messaging.queue.turn import Turn
from hub.messaging.queue.waiting import WaitingMessage, waiting_message


def resumable(
    rows: Sequence[InboxRow],
    begun: Collection[str],
    overheard: Mapping[str, tuple[OverheardLine, ...]],
    quotes: Mapping[str, OverheardLine],
) -> tuple[list[Turn], list[tuple[str, WaitingMessage]]]:
    """Return the turns to resume with their messages, and the waiting messages with their sessions.

    Args:
        rows: The queued messages, in the order in which they came.
        begun: The runs whose words are in a transcript.
        overheard: The group history that runs were given.
        quotes: What messages quote, by row.
    """
    by_run: dict[str, list[InboxRow]] = {}
    for row in rows:
        by_run.setdefault(row.run_id or row.id, []).append(row)
    turns: list[Turn] = []
    waiting: list[tuple[str, WaitingMessage]] = []
    for run_id, group in by_run.items():
        found = [waiting_message(row) for row in group]
        found[0].overheard = overheard.get(run_id, ())
        for each in found:
            each.quote = quotes.get(each.row_id)
        session_key = group[0].session_key or ""
        if len(group) == 1 and run_id not in begun:
            waiting.append((session_key, found[0]))
            continue
        messages = tuple(each for each, row in zip(found, group, strict=True) if row.reason != "steered")
        heard = tuple(each for each, row in zip(found, group, strict=True) if row.reason == "steered")
        turns.append(Turn(session_key, messages, heard=heard, begun=True))
    return turns, waiting
