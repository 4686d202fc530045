"""The front door before a real hub: who its callers are there, and what its tokens name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from hub.security.credentials import home_named_by
from hub.storage.homedir import WorkerPlace
from tests.cluster.front_rig import DOMAIN, Workers, two_workers
from tests.gateway.rig import Client, connect_params
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer

ELM = "elm." + DOMAIN


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[Workers]:
    async with two_workers(tmp_path) as made:
        yield made


@pytest.fixture
async def elm(tmp_path: Path, openai_server: OpenAIServer, workers: Workers) -> AsyncIterator[HubFixture]:
    """The hub of the home elm in worker one."""
    place = WorkerPlace("elm", tmp_path / "front" / "elm.sock", f"https://{ELM}")
    async with HubFixture(tmp_path / "elm", openai_server.base_url, in_worker=place) as hub:
        workers.give("elm", "one", f"unix:{place.socket}")
        yield hub


async def test_a_token_of_the_home_reaches_it_through_any_worker_without_its_host_name(
    workers: Workers, elm: HubFixture
) -> None:
    token, secret = await elm.tokens.create("app", ["operator.admin"])
    bearer = {"Authorization": f"Bearer {secret.reveal()}"}
    brief = {"Authorization": f"Bearer {elm.tokens.brief(token.id, 60).reveal()}"}
    unknown = {"Authorization": f"Bearer homtok_elm.{'a' * 43}"}

    for worker in ("one", "two"):
        assert (await workers.ask(worker, DOMAIN, "/v1/models", bearer))[0] == 200
        assert (await workers.ask(worker, DOMAIN, "/v1/models", brief))[0] == 200
        assert (await workers.ask(worker, ELM, "/v1/models", bearer))[0] == 200
        assert (await workers.ask(worker, DOMAIN, "/v1/models", unknown))[0] == 401
        assert (await workers.ask(worker, f"oak.{DOMAIN}", "/v1/models", bearer))[0] == 403


async def test_the_hub_token_and_the_hubs_own_user_count_for_nothing_at_the_front_door(
    workers: Workers, elm: HubFixture
) -> None:
    for headers in ({}, elm.bearer, {**elm.bearer, "X-Forwarded-For": "127.0.0.1"}):
        assert (await workers.ask("one", ELM, "/v1/models", headers))[0] == 401
    async with workers.client("one", "127.0.0.1") as client, client.get("/homes/elm/v1/models") as answer:
        assert answer.status == 401


async def test_guesses_are_counted_per_client_behind_the_front_door(workers: Workers, elm: HubFixture) -> None:
    wrong = {"Authorization": "Bearer homtok_wrong"}

    codes = [(await workers.ask(worker, ELM, "/v1/models", wrong))[0] for worker in ("one", "two") * 6]

    assert codes == [401] * 10 + [429] * 2


async def test_the_hub_counts_guesses_of_whom_the_front_door_names(elm: HubFixture) -> None:
    place = elm.home.in_worker
    assert place is not None

    async def guess(address: str) -> int:
        headers = {"X-Forwarded-For": address, "Authorization": "Bearer homtok_wrong", "Host": ELM}
        connector = aiohttp.UnixConnector(str(place.socket))
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.get("http://home/v1/models", headers=headers) as answer,
        ):
            return answer.status

    assert [await guess("203.0.113.1") for _ in range(11)] == [401] * 10 + [429]
    assert await guess("203.0.113.2") == 401


async def test_the_dashboard_is_signed_in_to_and_live_on_the_homes_own_host(workers: Workers, elm: HubFixture) -> None:
    link = await elm.login_link()
    jar = aiohttp.CookieJar(unsafe=True)
    own = {"Host": ELM, "Origin": f"http://{ELM}", "Sec-Fetch-Site": "same-origin"}
    async with aiohttp.ClientSession(f"http://127.0.0.1:{workers.ports['two']}", cookie_jar=jar) as browser:
        async with browser.post("/api/login", json={"code": link.code}, headers=own) as signed_in:
            assert signed_in.status == 200
        async with browser.post("/api/logout", json={}, headers={**own, "Origin": "http://evil.example"}) as foreign:
            assert foreign.status == 403
        async with browser.post("/api/logout", json={}, headers=own) as signed_out:
            assert signed_out.status == 200

    assert link.url.startswith(f"https://{ELM}/login#")


async def test_the_protocol_is_spoken_through_a_worker_and_ends_as_at_a_restart(
    workers: Workers, elm: HubFixture
) -> None:
    _, secret = await elm.tokens.create("app", ["operator.admin"])
    async with workers.client("two", ELM) as client, client.ws_connect("/ws") as ws:
        spoken = Client(ws)
        await spoken.frame()
        hello = await spoken.call("connect", connect_params(auth={"token": secret.reveal()}))
        status = await spoken.call("status")
        await elm.gateway.stop()
        while (frame := await ws.receive()).type is aiohttp.WSMsgType.TEXT:
            pass

    assert hello["ok"]
    assert status["ok"]
    assert (frame.type, frame.data) == (aiohttp.WSMsgType.CLOSE, 1012)


@pytest.mark.parametrize(
    ("secret", "home"),
    [
        ("homtok_" + "a" * 43, None),
        ("homdev_" + "a" * 43, None),
        ("homtok_elm-2." + "a" * 43, "elm-2"),
        ("homdev_elm." + "_-" * 21 + "a", "elm"),
        ("homacc_" + "a" * 32 + ".1234567890." + "0" * 64, None),
        ("homacc_elm." + "a" * 32 + ".1234567890." + "0" * 64, "elm"),
        ("homweb_elm." + "a" * 43, None),
        ("homtok_elm.oak." + "a" * 43, None),
        ("homtok_Elm." + "a" * 43, None),
        ("homtok_elm." + "a" * 42, None),
        ("x" * 10_000, None),
        ("", None),
    ],
)
def test_a_token_names_its_home_or_none(secret: str, home: str | None) -> None:
    assert home_named_by(secret) == home
