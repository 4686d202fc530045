from __future__ import annotations

from typing import Any

import pytest

from web.chat.markdown import Markdown
from web.memory.status import COSTS_LIMIT, IndexStatus, costs_as_text
from web.memory.view import MemoryView

INDEX: dict[str, Any] = {
    "files": 12,
    "chunks": 120,
    "waiting": 3,
    "refused": 0,
    "size_bytes": 123_456,
    "engines": ["vectors:exact", "keywords:fts5"],
    "skipped": [{"path": "memory/broken.md", "problem": "it is not UTF-8"}],
    "embedder": {
        "provider": "openai",
        "model": "text-embedding-3-small",
        "endpoint": "https://api.openai.com/v1",
        "dimensions": 1536,
        "notes": ["The local model is not installed."],
    },
    "problem": "The server does not answer.",
    "building": None,
    "synced_ms": 1_000,
    "costs": [],
    "worker": {"pid": 1, "rss_bytes": 80_000_000},
}


def shown(status: dict[str, Any]) -> dict[str, Any]:
    view = MemoryView(Markdown(), None)  # type: ignore[arg-type]
    return IndexStatus(view, lambda ts_ms: {"when": f"at {ts_ms}", "iso": f"iso {ts_ms}"}).shown(status)


def cost(day: str, usd: float | None, model: str = "small") -> dict[str, Any]:
    return {"day": day, "provider": "openai", "model": model, "requests": 2, "texts": 5, "tokens": 100, "usd": usd}


def test_the_facts_of_an_index_are_told_in_words() -> None:
    page = shown({"agent": "main", "files": 12, "passages": 99, "changes": 7, "index": INDEX, "problem": None})

    assert {fact["text"]: fact["value"] for fact in page["facts"]} == {
        "Files": "12",
        "Passages": "120",
        "Passages waiting for a vector": "3",
        "Last compared with the files": "at 1000",
        "Size of the index": "123.5 kB",
        "Memory of the index worker": "80.0 MB",
        "Changes that are kept": "7",
    }
    assert page["search"] == "meaning"
    assert page["problems"] == ["The server does not answer."]
    assert page["notes"] == ["The local model is not installed."]


def test_files_that_cannot_be_found_are_named_once() -> None:
    page = shown({"files": 2, "skipped": ["memory/broken.md", "memory/other.md"], "index": INDEX})

    assert page["skipped"] == [
        {"path": "memory/broken.md", "problem": "it is not UTF-8"},
        {"path": "memory/other.md", "problem": ""},
    ]


def test_a_file_that_is_left_out_is_told_once_among_those_that_cannot_be_found() -> None:
    left_out = "memory/broken.md is left out: it is not UTF-8."

    alone = shown({"files": 2, "index": {**INDEX, "problem": left_out}})
    among = shown({"files": 2, "index": {**INDEX, "problem": f"The server is away. {left_out}"}})

    assert alone["problems"] == []
    assert among["problems"] == ["The server is away."]
    assert alone["skipped"] == [{"path": "memory/broken.md", "problem": "it is not UTF-8"}]


@pytest.mark.parametrize(
    ("index", "search"),
    [
        (None, "files"),
        ({**INDEX, "embedder": {"provider": None, "notes": ["It is off."]}}, "words"),
        ({**INDEX, "embedder": {"provider": None, "notes": []}}, "unknown"),
    ],
)
def test_how_search_goes_is_known_without_vectors_too(index: dict[str, Any] | None, search: str) -> None:
    page = shown({"files": 1, "index": index, "problem": "no worker"})

    assert (page["search"], page["embedder"]) == (search, None)
    assert "Passages waiting for a vector" not in [fact["text"] for fact in page["facts"]]
    assert "no worker" in page["problems"]


def test_what_another_person_is_told_is_enough_for_a_page() -> None:
    page = shown({"agent": "main", "files": 3})

    assert [fact["value"] for fact in page["facts"]] == ["3"]
    assert (page["costs"], page["search"]) == (None, "hidden")


def test_costs_are_summed_over_all_and_shown_the_latest_first() -> None:
    rows = [cost(f"2026-{number // 28 + 1:02}-{number % 28 + 1:02}", 0.001) for number in range(COSTS_LIMIT + 5)]

    found = costs_as_text(rows)

    assert found is not None
    assert (len(found["rows"]), found["more"]) == (COSTS_LIMIT, 5)
    assert found["rows"][0]["day"] == rows[-1]["day"]
    assert (found["requests"], found["tokens"]) == (2 * len(rows), 100 * len(rows))
    assert found["usd_text"] == "$0.0650"


def test_what_has_no_price_is_no_nought() -> None:
    found = costs_as_text([cost("2026-05-12", None)])

    assert found is not None
    assert (found["usd_text"], found["rows"][0]["usd_text"]) == (None, None)
