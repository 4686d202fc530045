"""Parts of a page: one that fails says why, and a mistake of ours is not hidden."""

from __future__ import annotations

import pytest

from hub.core.errors import HubError, Unavailable
from web.core.page_parts import page_part


async def _fails(error: Exception) -> str:
    raise error


async def _answers() -> str:
    return "all is well"


async def test_what_is_there_is_shown() -> None:
    assert await page_part(_answers()) == {"shown": "all is well", "error": ""}


@pytest.mark.parametrize("error", [Unavailable("it rests"), HubError("it rests")])
async def test_what_fails_says_why(error: HubError) -> None:
    assert await page_part(_fails(error)) == {"shown": None, "error": "it rests"}


async def test_a_disk_that_fails_is_named_and_a_mistake_is_raised() -> None:
    assert "No space left" in (await page_part(_fails(OSError(28, "No space left"))))["error"]
    with pytest.raises(ZeroDivisionError):
        await page_part(_fails(ZeroDivisionError()))
