"""`code_run`: Python in a sandbox, bounded in time and output, and never in the hub."""

from __future__ import annotations

import shutil

import pytest

from integrations.sandbox import bubblewrap
from integrations.tools import code_run
from tests.integrations.tools.standing import MAIN, Standing

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None or shutil.which("python3", path="/usr/bin:/bin") is None,
    reason="bubblewrap and the system's Python are needed",
)


@pytest.fixture
async def place(standing: Standing) -> Standing:
    standing.agents.configure([{"id": "main", "sandbox": {"bubblewrap": {"pids": 32}}}])
    for integration in (bubblewrap, code_run):
        await standing.set_up(integration)
    return standing


async def test_code_runs_in_a_sandbox_even_for_an_owner(place: Standing) -> None:
    result = await place.call("code_run", {"code": "import os\nprint(6 * 7, os.path.exists('/home'))"}, session=MAIN)

    assert "42 False" in result.output
    assert not result.trusted


async def test_a_failure_says_what_failed(place: Standing) -> None:
    result = await place.call("code_run", {"code": "print('so far')\n1 / 0"})

    assert result.is_error
    assert "so far" in result.output
    assert "ZeroDivisionError" in result.output
    assert result.details["exit_code"] == 1


async def test_code_without_end_is_ended(place: Standing) -> None:
    result = await place.call("code_run", {"code": "while True: pass", "timeout_s": 1})

    assert "[ended: it took over 1 s" in result.output
    loud = await place.call("code_run", {"code": "while True: print('x' * 1000)"})
    assert "wrote over" in loud.output


async def test_under_words_from_outside_nobody_is_asked_unless_the_sandbox_has_a_network(place: Standing) -> None:
    tainted = place.owner.narrow(tainted=True)
    assert "4" in (await place.call("code_run", {"code": "print(2 + 2)"}, authority=tainted)).output

    place.agents.configure([{"id": "main", "sandbox": {"docker": {"network": "lab"}}}])
    asked = await place.call("code_run", {"code": "print(2 + 2)"}, authority=tainted)

    assert "needs the owner's approval" in asked.output
