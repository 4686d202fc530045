"""The trigger `webhook`: calls of one address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.schema import Invalid
from hub.gateway.webhooks.webhooks import WebhookRequest, Webhooks
from hub.security.webhook_signature import SignatureForm, sign
from tests.automation.triggers.bench import Bench, explained, valid

SECRET = "0123456789abcdef"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"trigger": "webhook"}, "webhook_id"),
        ({"trigger": "webhook", "webhook_id": "a/b"}, "letters"),
        ({"trigger": "webhook", "webhook_id": "a", "signature": "github"}, "secret it is made with"),
        ({"trigger": "webhook", "webhook_id": "a", "secret": "short"}, "cannot be guessed"),
        ({"trigger": "webhook", "webhook_id": "a", "allowed_methods": "DELETE"}, "allowed_methods"),
        ({"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "signature": "gitlab"}, "generic, github"),
        (
            {"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "signature": {"prefix": "x"}},
            "form or the key header",
        ),
        (
            {"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "signature": {"form": "stripe", "header": "x"}},
            "own headers",
        ),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid(config)


async def test_a_webhook_fires_with_what_was_sent(bench: Bench) -> None:
    table = Webhooks(bench.clock)
    bench.with_source(Webhooks, table)
    site = bench.arm({"trigger": "webhook", "webhook_id": "{{ 'my' }}-hook"})
    request = WebhookRequest(
        "my-hook", "POST", "127.0.0.1", True, {"content-type": "application/json"}, [("q", "1")], b'{"a": 1}'
    )

    reply = table.receive(request)

    assert reply.status == 200
    trigger = site.fired[0].trigger
    assert (trigger["webhook_id"], trigger["json"], trigger["query"], trigger["method"]) == (
        *("my-hook", {"a": 1}, {"q": "1"}, "POST"),
    )
    assert site.fired[0].tainted
    bench.disarm()
    assert table.receive(request).status == 404


async def test_a_webhook_that_is_taken_or_cannot_come_in_is_told(bench: Bench) -> None:
    nowhere = bench.arm({"trigger": "webhook", "webhook_id": "a"})
    bench.with_source(Webhooks, Webhooks(bench.clock))
    bench.arm({"trigger": "webhook", "webhook_id": "a"})
    taken = bench.arm({"trigger": "webhook", "webhook_id": "a"})

    assert "webhooks are not available" in nowhere.failures[0]
    assert "belongs to" in taken.failures[0]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"trigger": "webhook", "webhook_id": "a"}, "when the webhook “a” is called from this machine"),
        (
            {"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "local_only": False, "signature": "github"},
            "when the webhook “a” is called from anywhere with a signed body",
        ),
    ],
)
def test_it_is_explained_in_plain_words(config: dict[str, Any], words: str) -> None:
    assert explained(config) == words


async def test_a_signature_of_ones_own_form_is_judged(bench: Bench) -> None:
    bench.with_source(Webhooks, table := Webhooks(bench.clock))
    own = {"header": "X-Sign", "prefix": "v1=", "encoding": "base64", "timestamp_header": "X-Time", "tolerance": "1m"}
    site = bench.arm({"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "signature": own})
    form = SignatureForm("x-sign", "v1=", "base64", "x-time", tolerance_s=60)
    now = str(int(bench.clock.time()))

    def call(timestamp: str) -> int:
        headers = {"x-time": timestamp, "x-sign": sign(SECRET, b"hi", form, timestamp)}
        return table.receive(WebhookRequest("a", "POST", "127.0.0.1", True, headers, [], b"hi")).status

    assert [call(now), call(str(int(now) - 61))] == [200, 401]
    assert site.fired[0].trigger["text"] == "hi"


async def test_a_webhook_that_is_open_without_a_secret_answers_this_machine_alone(bench: Bench) -> None:
    table = Webhooks(bench.clock)
    bench.with_source(Webhooks, table)
    site = bench.arm({"trigger": "webhook", "webhook_id": "a", "local_only": False})

    def called(*, is_local: bool) -> int:
        return table.receive(WebhookRequest("a", "POST", "10.0.0.9", is_local, {}, [], b"")).status

    assert (called(is_local=False), called(is_local=True), len(site.fired)) == (404, 200, 1)
