"""A connection that is made again whenever it breaks: how long the pauses are, and when it ends."""

from __future__ import annotations

import aiohttp
import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from hub.core.errors import Unavailable
from integrations.channels.reconnecting import BACKOFF_LIMIT_S, AccountRefused, keep_connected
from tests.channels.kit import Heard, HurriedClock


class Line:
    """A platform whose connections last as long as it says, each in turn, and which then refuses the account."""

    def __init__(self, clock: HurriedClock, *lasts: float | Exception | None) -> None:
        self._clock = clock
        self._lasts = iter(lasts)

    async def connect(self) -> str | None:
        match next(self._lasts, AccountRefused("revoked")):
            case None:
                return None
            case float(seconds):
                await self._clock.sleep(seconds)
                return "it was cut"
            case error:
                raise error


async def pauses(*lasts: float | Exception | None) -> tuple[list[float], list[str]]:
    """Return the pauses between connections without their jitter, and what the hub hears."""
    clock, heard = HurriedClock(), Heard()
    await keep_connected(Line(clock, *lasts).connect, heard, clock)
    return clock.waits, heard.errors


async def test_the_pauses_grow_up_to_a_limit_and_carry_some_jitter() -> None:
    waits, errors = await pauses(*[OSError("unreachable")] * 10)

    pauses_s = [1, 2, 4, 8, 16, 32, 64, *[BACKOFF_LIMIT_S] * 3]
    assert all(pause <= wait <= 1.25 * pause for pause, wait in zip(pauses_s, waits, strict=True))
    assert errors == ["unreachable"] * 10 + ["revoked"]


async def test_a_connection_that_lasted_is_made_again_soon() -> None:
    waits, errors = await pauses(OSError("no"), OSError("no"), OSError("no"), 100.0)

    assert waits[-2] == 100.0
    assert waits[-1] < 2
    assert errors[-2:] == ["it was cut", "revoked"]


async def test_a_connection_that_is_to_be_replaced_is_so_at_once_and_in_silence() -> None:
    assert await pauses(None, None) == ([], ["revoked"])


@pytest.mark.parametrize("error", [Unavailable("the disk is full"), KeyError("d"), TimeoutError(), RecursionError()])
async def test_what_the_platform_or_the_disk_does_is_survived(error: Exception) -> None:
    _, errors = await pauses(error)

    assert len(errors) == 2
    assert all(errors)


async def test_the_ticket_in_an_address_is_not_told() -> None:
    url = URL("wss://platform.test/link?ticket=hush")
    request = aiohttp.RequestInfo(url, "GET", CIMultiDictProxy(CIMultiDict()), url)
    _, errors = await pauses(
        aiohttp.WSServerHandshakeError(request, (), status=403, message="Invalid response status"),
        aiohttp.InvalidURL("wss://[?ticket=hush"),
    )

    assert errors[0] == "HTTP 403: Invalid response status"
    assert not any("hush" in each for each in errors)
