from __future__ import annotations

from datetime import UTC
from pathlib import Path

from hub.agent.conversation.conversation import CONVERSATIONS_KEPT, ConversationSource
from hub.sessions.transcript import Transcript


def test_as_many_conversations_are_kept_as_are_said_and_the_one_used_longest_ago_goes(tmp_path: Path) -> None:
    source = ConversationSource()
    open_ = {str(n): Transcript.open(tmp_path / f"{n}.jsonl") for n in range(CONVERSATIONS_KEPT + 1)}
    (first, second, *middle, last) = open_
    for id in (first, second, *middle):
        source.of(id, open_[id], UTC)
    assert all(source.is_prepared(id, open_[id]) for id in (first, second, *middle))

    used = source.of(first, open_[first], UTC)
    source.of(last, open_[last], UTC)

    assert [id for id in open_ if not source.is_prepared(id, open_[id])] == [second]
    assert source.of(first, open_[first], UTC) is used
