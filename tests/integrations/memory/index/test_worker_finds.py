"""What was written is found: by word and by meaning, in the right area, with the right lines, soon after."""

from __future__ import annotations

import orjson
from msgspec.structs import replace

from hub.memory.contract import Filters, MemoryKind
from integrations.memory.notes.job import Source, TranscriptSource
from tests.integrations.memory.index.conftest import Notes
from tests.servers.embedding_server import EmbeddingServer

ENTRY = "- {text}\n  _{kind} · 2026-05-12 14:03 · from {person} in `{session}`{mark}_\n"


def entry(text: str, kind: str = "fact", person: str = "me", session: str = "agent:main:main", mark: str = "") -> str:
    return ENTRY.format(text=text, kind=kind, person=person, session=session, mark=mark)


async def test_a_passage_is_found_by_word_and_by_meaning(notes: Notes) -> None:
    notes.write("MEMORY.md", "# Memory\n\n" + entry("The boiler was serviced") + entry("Anna plays the piano"))

    synced = await notes.worker.sync(notes.job)
    answer = await notes.search("boiler")

    assert (synced.files, synced.chunks, synced.embedded, synced.waiting, synced.problem) == (1, 2, 2, 0, None)
    assert set(answer.engines) == {"vectors:exact", "keywords:fts5"}
    assert answer.degraded is None
    first = answer.hits[0]
    assert (first.path, first.start_line, first.end_line) == ("MEMORY.md", 3, 4)
    assert (first.kind, first.person, first.session, first.day) == ("fact", "me", "agent:main:main", "2026-05-12")
    assert first.text_score == 1.0
    assert first.vector_score is not None


async def test_chinese_is_found_by_word(notes: Notes) -> None:
    notes.words_alone()
    notes.write("memory/2026-05-12.md", "# 2026-05-12\n\n- 锅炉坏了，明天修\n- 我们去了柏林\n")

    await notes.worker.sync(notes.job)

    assert (await notes.search("锅炉什么时候修")).hits[0].text.startswith("- 锅炉")


async def test_a_search_right_after_the_start_waits_for_the_first_index(notes: Notes) -> None:
    notes.write("MEMORY.md", "# Memory\n\nThe boiler was serviced\n")

    assert await notes.paths("boiler") == ["MEMORY.md"]


async def test_a_saved_file_is_found_and_a_deleted_one_is_not(notes: Notes) -> None:
    notes.write("memory/a.md", "The zebra eats\n")
    await notes.worker.sync(notes.job)
    notes.write("memory/b.md", "The giraffe sleeps\n")
    (notes.workspace / "memory/a.md").unlink()

    await notes.worker.sync(notes.job, ["memory/a.md", "memory/b.md"])

    assert await notes.paths("giraffe") == ["memory/b.md"]
    assert "memory/a.md" not in await notes.paths("zebra")


async def test_passages_that_moved_are_found_at_their_new_lines_without_being_embedded_again(notes: Notes) -> None:
    notes.write("MEMORY.md", "# Memory\n\n" + entry("The boiler was serviced"))
    await notes.worker.sync(notes.job)
    notes.write("MEMORY.md", "# Memory\n\n" + entry("Anna plays the piano") + entry("The boiler was serviced"))

    synced = await notes.worker.sync(notes.job)

    assert synced.embedded == 1
    assert (await notes.search("boiler")).hits[0].start_line == 5


async def test_each_area_sees_its_own_alone(notes: Notes) -> None:
    notes.write("MEMORY.md", "canary private\n")
    notes.write("memory/people/anna.md", "canary anna\n")
    notes.write("memory/groups/telegram-1.md", "canary group\n")
    notes.write("memory/shared.md", "canary shared\n")
    await notes.worker.sync(notes.job)

    found = {area: await notes.paths("canary", [area]) for area in ("private", "person-anna", "group-telegram-1")}

    assert found == {
        "private": ["MEMORY.md"],
        "person-anna": ["memory/people/anna.md"],
        "group-telegram-1": ["memory/groups/telegram-1.md"],
    }
    assert await notes.paths("canary", ["shared", "person-anna"]) != []
    assert await notes.paths("canary", []) == []


async def test_filters_are_asked_before_anything_is_ranked(notes: Notes) -> None:
    others = "".join(entry(f"boiler note number {number}", person="anna") for number in range(60))
    mine = entry("boiler decided", kind="decision", mark=" · untrusted", session="agent:main:other")
    notes.write("MEMORY.md", "# Memory\n\n" + others + mine)
    await notes.worker.sync(notes.job)

    for filters in (
        Filters(person="me"),
        Filters(session="agent:main:other"),
        Filters(kind=MemoryKind.DECISION),
        Filters(trusted=False),
    ):
        assert [hit.text for hit in (await notes.search("boiler", filters=filters)).hits] == ["> boiler decided"] or [
            hit.text for hit in (await notes.search("boiler", filters=filters)).hits
        ] == ["boiler decided"]
    assert (await notes.search("boiler", filters=Filters(person="nobody"))).hits == []


async def test_what_is_of_the_date_that_was_named_comes_first(notes: Notes) -> None:
    notes.write("memory/2026-11-20.md", "# 2026-11-20\n\n- dinner with Tom\n")
    notes.write("memory/2026-11-10.md", "# 2026-11-10\n\n- dinner with Anna\n")
    await notes.worker.sync(notes.job)

    assert await notes.paths("dinner yesterday") == ["memory/2026-11-20.md", "memory/2026-11-10.md"]
    assert await notes.paths("dinner 2026-11-10") == ["memory/2026-11-10.md", "memory/2026-11-20.md"]
    assert await notes.paths("what happened yesterday?") == ["memory/2026-11-20.md"]
    assert len(await notes.paths("dinner 2019-01-01")) == 2


async def test_a_short_entry_is_shown_with_those_beside_it_from_the_same_person(notes: Notes) -> None:
    texts = ("How long have you had the frogs?", "Three years now", "They eat crickets")
    notes.write("memory/2026-11-20.md", "# 2026-11-20\n\n" + "".join(map(entry, texts)))
    notes.write("memory/2026-11-19.md", "# 2026-11-19\n\n" + entry("Paid Tom") + entry("Frogs seen", person="lin"))
    await notes.worker.sync(notes.job)

    hits = {hit.text: hit for hit in (await notes.search("frogs")).hits}

    assert (hits[texts[0]].before, hits[texts[0]].after) == (None, texts[1])
    assert (hits["Frogs seen"].before, hits["Frogs seen"].after) == (None, None)


async def test_a_question_that_names_nothing_gives_the_latest(notes: Notes) -> None:
    for day in ("2026-11-18", "2026-11-20", "2026-11-19"):
        notes.write(f"memory/{day}.md", f"# {day}\n\n- something of {day[-2:]}\n")
    await notes.worker.sync(notes.job)

    answer = await notes.search("what do you know?", limit=2)

    assert [hit.path for hit in answer.hits] == ["memory/2026-11-20.md", "memory/2026-11-19.md"]


async def test_extra_paths_are_searched_as_configured(notes: Notes) -> None:
    vault = notes.workspace.parent / "vault"
    (vault / "deep").mkdir(parents=True)
    (vault / "deep" / "idea.md").write_text("A submarine garden\n", encoding="utf-8")
    (vault / ".hidden.md").write_text("A hidden submarine\n", encoding="utf-8")
    (vault / "table.csv").write_text("submarine\n", encoding="utf-8")
    (vault / "out.md").symlink_to(notes.workspace.parent / "secret.md")
    (notes.workspace.parent / "secret.md").write_text("A secret submarine\n", encoding="utf-8")
    single = notes.workspace.parent / "single.md"
    single.write_text("A single submarine\n", encoding="utf-8")
    sources = (
        *notes.job.sources,
        Source("extra/vault", str(vault), "private", trusted=False),
        Source("extra/one", str(single), "shared"),
    )
    notes.job = replace(notes.job, sources=sources)
    await notes.worker.sync(notes.job)

    private = await notes.search("submarine", ["private"])
    shared = await notes.paths("submarine", ["shared"])

    assert [(hit.path, hit.trusted) for hit in private.hits] == [("extra/vault/deep/idea.md", False)]
    assert shared == ["extra/one/single.md"]


async def test_a_source_that_is_taken_away_is_found_no_longer(notes: Notes) -> None:
    vault = notes.workspace.parent / "vault"
    vault.mkdir()
    (vault / "idea.md").write_text("A submarine garden\n", encoding="utf-8")
    bare = notes.job
    notes.job = replace(bare, sources=(*bare.sources, Source("extra/vault", str(vault), "private")))
    await notes.worker.sync(notes.job)
    assert await notes.paths("submarine") == ["extra/vault/idea.md"]

    notes.job = bare
    await notes.worker.sync(notes.job)

    assert await notes.paths("submarine") == []


def line(role: str, text: str, number: int, *, trusted: bool = True, type: str = "text") -> bytes:
    message = {"role": role, "content": [{"type": type, "text": text}]}
    stored = {"id": f"e{number}", "type": "message", "ts_ms": 1_795_000_000_000, "message": message}
    return orjson.dumps({**stored, "provenance": {"trusted": trusted, "source": "x"}})


async def test_conversations_are_searched_by_what_was_said(notes: Notes) -> None:
    sessions = notes.workspace.parent / "sessions"
    sessions.mkdir()
    lines = [
        orjson.dumps({"type": "header", "version": 1, "session_id": "s1", "key": "agent:main:telegram:direct:9"}),
        line("user", "Where is the submarine?", 1),
        line("tool", "submarine secrets of a tool", 2),
        b"{torn",
        line("assistant", "In the harbour.", 3),
        line("user", "<page>submarine from outside</page>", 4, trusted=False),
    ]
    (sessions / "s1.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    files = (TranscriptSource("s1", "s1.jsonl", "person-anna", "anna"),)
    notes.job = replace(notes.job, sources=(*notes.job.sources, Source("transcripts", str(sessions), files=files)))
    await notes.worker.sync(notes.job)

    hits = (await notes.search("submarine", ["person-anna"])).hits

    found = {(hit.start_line, hit.end_line, hit.trusted): hit for hit in hits}
    assert set(found) == {(2, 5, True), (6, 6, False)}
    said = found[2, 5, True]
    assert said.text == "Where is the submarine?\nAssistant: In the harbour."
    assert (said.path, said.person, said.session) == ("transcripts/s1", "anna", "agent:main:telegram:direct:9")
    assert await notes.paths("submarine") == []


async def test_many_files_go_in_few_requests(notes: Notes, server: EmbeddingServer) -> None:
    for number in range(300):
        notes.write(f"memory/note-{number}.md", f"# Note {number}\n\nThe text of note {number} is short\n")

    synced = await notes.worker.sync(notes.job)

    assert synced.embedded == 300
    assert synced.requests <= server.requests <= 10


async def test_vectors_are_made_for_others_too(notes: Notes, server: EmbeddingServer) -> None:
    model, vectors = await notes.worker.embed(notes.job, ["the boiler", "the piano"])

    assert model
    assert len(vectors) == 2
    assert len({len(vector) for vector in vectors}) == 1
    assert vectors[0] != vectors[1]


async def test_similar_entries_are_paired_within_an_area(notes: Notes) -> None:
    notes.write("memory/2026-11-18.md", "# d\n\n" + entry("Anna plays the piano on Mondays"))
    notes.write("memory/2026-11-19.md", "# d\n\n" + entry("Anna plays the piano on Mondays now"))
    notes.write("memory/people/anna.md", "# d\n\n" + entry("Anna plays the piano on Mondays"))
    await notes.worker.sync(notes.job)

    pairs = await notes.worker.similar(notes.job, ["private", "person-anna"], 0.7, 10)

    assert [{one.path, other.path} for one, other, _ in pairs] == [{"memory/2026-11-18.md", "memory/2026-11-19.md"}]
    assert 0.7 <= pairs[0][2] <= 1.0


async def test_similar_entries_are_paired_by_words_without_vectors(notes: Notes) -> None:
    notes.words_alone()
    notes.write("memory/2026-11-18.md", "# d\n\n" + entry("Anna plays the piano on Mondays"))
    notes.write("memory/2026-11-19.md", "# d\n\n" + entry("Anna plays the piano on Mondays now") + entry("Tom"))
    await notes.worker.sync(notes.job)

    pairs = await notes.worker.similar(notes.job, ["private"], 0.6, 10)

    assert len(pairs) == 1


async def test_what_is_forgotten_leaves_the_cache_of_vectors(notes: Notes, server: EmbeddingServer) -> None:
    notes.write("MEMORY.md", "# Memory\n\n" + entry("The boiler was serviced") + entry("Anna plays"))
    await notes.worker.sync(notes.job)
    notes.write("MEMORY.md", "# Memory\n\n" + entry("Anna plays"))
    await notes.worker.sync(notes.job)

    await notes.worker.drop(notes.job, ["The boiler was serviced"])
    assert all(b"was serviced" not in path.read_bytes() for path in notes.directory.rglob("*") if path.is_file())
    notes.write("MEMORY.md", "# Memory\n\n" + entry("The boiler was serviced") + entry("Anna plays"))
    synced = await notes.worker.sync(notes.job)

    assert (synced.embedded, synced.requests) == (1, 1)


async def test_status_tells_what_there_is(notes: Notes) -> None:
    notes.write("MEMORY.md", "# Memory\n\n" + entry("The boiler was serviced"))
    notes.write("memory/people/anna.md", "# anna\n\n" + entry("likes tea"))
    await notes.worker.sync(notes.job)

    status = await notes.worker.status(notes.job)

    assert (status["files"], status["chunks"], status["state"], status["problem"]) == (2, 2, "ready", None)
    assert status["areas"]["person-anna"] == {"files": 1, "chunks": 1}
    assert status["engines"] == ["vectors:exact", "keywords:fts5"]
    assert status["embedder"]["model"] == "words"
    assert status["worker"]["pid"] == notes.worker.pid
    assert status["worker"]["rss_bytes"] > 0
    assert status["costs"][0]["requests"] >= 1
    assert (await notes.worker.verify(notes.job)).problems == []
