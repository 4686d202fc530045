"""What is left out of a conversation is in no answer once the worker has the omission, also in an older index."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import pytest
from msgspec.structs import replace

from integrations.memory.notes.job import Job, Source, TranscriptSource
from tests.integrations.memory.index.conftest import Notes

PATH = "transcripts/s1"
SAID = ("The alarm code is zanzibar", "The kettle whistles", "Nobody knows the alarm code zanzibar", "ok " * 900)


def talk(notes: Notes) -> None:
    """Have everything said."""
    sessions = notes.workspace.parent / "sessions"
    sessions.mkdir()
    lines = [{"type": "header", "version": 1, "session_id": "s1", "key": "agent:main:main"}]
    for number, text in enumerate(SAID):
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        stored = {"id": f"e{number}", "type": "message", "ts_ms": 1_795_000_000_000 + number * 86_400_000}
        lines.append({**stored, "message": message, "provenance": {"trusted": True, "source": "x"}})
    (sessions / "s1.jsonl").write_bytes(b"\n".join(orjson.dumps(each) for each in lines))


def job(notes: Notes, left_out: Sequence[str] = ()) -> Job:
    file = TranscriptSource("s1", "s1.jsonl", "private", "me", key="agent:main:main", left_out=tuple(left_out))
    source = Source("transcripts", str(notes.workspace.parent / "sessions"), files=(file,))
    return replace(notes.job, sources=(notes.job.sources[0], source))


@pytest.mark.parametrize("words_alone", [True, False])
async def test_an_older_index_does_not_answer_with_what_is_left_out_since(notes: Notes, words_alone: bool) -> None:
    if words_alone:
        notes.words_alone()
    talk(notes)
    notes.write("MEMORY.md", "zanzibar is an island\n")
    notes.job = job(notes)
    await notes.worker.sync(notes.job)
    before = [hit.text for hit in (await notes.search("zanzibar")).hits]
    pairs_before = await notes.worker.similar(notes.job, ["private"], 0.3, 10)

    notes.job = job(notes, ["e0", "e2"])
    at_once = [hit.text for hit in (await notes.search("zanzibar")).hits]
    latest = [hit.text for hit in (await notes.search("")).hits]
    pairs = await notes.worker.similar(notes.job, ["private"], 0.3, 10)
    await notes.worker.sync(notes.job, [PATH])

    assert {SAID[0], SAID[2]} <= set(before)
    assert any({one.text, other.text} == {SAID[0], SAID[2]} for one, other, _ in pairs_before)
    assert "zanzibar is an island" in at_once
    assert not {SAID[0], SAID[2]} & {*at_once, *latest, *(hit.text for one, other, _ in pairs for hit in (one, other))}
    after = [hit.text for hit in (await notes.search("zanzibar kettle")).hits]
    assert SAID[1] in after
    assert not {SAID[0], SAID[2]} & set(after)
    assert (await notes.worker.verify(notes.job)).problems == []


async def test_what_is_no_longer_left_out_comes_back_with_the_next_look(notes: Notes) -> None:
    """As after a backup was put back: what the ids say holds, not what the index was made of."""
    notes.words_alone()
    talk(notes)
    notes.job = job(notes, ["e0"])
    await notes.worker.sync(notes.job)

    notes.job = job(notes)
    await notes.worker.sync(notes.job)

    assert SAID[0] in [hit.text for hit in (await notes.search("zanzibar")).hits]
    assert (await notes.worker.verify(notes.job)).problems == []


async def test_words_from_outside_that_are_left_out_keep_what_follows_from_being_trusted(notes: Notes) -> None:
    notes.words_alone()
    talk(notes)
    file = notes.workspace.parent / "sessions" / "s1.jsonl"
    lines = [orjson.loads(line) for line in file.read_bytes().split(b"\n")]
    lines[1]["provenance"]["trusted"] = False
    lines[2]["message"]["role"] = "assistant"
    file.write_bytes(b"\n".join(orjson.dumps(each) for each in lines))
    notes.job = job(notes, ["e0"])
    await notes.worker.sync(notes.job)

    (hit,) = (await notes.search("kettle")).hits

    assert (hit.text, hit.trusted) == ("Assistant: The kettle whistles", False)
