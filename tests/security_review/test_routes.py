"""Every route of a whole hub, the dashboard's too, against who must not pass. New routes are walked by themselves."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import product
from typing import Any
from urllib.parse import quote

import orjson
import pytest

from hub.core.surfaces import ADMIN, READ, WRITE, Open, Route
from tests.lengths import some
from tests.security_review.besieged import SECRET, Besieged
from tests.servers.openai_server import OpenAIServer

INJECTED = "\"'><img src=x onerror=alert(1)><script>alert(2)</script><b style=x>"
OPEN_PATHS = {
    ("GET", "/"),
    ("GET", "/ws"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("POST", "/api/login"),
    ("GET", "/login"),
    ("POST", "/login"),
    ("POST", "/preferences"),
    ("GET", "/static/{path:*}"),
    # What makes the dashboard an app: the home's name, the worker, and the page for when the hub is away.
    *(("GET", path) for path in ("/manifest.webmanifest", "/sw.js", "/offline")),
    # The page that a phone pairs from, and the certificate that it asks its owner to trust.
    *(("GET", path) for path in ("/p", "/p/{file}", "/p/ca.crt", "/p/ca.mobileconfig")),
    ("GET", "/canvas/a2ui.js"),  # a script of that page
    # A talk begins with a ticket, which a signed-in page got; its scripts and style.
    *(("GET", path) for path in ("/talk", "/talk/{file}")),
    ("GET", "/tag/{id:*}"),  # leads to the page of a phone, which has to be paired
    # At an address that was signed for the one notification.
    *((method, "/api/notification/{key}/{what}") for method in ("GET", "POST")),
    *((method, "/api/webhook/{webhook_id}") for method in ("GET", "POST", "PUT")),
}
DEEP = b'{"a":' * 900 + b"1" + b"}" * 900
ASKS = b'{"messages":[{"role":"user","content":"x"}],"input":"x"}'
HOSTILE_BODIES = (
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff\xfe",
    b'{"method":1,"session":[],"file":{},"code":[1]}',
    DEEP,
    b"[" * 100_000,
    b'{"a":1e999}',
    b'{"session":"\\ud800","key":"\\u0000","text":"x"}',
    b"a=" * 60,
)


def routes(house: Besieged) -> list[Route]:
    return list(house.hub.gateway.routes)


async def test_only_these_routes_need_no_credential(house: Besieged) -> None:
    free = {(route.method, route.path) for route in routes(house) if route.scope in (Open.PUBLIC, Open.SELF)}

    assert free == OPEN_PATHS


async def test_without_a_credential_nothing_else_answers(house: Besieged) -> None:
    for route in routes(house):
        if route.scope in (Open.PUBLIC, Open.SELF):
            continue
        answer = await house.go(route, {"Accept": "application/json"}, b"{}")

        assert answer.status == 401, route.path


async def test_a_foreign_host_or_origin_is_refused_by_every_route_static_files_too(house: Besieged) -> None:
    cookie = await house.cookie()
    port = house.hub.gateway.address[1]
    foreign = (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{port}"},
        {"Host": f"127.0.0.1.evil.example:{port}"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
    )
    for turn, route in enumerate(routes(house)):
        for headers in some(foreign, turn, one_of=3):
            answer = await house.go(route, cookie | headers, b"{}")

            assert answer.status == 403, (route.path, headers)


async def test_a_cookie_changes_nothing_unless_our_own_page_sends_it(house: Besieged) -> None:
    cookie = await house.cookie()
    for route in routes(house):
        if not route.cookie or (route.method == "GET" and not route.websocket):
            continue
        for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            answer = await house.go(route, cookie | headers, b"{}")

            assert answer.status == 403, (route.path, headers)


@pytest.mark.timeout(600)
async def test_routes_that_change_things_take_no_get(house: Besieged) -> None:
    """GET never changes anything: what is kept is the same before and after each of them."""
    await house.run("hello")
    cookie = await house.cookie()
    await house.hub.db.write(lambda connection: connection.execute("SELECT 1").fetchone())
    await house.hub.entities.registry.flush()
    before = house.kept()
    for route in routes(house):
        if route.method != "GET" or route.websocket:
            continue
        for path in (route.path, f"{route.path}?session=agent:main:new&file=other.yaml&version=x&text=y&before=1"):
            for headers in (cookie, house.owner):
                shown = path.replace("{path:*}", "x").replace("{id:*}", "homarus")
                answer = await house.go(route, headers, path=shown)

                assert answer.status < 500, (path, answer.body[:200])
    await house.hub.db.write(lambda connection: connection.execute("SELECT 1").fetchone())

    assert house.kept() == before


async def test_every_scope_is_judged_for_a_token(house: Besieged) -> None:
    holders = {READ: await house.token(READ), WRITE: await house.token(WRITE)}
    reach = {READ: {READ}, WRITE: {READ, WRITE}}
    for route in routes(house):
        if route.scope not in (READ, WRITE, ADMIN):
            continue
        for scope, (_, header) in holders.items():
            answer = await house.go(route, header | {"Accept": "application/json"}, ASKS)

            assert (answer.status == 403) is (route.scope not in reach[scope]), (route.path, scope, answer.status)


async def test_no_body_breaks_a_route(house: Besieged) -> None:
    kinds = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data", "")
    for turn, route in enumerate(each for each in routes(house) if each.method != "GET"):
        for kind, body in some(product(kinds, HOSTILE_BODIES), turn, one_of=4):
            answer = await house.go(route, house.owner | {"Content-Type": kind, "Accept": "application/json"}, body)

            is_missing = answer.status == 503 and b'"UNAVAILABLE"' in answer.body  # what nobody has set up
            assert answer.status < 500 or is_missing, (route.path, kind, body[:30], answer.body[:200])


async def test_pages_and_answers_carry_the_headers_that_bound_them(house: Besieged) -> None:
    cookie = await house.cookie()
    for route in routes(house):
        if route.method != "GET" or route.websocket:
            continue
        answer = await house.go(route, cookie | {"Accept": "text/html"})
        kind = answer.headers.get("Content-Type", "")

        assert answer.headers.get("X-Content-Type-Options") == "nosniff", route.path
        if kind.startswith("text/html"):
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy, route.path
            assert "frame-ancestors 'none'" in policy, route.path
            assert "unsafe" not in policy, route.path
            assert re.search(r"https?:(?!//127\.0\.0\.1:)", policy) is None, route.path  # the canvas is there
            assert "*" not in policy, route.path
        if not route.path.startswith("/static/"):
            assert "no-store" in answer.headers.get("Cache-Control", "no-store"), route.path


async def test_secrets_are_in_no_answer_but_the_file_of_secrets_itself(house: Besieged) -> None:
    await house.run(f"my key is {SECRET}")
    cookie = await house.cookie()
    for route in routes(house):
        if route.method != "GET" or route.websocket:
            continue
        answer = await house.go(route, cookie)

        assert SECRET.encode() not in answer.body, route.path
    for method in ("status", "health", "config.get", "sessions.list", "models.list", "agents.list", "tools.catalog"):
        assert SECRET not in orjson.dumps(await house.rpc(method)).decode(), method
    for method, params in (("chat.history", {"sessionKey": "main"}), ("sessions.transcript", {"key": "main"})):
        assert SECRET not in orjson.dumps(await house.rpc(method, params)).decode(), method


class Markup(HTMLParser):
    """Collects what a page could run or load, and what it would tell others."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            words = (value or "").strip().lower()
            if (
                name.startswith("on")
                or name == "style"
                or words.startswith(("javascript:", "data:", "vbscript:", "//"))
            ):
                self.found.add(f"{tag} {name}={words[:40]}")
            if name in {"src", "action", "formaction", "data", "srcdoc"} and not words.startswith("/"):
                self.found.add(f"{tag} {name}={words[:40]}")
        if tag in {"iframe", "object", "embed", "base", "img", "video", "audio", "math"}:
            self.found.add(tag)


@pytest.mark.timeout(600)
async def test_what_anybody_writes_is_text_on_every_page(house: Besieged, openai_server: OpenAIServer) -> None:
    links = "[a](javascript:alert(1)) ![x](https://evil.example/x) <svg/onload=alert(3)> [b](data:text/html,1)"
    written = f"{INJECTED}\n\n{links}"
    answer: list[dict[str, Any]] = [
        {"thinking": INJECTED},
        {"text": written},
        {"tool_call": {"name": INJECTED, "arguments": {INJECTED: INJECTED}, "id": INJECTED}},
    ]
    openai_server.queue(answer, written)
    await house.heard(await house.platform.say("platform:user:9", written, sender_name=INJECTED))
    await house.rpc("sessions.create", {"key": "agent:main:direct:x", "label": INJECTED, "idempotencyKey": "a"})
    house.hub.repairs.raise_("test", "x", INJECTED, INJECTED, location={"file": INJECTED, "line": 1})
    keys = [quote(session.key) for session in house.hub.sessions.list()]
    cookie = await house.cookie()
    pages = [route for route in routes(house) if route.method == "GET" and not route.websocket and route.owner == "web"]
    for route in pages:
        for query in ("", f"?session={quote(INJECTED)}&file={quote(INJECTED)}", *(f"?session={key}" for key in keys)):
            page = await house.go(
                route, cookie | {"Accept": "text/html"}, path=f"{route.path.replace('{path:*}', 'x')}{query}"
            )
            markup = Markup()
            if not page.headers.get("Content-Type", "").startswith(
                "application/json"
            ):  # which no browser shows as a page
                markup.feed(page.body.decode())

            assert markup.found == set(), (route.path, query)


async def test_a_body_that_its_handler_reads_needs_every_right(house: Besieged) -> None:
    streaming = [route for route in house.hub.gateway.routes if route.streams]

    assert [(route.method, route.path) for route in streaming] == [
        ("POST", "/settings/backup/upload"),
        ("POST", "/settings/move/upload"),
    ]
    assert all(route.scope == ADMIN for route in streaming)
