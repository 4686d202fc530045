"""`memory.tidy` at the gateway, over a whole hub: shown first, done, taken back; each tidies up what is theirs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.errors import InvalidRequest, NotFound
from tests.gateway.test_memory import ANNA, PROGRAM, call, refused
from tests.security_review.besieged import ANNAS, Besieged, besieged
from tests.servers.openai_server import OpenAIServer

DOUBLE = """\
# Memory

## Decisions

- We paint the fence green
  _decision · 2026-05-01 10:00 · from me in `agent:main:main`_
- we paint the fence green.
  _decision · 2026-05-02 10:00 · from me in `agent:main:main`_
"""


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Besieged]:
    """A whole hub whose memory says a thing twice."""
    async with besieged(tmp_path / "home", openai_server, remembers=True) as house:
        (house.workspace / "MEMORY.md").write_text(DOUBLE)
        yield house


async def test_it_is_shown_done_and_taken_back(home: Besieged) -> None:
    shown = await call(home, "memory.tidy", {"dry_run": True})
    done = await call(home, "memory.tidy")
    again = await call(home, "memory.tidy")
    await call(home, "memory.undo", {"id": done["change_id"]})

    assert shown["diff"] == done["diff"]
    assert (shown["change_id"], done["merged"], again["summary"]) == (None, 1, "")
    assert (home.workspace / "MEMORY.md").read_text() == DOUBLE


async def test_a_person_tidies_up_what_is_theirs_alone(home: Besieged) -> None:
    done = await call(home, "memory.tidy", caller=ANNA)

    assert (done["summary"], done["others"]["areas"]) == ("", 0)
    assert (home.workspace / "MEMORY.md").read_text() == DOUBLE


async def test_the_owner_is_not_shown_what_is_anothers(home: Besieged) -> None:
    file = home.workspace / "memory/people/anna.md"
    twice = "  _fact · 2026-05-01 10:00 · from anna in `agent:main:main`_\n"
    file.write_text(f"# anna\n\n- {ANNAS}\n{twice}- {ANNAS}!\n{twice}")

    done = await call(home, "memory.tidy")

    assert done["others"]["merged"] == 1
    assert ANNAS not in str(done)


async def test_who_stands_for_nobody_and_what_is_asked_wrongly_is_refused(home: Besieged) -> None:
    assert isinstance(await refused(home, "memory.tidy", {}, PROGRAM), NotFound)
    for params in ({"agent": "nobody"}, {"dry_run": 7}, {"cost_usd": -1}, {"days": 3}):
        assert isinstance(await refused(home, "memory.tidy", params), NotFound | InvalidRequest)
    assert (home.workspace / "MEMORY.md").read_text() == DOUBLE
