"""The services of memory: what automations remember, find and take out again, and what taints them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from hub.automation.running.template_functions import TemplateFunctions
from hub.automation.services.memory import MemoryServices
from hub.core.context import Authority, Context
from hub.core.errors import Forbidden, InvalidRequest
from hub.core.schema import SchemaError
from hub.core.services import TAINTED as TAINTS, AgentRule
from integrations.memory import notes
from tests.automation.services.desk import ANNA, AUTOMATION
from tests.integrations.tools.standing import Standing

TAINTED = AUTOMATION.narrow(tainted=True)
FROM_OUTSIDE = """\
# 2026-05-11

- > The courier says the code is 4711
  _fact · 2026-05-11 10:00 · from me in `agent:main:main` · untrusted_
"""
IMPORTED = "---\nsource: openclaw\ntrusted: false\n---\n\n# Old notes\n\n- The lighthouse keeper is called Okonkwo\n"


@pytest.fixture
async def standing(tmp_path: Path) -> AsyncIterator[Standing]:
    """A home with a memory and the services over it."""
    standing = Standing(tmp_path / "home")
    MemoryServices(standing.memory, standing.agents, standing.clock).register(standing.services)
    await standing.set_up(notes, yaml="memory: {embeddings: {provider: none}}\n")
    folder = standing.workspace / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "2026-05-11.md").write_text(FROM_OUTSIDE, encoding="utf-8")
    imported = folder / "imported" / "openclaw"
    imported.mkdir(parents=True)
    (imported / "notes.md").write_text(IMPORTED, encoding="utf-8")
    yield standing
    await standing.end()


async def ask(standing: Standing, name: str, data: dict[str, Any], who: Authority = AUTOMATION) -> dict[str, Any]:
    answer, _ = await noted(standing, name, data, who)
    return answer


async def noted(
    standing: Standing, name: str, data: dict[str, Any], who: Authority = AUTOMATION
) -> tuple[dict[str, Any], bool]:
    """Call a service; return its response, and whether it taints what reads it."""
    notes_of_call: dict[str, Any] = {}
    answer = await standing.services.call(
        "memory", name, data, context=Context(who), wants_response=True, notes=notes_of_call
    )
    return dict(answer or {}), bool(notes_of_call.get(TAINTS))


async def test_an_entry_comes_back_with_where_it_is(standing: Standing) -> None:
    added = await ask(standing, "add", {"text": "the boiler was serviced", "kind": "todo"})

    found = await ask(standing, "search", {"query": "boiler", "limit": 3})

    assert (added["kind"], added["known"], added["struck"]) == ("todo", False, [])
    assert found["hits"][0]["path"] == added["path"]
    assert {"vector_score", "text_score", "day", "why"} <= found["hits"][0].keys()
    assert found["engines"]


async def test_what_came_from_outside_taints_who_finds_it(standing: Standing) -> None:
    await ask(standing, "add", {"text": "the boiler was serviced"})

    assert (await noted(standing, "search", {"query": "boiler serviced"}))[1] is False
    assert (await noted(standing, "search", {"query": "courier code"}))[1] is True
    assert (await noted(standing, "search", {"query": "lighthouse keeper"}))[1] is True
    assert (await noted(standing, "search", {"query": "courier code", "trusted": True}))[1] is False


@pytest.mark.parametrize("lines", [{}, {"start": 8}, {"start": 8, "lines": 1}])
async def test_any_part_of_a_file_from_outside_taints(standing: Standing, lines: dict[str, int]) -> None:
    read, tainted = await noted(standing, "get", {"path": "memory/imported/openclaw/notes.md", **lines})

    assert "Okonkwo" in read["text"]
    assert tainted


async def test_a_file_of_ones_own_does_not_taint(standing: Standing) -> None:
    added = await ask(standing, "add", {"text": "the boiler was serviced"})

    read, tainted = await noted(standing, "get", {"path": added["path"]})

    assert "boiler" in read["text"]
    assert not tainted


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("forget", {"query": "boiler"}),
        ("forget", {"query": "boiler", "dry_run": True}),
        ("add", {"text": "Anna knows the code", "shared": True}),
        ("add", {"text": "The boiler is new", "replaces": "boiler"}),
    ],
)
async def test_words_from_outside_choose_neither_what_goes_nor_who_knows(
    standing: Standing, name: str, data: dict[str, Any]
) -> None:
    await ask(standing, "add", {"text": "the boiler was serviced"})

    with pytest.raises(Forbidden):
        await ask(standing, name, data, TAINTED)

    assert (await ask(standing, "search", {"query": "boiler serviced"}))["hits"]


async def test_what_a_tainted_run_adds_is_from_outside(standing: Standing) -> None:
    added = await ask(standing, "add", {"text": "the meter man comes on Friday", "kind": "preference"}, TAINTED)

    assert added["trusted"] is False
    assert added["path"] != "MEMORY.md"


async def test_forgetting_can_be_tried_first(standing: Standing) -> None:
    await ask(standing, "add", {"text": "the boiler was serviced"})

    tried = await ask(standing, "forget", {"query": "boiler", "dry_run": True})
    gone = await ask(standing, "forget", {"query": "boiler"})

    assert (tried["count"], gone["count"]) == (1, 1)
    assert "boiler" not in str((await ask(standing, "search", {"query": "boiler"}))["hits"])


async def test_what_all_of_a_home_may_know_is_found_by_the_others(standing: Standing) -> None:
    await ask(standing, "add", {"text": "the bins go out on Monday", "shared": True})
    await ask(standing, "add", {"text": "the safe is behind the mirror"})

    assert (await ask(standing, "search", {"query": "bins Monday"}, ANNA))["hits"]
    assert "mirror" not in str((await ask(standing, "search", {"query": "safe mirror"}, ANNA))["hits"])


async def test_who_is_nobody_finds_nothing_and_indexes_nothing(standing: Standing) -> None:
    nobody = Authority("token:1", scopes=AUTOMATION.scopes)
    await ask(standing, "add", {"text": "the bins go out on Monday", "shared": True})

    assert (await ask(standing, "search", {"query": "bins Monday"}, nobody))["hits"] == []
    for who in (nobody, ANNA):
        with pytest.raises(Forbidden):
            await ask(standing, "index", {}, who)


async def test_the_index_is_brought_up_to_date(standing: Standing) -> None:
    synced = await ask(standing, "index", {"force": True})

    assert {"files", "chunks", "embedded", "requests", "seconds"} <= synced.keys()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("add", {}),
        ("add", {"text": ""}),
        ("add", {"text": "x", "kind": "secret"}),
        ("search", {"query": "x", "limit": 0}),
        ("search", {"query": "x", "area": "private"}),
        ("forget", {}),
        ("forget", {"dry_run": True}),
        ("get", {"path": "MEMORY.md", "lines": 0}),
        ("index", {"force": "soon"}),
    ],
)
async def test_what_cannot_be_is_refused(standing: Standing, name: str, data: dict[str, Any]) -> None:
    with pytest.raises((InvalidRequest, SchemaError)):
        await ask(standing, name, data)


async def test_models_have_the_tools_of_memory_instead(standing: Standing) -> None:
    assert {each.agent for each in standing.services.all()} == {AgentRule.NEVER}


async def test_templates_read_what_is_trusted_and_nothing_else(standing: Standing) -> None:
    functions = TemplateFunctions(
        standing.sessions, standing.memory, standing.agents, lambda: standing.people, lambda: UTC
    )
    added = await ask(standing, "add", {"text": "the boiler was serviced", "kind": "todo"})

    (hit,) = await functions.memory_search("boiler serviced", 1)

    assert {"path", "start_line", "end_line", "text", "score", "trusted", "kind", "day"} <= hit.keys()
    assert hit["kind"] == "todo"
    assert "4711" not in str(await functions.memory_search("courier code"))
    assert "Okonkwo" not in str(await functions.memory_search("lighthouse keeper"))
    assert "boiler" in await functions.memory_get(added["path"])
    for path in ("memory/2026-05-11.md", "memory/imported/openclaw/notes.md"):
        with pytest.raises(Forbidden):
            await functions.memory_get(path)
