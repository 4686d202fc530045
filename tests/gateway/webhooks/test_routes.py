"""`/api/webhook/<id>`: who may call, what comes in, and what nobody learns from it."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from hub.gateway.webhooks.routes import BODY_LIMIT_BYTES
from tests.hub_fixture import HubFixture
from tests.until import until

LOCAL = "front-door"
FAR = "from-afar"
SECRET = {"X-Webhook-Secret": "a-secret-of-many-letters"}
FORWARDED = {"X-Forwarded-For": "203.0.113.9"}


@pytest.fixture
def heard(house: HubFixture) -> list[dict[str, Any]]:
    """The trigger data of the automation."""
    found: list[dict[str, Any]] = []
    house.bus.listen("hook_called", lambda event: found.append(event.data))
    return found


async def test_json_form_and_query_come_in(
    house: HubFixture, http: aiohttp.ClientSession, heard: list[dict[str, Any]]
) -> None:
    url = f"{house.url}/api/webhook/{LOCAL}"
    async with http.post(f"{url}?who=anna", json={"door": {"open": True}}) as first:
        told = await first.json()
        assert first.status == 200
    async with http.put(url, data={"door": "open"}) as second:
        assert second.status == 200
    await until(lambda: len(heard) == 2)

    assert told == {"ok": True}
    assert heard[0] == {"json": {"door": {"open": True}}, "data": {}, "query": {"who": "anna"}}
    assert heard[1] == {"json": None, "data": {"door": "open"}, "query": {}}


async def test_an_id_that_is_not_there_and_one_that_is_for_others_look_the_same(
    house: HubFixture, http: aiohttp.ClientSession, heard: list[dict[str, Any]]
) -> None:
    answers = []
    for id, headers in (("nobody", {}), (LOCAL, FORWARDED), ("nobody", FORWARDED)):
        async with http.post(f"{house.url}/api/webhook/{id}", json={}, headers=headers) as answer:
            answers.append((answer.status, await answer.text()))

    assert {status for status, _ in answers} == {404}
    assert len({text for _, text in answers}) == 1
    assert heard == []


async def test_one_with_a_secret_may_be_called_from_afar(
    house: HubFixture, http: aiohttp.ClientSession, heard: list[dict[str, Any]]
) -> None:
    url = f"{house.url}/api/webhook/{FAR}"
    async with http.post(url, json={}, headers=FORWARDED | {"X-Webhook-Secret": "wrong"}) as wrong:
        assert wrong.status == 401
    async with http.post(url, json={}, headers=FORWARDED | SECRET) as right:
        assert right.status == 200
    await until(lambda: len(heard) == 1)


async def test_guessing_locks_the_client_out(house: HubFixture, http: aiohttp.ClientSession) -> None:
    statuses = []
    for number in range(21):
        async with http.post(f"{house.url}/api/webhook/guess-{number}", json={}) as answer:
            statuses.append(answer.status)
            retry = answer.headers.get("Retry-After")
    async with http.post(f"{house.url}/api/webhook/{LOCAL}", json={}) as locked:
        assert locked.status == 429

    assert statuses == [404] * 20 + [429]
    assert int(retry or 0) > 0


async def test_a_method_that_its_trigger_does_not_name_is_refused(
    house: HubFixture, http: aiohttp.ClientSession, heard: list[dict[str, Any]]
) -> None:
    for method in ("GET", "HEAD"):
        async with http.request(method, f"{house.url}/api/webhook/{LOCAL}") as answer:
            assert answer.status == 405
    async with http.delete(f"{house.url}/api/webhook/{LOCAL}") as answer:
        assert answer.status == 405

    assert heard == []


@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 400), (b"[" * 5000, 400), (b"NaN", 400), (b" " * (BODY_LIMIT_BYTES + 1), 413)]
)
async def test_what_is_no_json_or_too_much_is_refused(
    house: HubFixture, http: aiohttp.ClientSession, heard: list[dict[str, Any]], body: bytes, status: int
) -> None:
    headers = {"Content-Type": "application/json"}
    async with http.post(f"{house.url}/api/webhook/{LOCAL}", data=body, headers=headers) as answer:
        assert answer.status == status

    assert heard == []


async def test_a_page_of_another_site_cannot_call(house: HubFixture, http: aiohttp.ClientSession) -> None:
    headers = {"Origin": "https://evil.example"}
    async with http.post(f"{house.url}/api/webhook/{LOCAL}", json={}, headers=headers) as answer:
        assert answer.status == 403


async def test_a_program_may_call_again_and_again_on_one_connection(
    house: HubFixture, http: aiohttp.ClientSession, heard: list[dict[str, Any]]
) -> None:
    for _ in range(4):
        async with http.post(f"{house.url}/api/webhook/{LOCAL}", data=b"x" * 30_000) as answer:
            assert answer.status == 200
    await until(lambda: len(heard) == 4)
