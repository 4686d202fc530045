"""An index that was cut by other rules is rebuilt beside the old one, and the version of the rules says so."""

from __future__ import annotations

import asyncio
import hashlib

import orjson

from hub.core.tasks import TaskOwner
from hub.memory.engine_contract import KeywordDocument
from hub.memory.terms import terms_of
from integrations.memory.notes.index.current_version import Current, read_current, write_current
from integrations.memory.notes.index.engines import FORMAT
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.index.transcripts import transcript_chunks
from tests.integrations.memory.index.conftest import Notes

GOLDEN = {
    1: "2cbc38ec7d8ccf44e48ca8aac0a22c517291782f6018113eb4069bcd6baf547f",
    2: "752ec35eb2bb50746235445c9d91479389201c319bb70ccc2bac1c84e32490b3",  # months without a year are marks
    3: "6afccfa3c5f978101677bc72de2f1680d1c9d2b3f5253fffc55ea8913fb800e8",  # what has no sentences overlaps as well
    4: "6afccfa3c5f978101677bc72de2f1680d1c9d2b3f5253fffc55ea8913fb800e8",  # days without a year
    5: "be04cfa3f0c8744cc8c24ed045e979dae53a599c19b78c6fc03c36583accf3d1",  # 200 tokens; short entries have neighbours
}
"""Digest of what conversations are cut into and the words passages are found by, by version; none is ever changed."""

SAID = [
    ("user", "Where is the submarine?", True),
    ("assistant", "In the harbour since 12 May 2026. 潜水艇在港口。", True),
    ("tool", "a page from outside", False),
    ("assistant", "It says that " + "the running tide turns twice a day, " * 120, True),
    ("user", "[{'text': 'bare'}] naïve Café", True),
]


def conversation() -> bytes:
    lines = [{"type": "header", "version": 1, "session_id": "s1", "key": "agent:main:main"}]
    for number, (role, text, trusted) in enumerate(SAID):
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        ts_ms = 1_778_587_200_000 + number * 9 * 3_600_000
        provenance = {"trusted": trusted, "source": "x"}
        lines.append(
            {"id": f"e{number}", "type": "message", "ts_ms": ts_ms, "message": message, "provenance": provenance}
        )
    return b"\n".join(orjson.dumps(each) for each in lines)


def test_what_conversations_are_cut_into_is_not_changed_without_a_new_version() -> None:
    whole = hashlib.sha256()
    chunks = transcript_chunks(conversation(), IndexSettings.from_plain({}), person="me", trusted=True)
    for each in chunks:
        terms = terms_of(KeywordDocument(1, "private", each.title, "\n".join(each.headings), each.text, each.marks))
        whole.update(repr((each.start_line, each.end_line, each.digest, each.embed_text, terms)).encode())

    assert GOLDEN.get(FORMAT) == whole.hexdigest(), (
        "Conversations are cut into other passages than before, or found by other words. Raise FORMAT in "
        "integrations/memory/notes/index/engines.py, and add a line to GOLDEN here, "
        f"{{version}}: {whole.hexdigest()!r}. When nothing should have changed, the change is a bug."
    )
    assert max(GOLDEN) == FORMAT


async def another(notes: Notes, before: Current) -> Current:
    """Return the index that took the place of one."""
    while True:
        after = read_current(notes.directory)
        if after is not None and after.version != before.version:
            return after
        await asyncio.sleep(0.02)


async def test_an_index_cut_by_other_rules_answers_until_another_took_its_place(notes: Notes, tasks: TaskOwner) -> None:
    notes.words_alone()
    notes.write("MEMORY.md", "# Memory\n\nThe boiler works\n")
    await notes.worker.sync(notes.job)
    now = read_current(notes.directory)
    assert now is not None
    format_, _, rest = now.fingerprint.split("|", 2)
    await notes.worker.close()
    write_current(notes.directory, Current(now.version, f"{format_}|0|{rest}"))

    await notes.reopen(tasks)
    first = await notes.search("boiler")

    assert [hit.path for hit in first.hits] == ["MEMORY.md"]
    after = await another(notes, now)
    assert after.fingerprint == now.fingerprint
    assert await notes.paths("boiler") == ["MEMORY.md"]
    assert (await notes.worker.verify(notes.job)).problems == []
