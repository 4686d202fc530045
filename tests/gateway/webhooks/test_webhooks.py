"""The table of webhooks: who gets in, what is handed on, and how often."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import Conflict, InvalidRequest
from hub.core.secret import Secret
from hub.gateway.webhooks.webhooks import BODY_LIMIT_BYTES, Webhook, WebhookReply, WebhookRequest, Webhooks
from hub.security.webhook_signature import FORMS, sign

SECRET = "0123456789abcdef"


class Table:
    """A table, and what was delivered."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.webhooks = Webhooks(self.clock)
        self.got: list[dict[str, Any]] = []

    def add(self, id: str = "hook", **config: Any) -> None:
        self.webhooks.register(Webhook(id, "morning", **config), self.got.append)

    def call(
        self,
        id: str = "hook",
        *,
        method: str = "POST",
        client: str = "127.0.0.1",
        local: bool = True,
        headers: dict[str, str] | None = None,
        query: list[tuple[str, str]] | None = None,
        body: bytes = b"",
    ) -> WebhookReply:
        return self.webhooks.receive(WebhookRequest(id, method, client, local, headers or {}, query or [], body))


@pytest.fixture
def table() -> Table:
    return Table()


def test_a_local_one_without_a_secret_takes_only_local_calls(table: Table) -> None:
    table.add()

    assert table.call().status == 200
    assert table.call(local=False, client="192.0.2.1").status == 404
    assert len(table.got) == 1


def test_one_that_is_open_to_others_needs_a_secret(table: Table) -> None:
    with pytest.raises(InvalidRequest, match="secret"):
        table.add(local_only=False)


@pytest.mark.parametrize("id", ["", "a/b", "a b", "x" * 201, "a\n"])
def test_an_id_that_cannot_stand_in_a_path_is_refused(table: Table, id: str) -> None:
    with pytest.raises(InvalidRequest, match="webhook_id"):
        table.add(id)


def test_an_id_belongs_to_one_trigger_until_it_ends(table: Table) -> None:
    end = table.webhooks.register(Webhook("hook", "morning"), table.got.append)

    with pytest.raises(Conflict, match="morning"):
        table.add()
    end()
    end()
    table.add()

    assert table.webhooks.ids() == ["hook"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": f"Bearer {SECRET}"}, 200),
        ({"authorization": f"bearer {SECRET}"}, 200),
        ({"x-webhook-secret": SECRET}, 200),
        ({"authorization": f"Basic {SECRET}"}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"x-webhook-secret": SECRET[:-1]}, 401),
        ({"x-webhook-secret": ""}, 401),
        ({}, 401),
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_a_secret_is_asked_of_everybody(table: Table, headers: dict[str, str], status: int, local: bool) -> None:
    table.add(local_only=False, secret=Secret(SECRET))

    assert table.call(headers=headers, local=local).status == status


def test_a_signature_is_asked_instead_of_the_secret(table: Table) -> None:
    table.add(local_only=False, secret=Secret(SECRET), signature=FORMS["github"])
    body = b'{"a": 1}'
    signed = {"x-hub-signature-256": sign(SECRET, body, FORMS["github"]), "content-type": "application/json"}

    assert table.call(headers=signed, body=body, local=False).status == 200
    assert table.call(headers=signed, body=b'{"a": 2}', local=False).status == 401
    assert table.call(headers={"x-webhook-secret": SECRET}, body=body).status == 401


def test_what_is_handed_on(table: Table) -> None:
    table.add(secret=Secret(SECRET))
    headers = {
        "x-webhook-secret": SECRET,
        "content-type": "application/json; charset=utf-8",
        "x-github-event": "push",
        "cookie": "x",
    }

    table.call(headers=headers, query=[("a", "1"), ("a", "2"), ("b", "")], body=b'{"n": [1, 2.5, null]}')

    assert table.got == [
        {
            "json": {"n": [1, 2.5, None]},
            "data": {},
            "query": {"a": "1", "b": ""},
            "webhook_id": "hook",
            "method": "POST",
            "headers": {"content-type": "application/json; charset=utf-8", "x-github-event": "push"},
        }
    ]


def test_forms_and_texts_are_handed_on_too(table: Table) -> None:
    table.add()

    table.call(headers={"content-type": "application/x-www-form-urlencoded"}, body=b"a=1&b=%C3%A9&c=")
    table.call(headers={"content-type": "text/plain"}, body=b"hi \xff")

    assert table.got[0]["data"] == {"a": "1", "b": "é", "c": ""}
    assert table.got[1]["text"] == "hi �"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{"),
        ("application/json", b"\xff"),
        ("application/json", b"[" * 33 + b"]" * 33),
        ("application/json", b"[" + b"1," * 20_001 + b"1]"),
        ("application/json", b"1" * 101),
        ("application/json", b"NaN"),
        ("application/cloudevents+json", b"nonsense"),
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % n for n in range(300))),
        ("application/x-www-form-urlencoded", b"a=\xff"),
    ],
)
def test_what_is_malformed_or_beyond_a_bound_is_refused(table: Table, content_type: str, body: bytes) -> None:
    table.add()

    assert table.call(headers={"content-type": content_type}, body=body).status == 400
    assert table.got == []


def test_brackets_in_quotes_are_not_depth(table: Table) -> None:
    table.add()
    body = b'{"a": "' + b"[" * 100 + b'\\"' + b'{"}'

    assert table.call(headers={"content-type": "application/json"}, body=body).status == 200


def test_bodies_and_queries_have_a_bound(table: Table) -> None:
    table.add()

    assert table.call(body=b"x" * (BODY_LIMIT_BYTES + 1)).status == 413
    assert table.call(query=[(str(n), "") for n in range(300)]).status == 400


def test_methods_are_those_that_were_named(table: Table) -> None:
    table.add()
    table.add("both", methods=("GET", "POST"))

    assert [table.call(method=method).status for method in ("POST", "PUT", "GET", "HEAD", "DELETE")] == [
        *(200, 200, 405, 405, 405)
    ]
    assert table.call("both", method="GET").status == 200


async def test_twenty_failed_attempts_lock_the_client(table: Table) -> None:
    table.add(local_only=False, secret=Secret(SECRET))
    good = {"x-webhook-secret": SECRET}

    for _ in range(10):
        table.call("unknown", client="192.0.2.1", local=False)
        table.call(client="192.0.2.1", local=False)
    locked = table.call(client="192.0.2.1", local=False, headers=good)

    assert locked.status == 429
    assert (locked.retry_after_s or 0) > 0
    assert table.call(client="192.0.2.2", local=False, headers=good).status == 200
    await table.clock.advance(301)
    assert table.call(client="192.0.2.1", local=False, headers=good).status == 200


def test_good_calls_never_lock(table: Table) -> None:
    table.add(per_minute=1_000)

    assert {table.call().status for _ in range(100)} == {200}


async def test_accepted_calls_have_a_bound_of_their_own(table: Table) -> None:
    table.add(per_minute=3)
    table.add("other")

    statuses = [table.call().status for _ in range(4)]

    assert statuses == [200, 200, 200, 429]
    assert table.call("other").status == 200
    await table.clock.advance(60)
    assert table.call().status == 200
