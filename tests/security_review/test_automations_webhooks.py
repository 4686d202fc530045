"""The way in that asks for no credential: webhooks, against the web pages, forgers and floods that come to it."""

from __future__ import annotations

import time
from typing import Any

import orjson
import pytest

from hub.gateway.webhooks.webhooks import FAILED_ATTEMPTS
from hub.security.webhook_signature import form_of, sign
from tests.security_review.automating import add, ended
from tests.security_review.besieged import Besieged

SECRET = "a-secret-of-this-webhook"
OPEN = """
id: plain
triggers: [{trigger: webhook, webhook_id: plain, allowed_methods: [POST, GET]}]
actions: [{variables: {it: "{{ trigger.json }}"}}]
"""
SIGNED = """
id: signed
triggers: [{trigger: webhook, webhook_id: signed, local_only: false, secret: %s, signature: stripe}]
actions: [{variables: {it: 1}}]
"""
HELD = """
id: held
triggers: [{trigger: webhook, webhook_id: held, secret: %s}]
actions: [{variables: {it: 1}}]
"""


async def call(house: Besieged, id: str, method: str = "POST", body: bytes = b"{}", **headers: Any) -> int:
    shown = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    url = f"{house.url}/api/webhook/{id}"
    async with house.http.request(method, url, data=None if method == "GET" else body, headers=shown) as response:
        return response.status


async def test_a_web_page_or_a_proxy_is_not_this_machine(house: Besieged) -> None:
    await add(house, OPEN)
    by_page_or_proxy: list[tuple[str, dict[str, Any]]] = [
        ("GET", {"Sec_Fetch_Site": "cross-site"}),
        ("GET", {"Sec_Fetch_Site": "same-site"}),
        ("GET", {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}),
        ("POST", {"Origin": "null"}),
        ("POST", {"Origin": "https://evil.example"}),
        ("POST", {"Host": "rebound.evil.example"}),
        ("POST", {"X_Forwarded_For": "203.0.113.5"}),
        ("POST", {"Forwarded": "for=203.0.113.5"}),
        ("POST", {"X_Real_IP": "203.0.113.5"}),
        ("POST", {"Via": "1.1 proxy"}),
    ]

    for method, headers in by_page_or_proxy:
        assert await call(house, "plain", method, **headers) in (403, 404), headers
    assert await call(house, "plain") == 200
    assert len(await ended(house, "plain")) == 1


@pytest.mark.parametrize(("header", "scheme"), [("X_Webhook_Secret", ""), ("Authorization", "Bearer ")])
async def test_no_secret_but_the_secret_opens_it(house: Besieged, header: str, scheme: str) -> None:
    await add(house, HELD % SECRET)

    for wrong in ("\udcff" * 20, "x" * 8_000, "", " ", SECRET[:-1], SECRET.upper()):
        shown: dict[str, Any] = {header: scheme + wrong}
        assert await call(house, "held", **shown) in (400, 401), wrong
    shown = {header: scheme + SECRET}
    assert await call(house, "held", **shown) == 200


async def test_a_signed_call_is_taken_once(house: Besieged) -> None:
    await add(house, SIGNED % SECRET)
    signature = sign(SECRET, b'{"pay": 1}', form_of("stripe"), str(int(time.time())))

    first = await call(house, "signed", body=b'{"pay": 1}', Stripe_Signature=signature)
    again = await call(house, "signed", body=b'{"pay": 1}', Stripe_Signature=signature)
    reordered = await call(house, "signed", body=b'{"pay": 1}', Stripe_Signature=f"{signature},v1=00")

    assert (first, again, reordered) == (200, 401, 401)
    assert len(await ended(house, "signed")) == 1


@pytest.mark.parametrize("persist", ["false", "true"])
async def test_whatever_is_sent_the_run_and_its_trace_stand(house: Besieged, persist: str) -> None:
    await add(house, f"{OPEN}persist: {persist}\nmode: queued\n")
    odd = (
        b'{"a": "\\u0000\\u202e"}',
        b'{"a": %d}' % 10**90,
        b'{"a": 1e999}',
        b"[" * 30 + b"]" * 30,
        orjson.dumps({str(number): "x" * 200 for number in range(200)}),
    )
    for number, body in enumerate(odd, 1):
        assert await call(house, "plain", body=body, User_Agent="\udcff\udcfe") == 200, body

        trace = (await ended(house, "plain", number))[0]
        assert trace["outcome"] == "finished", trace["error"]
        assert trace["trigger"]["platform"] == "webhook"


async def test_bombs_are_refused(house: Besieged) -> None:
    await add(house, OPEN)
    bombs = (
        b"[" * 60_000,
        b"[" * 40_000,
        b'{"a":' * 8_000,
        b"1" * 40_000,
        b'"' + b"\\u0000" * 8_000,
        b'"\\ud800"',
        b'{"\\udfff": 1}',
    )

    for body in bombs:
        assert await call(house, "plain", body=body) in (400, 413), body[:20]


async def test_guessing_is_locked_out_and_says_nothing(house: Besieged) -> None:
    await add(house, HELD % SECRET)
    await add(house, OPEN)
    found: list[int] = []
    for number in range(FAILED_ATTEMPTS + 2):
        found.append(await call(house, f"guess{number}"))

    assert found[:FAILED_ATTEMPTS] == [404] * FAILED_ATTEMPTS
    assert found[-1] == 429
    assert await call(house, "held", X_Webhook_Secret=SECRET) == 429


async def test_secrets_of_automations_are_shown_nowhere(house: Besieged) -> None:
    await add(house, SIGNED % SECRET)
    told = "another-secret-for-notify"
    await add(
        house,
        f"""
        id: tells
        triggers: []
        actions: [{{variables: {{a: "{{{{ this }}}}"}}}}]
        notify: {{url: "https://hook.example/x", secret: {told}}}
        """,
    )
    await call(house, "signed", Stripe_Signature=sign(SECRET, b"{}", form_of("stripe"), str(int(time.time()))))
    run: Any = (await ended(house, "signed"))[0]["run_id"]
    await house.rpc("automation.trigger", {"id": "tells"})
    await ended(house, "tells")

    asks: list[tuple[str, dict[str, Any]]] = [("automation.list", {}), ("automation.history", {}), ("state.list", {})]
    for id in ("signed", "tells"):
        asks += [(f"automation.{each}", {"id": id}) for each in ("get", "trace", "explain", "test", "not_run")]
        asks += [("automation.backtest", {"id": id, "since": "1d"})]
    asks += [("automation.trace.get", {"run_id": run}), ("automation.trace.export", {"run_id": run})]
    for method, params in asks:
        shown = str(await house.rpc(method, params))

        assert SECRET not in shown, (method, params, shown)
        assert told not in shown, (method, params, shown)
    for file in (house.hub.home.history_db, house.hub.home.hub_db):
        for path in file.parent.glob(f"{file.name}*"):
            assert SECRET.encode() not in path.read_bytes(), path
            assert told.encode() not in path.read_bytes(), path
