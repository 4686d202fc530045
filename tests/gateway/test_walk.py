"""A walk over every route and every method: what each answers to those who must not pass.

New routes and methods are walked without being named here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
import orjson
import pytest

from hub.core.context import SCOPES, Authority, expand_scopes
from hub.core.errors import Forbidden
from hub.core.json_schema import to_json_schema
from hub.core.surfaces import FRAME_LIMIT_BYTES, Caller, Open, Route, TooLarge
from hub.gateway.calls.json_data import PARTS_LIMIT
from hub.gateway.connection.connection import STRICT
from tests.gateway.rig import connected
from tests.hub_fixture import HubFixture

FOREIGN = "https://evil.example"
FORWARDING = tuple(
    {name: "127.0.0.1"}
    for name in (
        *("X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Scheme"),
        *("X-Forwarded", "X-Original-Host", "X-Original-Forwarded-For", "X-Envoy-External-Address", "Via", "CF-Ray"),
        *("X-Cluster-Client-IP", "Fly-Client-IP", "Fastly-Client-IP", "Cdn-Loop", "Tailscale-User-Login"),
    )
)
OLLAMA = {"/api/version", "/api/tags", "/api/show", "/api/chat"}
"""Their clients know errors as one text, without a code."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def error(self) -> Any:
        return orjson.loads(self.body)["error"]

    @property
    def code(self) -> str | None:
        return None if isinstance(self.error, str) else str(self.error["code"])


class Walker:
    """Calls a route by hand, with exactly these headers."""

    def __init__(self, rig: HubFixture) -> None:
        self.rig = rig

    async def go(
        self, route: Route, headers: Mapping[str, str] | None = None, body: bytes = b"", host: str | None = None
    ) -> Answer:
        path = route.path.replace("{path:*}", "x").replace("{id:*}", "homarus")
        lines = {"Host": host or f"127.0.0.1:{self.rig.port}", "Connection": "close"} | dict(headers or {})
        if route.websocket:
            lines |= {
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            }
        if route.method == "GET":
            body = b""
        else:
            lines.setdefault("Content-Length", str(len(body)))
            lines.setdefault("Content-Type", "application/json")
        head = f"{route.method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return await self.raw(head.encode() + b"\r\n" + body)

    async def raw(self, data: bytes) -> Answer:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.rig.port)
        try:
            writer.write(data)
            async with asyncio.timeout(20):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *rest = head.split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
                length = int(headers.get("content-length", 0))
                body = await reader.readexactly(length) if length else b""
            return Answer(int(first.split()[1]), headers, body)
        finally:
            writer.close()


@pytest.fixture
def walker(house: HubFixture) -> Walker:
    return Walker(house)


def guarded(rig: HubFixture) -> list[Route]:
    """The routes that need a credential."""
    return [route for route in rig.gateway.routes if route.scope not in (Open.PUBLIC, Open.SELF)]


def with_body(rig: HubFixture) -> list[Route]:
    return [route for route in rig.gateway.routes if route.body is not None or route.path == "/api/rpc"]


async def test_the_walk_sees_the_whole_table(house: HubFixture) -> None:
    paths = {(route.method, route.path) for route in house.gateway.routes}

    assert {
        ("GET", "/"),
        ("GET", "/ws"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("POST", "/api/rpc"),
        ("POST", "/api/login"),
        ("POST", "/api/logout"),
        ("POST", "/api/webhook/{webhook_id}"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/responses"),
        ("GET", "/v1/models"),
    } <= paths


async def test_only_these_routes_are_open_without_a_credential(house: HubFixture) -> None:
    free = {route.path for route in house.gateway.routes if route.scope in (Open.PUBLIC, Open.SELF)}

    # A talk begins with a ticket, which a signed-in page got; its scripts and style are anybody's.
    talk = {"/talk", "/talk/{file}"}
    assert free == {"/", "/ws", "/healthz", "/readyz", "/api/login", "/api/webhook/{webhook_id}", *talk}


async def test_no_credential_is_401_everywhere(house: HubFixture, walker: Walker) -> None:
    answers = {route.path: await walker.go(route, body=b"{}") for route in guarded(house)}

    assert {path: answer.status for path, answer in answers.items()} == dict.fromkeys(answers, 401)
    assert all("www-authenticate" in answer.headers for answer in answers.values())
    codes = {path: answer.code for path, answer in answers.items()}
    assert codes == dict.fromkeys(answers, "UNAUTHORIZED") | dict.fromkeys(OLLAMA)


async def test_an_empty_or_odd_credential_is_401_everywhere(house: HubFixture, walker: Walker) -> None:
    odd = ["", "Bearer", "Bearer  ", "Basic Og==", "Token x", "bearer\tx"]

    statuses = [
        (route.path, value, (await walker.go(route, {"Authorization": value}, b"{}")).status)
        for route in guarded(house)
        for value in odd
    ]

    assert [each for each in statuses if each[2] not in (401, 429)] == []


async def test_a_bad_credential_is_401_and_then_429_everywhere(house: HubFixture, walker: Walker) -> None:
    statuses = [
        (await walker.go(route, {"Authorization": "Bearer homtok_wrong"}, b"{}")).status
        for route in guarded(house)
        for _ in range(4)
    ]

    assert statuses[:10] == [401] * 10
    assert set(statuses[10:]) == {429}


async def test_a_wrong_scope_is_403_everywhere(house: HubFixture, walker: Walker) -> None:
    _, secret = await house.tokens.create("talker", ["operator.talk"])
    bodies = {"/api/rpc": b'{"method":"status"}', "/api/logout": b"{}", "/v1/responses": b'{"input":"x"}'}

    for route in guarded(house):
        body = bodies.get(route.path, b'{"messages":[{"role":"user","content":"x"}]}')
        answer = await walker.go(route, {"Authorization": f"Bearer {secret.reveal()}"}, body)

        assert (answer.status == 403) is (route.path != "/api/logout"), route.path


async def test_a_wrong_host_is_403_everywhere(house: HubFixture, walker: Walker) -> None:
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "[::2]", "127.0.0.1:x", "a b"):
        for route in house.gateway.routes:
            answer = await walker.go(route, house.bearer, b"{}", host=host)

            assert answer.status in (400, 403), (host, route.path)


async def test_a_missing_or_second_host_is_refused(house: HubFixture, walker: Walker) -> None:
    none = await walker.raw(b"GET /healthz HTTP/1.0\r\n\r\n")
    two = await walker.raw(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n")

    assert none.status in (400, 403)
    assert two.status == 400


async def test_a_foreign_origin_is_403_everywhere_before_any_upgrade(house: HubFixture, walker: Walker) -> None:
    own = f"http://127.0.0.1:{house.port}"
    odd = (
        FOREIGN,
        "null",
        f"{own}.evil.example",
        "http://localhost",
        f"https://127.0.0.1:{house.port}",
        f"{own}/x",
        "",
    )
    for origin in odd:
        for route in house.gateway.routes:
            answer = await walker.go(route, house.bearer | {"Origin": origin}, b"{}")

            assert answer.status == 403, (origin, route.path)


async def test_forwarded_headers_take_the_hub_token_its_worth_everywhere(house: HubFixture, walker: Walker) -> None:
    for headers in FORWARDING:
        for route in guarded(house)[:2]:
            answer = await walker.go(route, house.bearer | headers, b"{}")

            assert answer.status in (401, 429), (headers, route.path)


async def test_a_declared_oversize_body_is_413_everywhere(house: HubFixture, walker: Walker) -> None:
    for route in house.gateway.routes:
        size = route.body_limit if route.scope not in tuple(Open) else min(route.body_limit, route.open_limit)
        headers = house.bearer | {"Content-Length": str(max(size, route.body_limit) + 1)}

        answer = await walker.go(route, headers)

        assert answer.status == 413, route.path


async def test_an_undeclared_oversize_body_is_413(house: HubFixture, walker: Walker) -> None:
    route = next(route for route in house.gateway.routes if route.path == "/api/logout")
    chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
    head = (
        f"POST {route.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {house.token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )

    answer = await walker.raw(head.encode() + chunk * 3 + b"0\r\n\r\n")

    assert answer.status == 413


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 2000, b'{"a":1e999}', b"NaN"])
async def test_bad_json_is_400_everywhere(house: HubFixture, walker: Walker, body: bytes) -> None:
    for route in with_body(house):
        answer = await walker.go(route, house.bearer, body)

        assert answer.status == 400, (route.path, body)
        assert answer.code == (None if route.path in OLLAMA else "INVALID_REQUEST")


async def test_a_wrong_schema_is_400_and_names_the_path(house: HubFixture, walker: Walker) -> None:
    for route in with_body(house):
        answer = await walker.go(route, house.bearer, b'{"method":1,"messages":"x","input":1,"code":[],"made_up":1}')

        assert answer.status == 400, route.path
        message = answer.error if route.path in OLLAMA else answer.error["message"]
        assert any(name in message for name in ("method", "messages", "input", "code", "made_up", "model")), message


async def test_a_compressed_body_is_400_everywhere(house: HubFixture, walker: Walker) -> None:
    for route in with_body(house):
        answer = await walker.go(route, house.bearer | {"Content-Encoding": "gzip"}, b"\x1f\x8b\x08\x00")

        assert answer.status == 400, route.path


async def test_errors_have_the_shape_that_clients_of_the_route_know(house: HubFixture, walker: Walker) -> None:
    for route in guarded(house):
        error = (await walker.go(route, body=b"{}")).error

        assert isinstance(error, str) is (route.path in OLLAMA), route.path
        assert (not isinstance(error, str) and "type" in error) is route.path.startswith(("/v1", "/tools")), route.path


async def test_what_is_not_there_is_404_and_a_wrong_verb_405(house: HubFixture, walker: Walker) -> None:
    missing = await walker.raw(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
    verb = await walker.raw(b"DELETE /api/rpc HTTP/1.1\r\nHost: localhost\r\n\r\n")
    options = await walker.raw(b"OPTIONS /api/rpc HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n")

    assert missing.status == 404
    assert verb.status == 405
    assert verb.headers["allow"] == "POST"
    assert options.status == 403


async def test_answers_carry_the_security_headers(house: HubFixture, walker: Walker) -> None:
    for route in house.gateway.routes:
        if route.websocket:
            continue
        answer = await walker.go(route, body=b"{}")

        assert answer.headers["x-content-type-options"] == "nosniff", route.path
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "python" not in answer.headers["server"].lower()
        assert "access-control-allow-origin" not in answer.headers


async def test_every_method_refuses_a_caller_without_its_scope(house: HubFixture) -> None:
    async with connected(house, scopes=["operator.talk.secrets"]) as client:
        for method in house.gateway.methods:
            answer = await client.call(method.name, PARAMS.get(method.name, {}))

            assert answer["ok"] is False, method.name
            assert answer["error"]["code"] == "FORBIDDEN", (method.name, answer)


@pytest.mark.parametrize("scope", sorted(SCOPES))
async def test_no_method_shows_its_schema_to_a_caller_without_its_scope(house: HubFixture, scope: str) -> None:
    scopes = expand_scopes([scope])
    async with connected(house, scopes=[scope]) as client:
        for method in house.gateway.methods:
            if method.scope in scopes:
                continue
            for bad in WRONG:
                answer = await client.call(method.name, bad)

                assert answer["error"]["code"] == "FORBIDDEN", (method.name, bad, answer)


@pytest.mark.parametrize("scope", ["operator.admin", "operator.write", "operator.read", "operator.talk"])
async def test_every_method_refuses_parameters_above_its_limit_undecoded(house: HubFixture, scope: str) -> None:
    large = [method for method in house.gateway.methods if method.frame_limit > FRAME_LIMIT_BYTES]
    assert 0 < len(large) < 16
    not_json = msgspec.Raw(b"[" * (FRAME_LIMIT_BYTES + 1))
    caller = Caller(Authority("test", scopes=expand_scopes([scope])), "test", "127.0.0.1", local=True)
    for method in house.gateway.methods:
        if method in large:
            continue
        with pytest.raises((TooLarge, Forbidden)) as refused:
            house.gateway.dispatcher.prepare(method.name, not_json, caller)

        assert isinstance(refused.value, TooLarge) is caller.authority.has(method.scope), method.name


async def test_every_text_that_a_method_takes_fits_into_its_frame(house: HubFixture) -> None:
    too_long = {
        method.name
        for method in house.gateway.methods
        for size in _lengths(to_json_schema(method.schema))
        if size > method.frame_limit - 4_096
    }

    assert too_long == set()


def _lengths(schema: Any) -> Iterator[int]:
    """The `maxLength` of every text in a JSON Schema."""
    if isinstance(schema, dict):
        yield from (value for key, value in schema.items() if key == "maxLength" and isinstance(value, int))
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from _lengths(each)


@pytest.mark.parametrize("scope", ["operator.talk", "operator.read"])
async def test_a_frame_larger_than_any_method_that_a_client_may_call_closes_it(house: HubFixture, scope: str) -> None:
    async with connected(house, scopes=[scope]) as client, connected(house) as owner:
        await client.ws.send_str('{"type":"req","id":"q","method":"token.create","params":{' + "x" * 10_000_000)
        while (message := await client.ws.receive(30)).type is aiohttp.WSMsgType.TEXT:
            continue

        assert message.data == 1009
        assert (await owner.call("status"))["ok"]


async def test_a_body_larger_than_any_method_that_a_token_may_call_is_413(
    house: HubFixture, http: aiohttp.ClientSession
) -> None:
    _, secret = await house.tokens.create("reader", ["operator.read"])
    headers = {"Authorization": f"Bearer {secret.reveal()}"}
    body = orjson.dumps({"method": "status", "params": {"x": "x" * 1_000_000}})

    async with http.post(f"{house.url}/api/rpc", data=body, headers=headers) as answer:
        assert answer.status == 413


async def test_parameters_of_too_many_parts_are_refused_undecoded(house: HubFixture) -> None:
    async with connected(house) as client:
        await client.ws.send_str(
            '{"type":"req","id":"q","method":"chat.send","params":[' + "[]," * PARTS_LIMIT + "[]]}"
        )
        answer = await client.answer("q")

    assert answer["error"]["code"] == "INVALID_REQUEST"
    assert "parts" in answer["error"]["message"]


async def test_every_method_refuses_params_it_does_not_know(house: HubFixture) -> None:
    async with connected(house, caps=[STRICT]) as client:
        for method in house.gateway.methods:
            for bad in WRONG:
                answer = await client.call(method.name, bad)

                assert answer["error"]["code"] == "INVALID_REQUEST", (method.name, bad, answer)
                assert method.name in answer["error"]["message"]


async def test_every_method_is_the_same_over_rpc(house: HubFixture, http: aiohttp.ClientSession) -> None:
    _, secret = await house.tokens.create("talker", ["operator.talk.secrets"])
    headers = {"Authorization": f"Bearer {secret.reveal()}"}
    for method in house.gateway.methods:
        body = {"method": method.name, "params": PARAMS.get(method.name, {})}
        async with http.post(f"{house.url}/api/rpc", json=body, headers=headers) as answer:
            assert answer.status == 403, method.name


WRONG: tuple[Any, ...] = ({"made_up": 1}, [], "x", 7, True)

PARAMS: dict[str, dict[str, Any]] = {
    "agent": {"message": "x", "idempotencyKey": "k"},
    "agent.wait": {"runId": "r"},
    "approval.get": {"id": "none-such"},
    "approval.resolve": {"id": "none-such", "decision": "allow-once"},
    **{
        f"automation.{name}": {"id": "bell"}
        for name in ("get", "trigger", "on", "off", "resume", "trace", "test", "explain", "yaml", "duplicate", "delete")
    },
    "automation.backtest": {"id": "bell", "since": "1d"},
    "automation.trace.export": {"run_id": "r"},
    "automation.trace.get": {"run_id": "r"},
    "automation.trace.import": {"trace": {}},
    "blueprint.get": {"path": "homarus/heartbeat.yaml"},
    "blueprint.remove": {"path": "homarus/heartbeat.yaml"},
    "blueprint.update": {"path": "homarus/heartbeat.yaml"},
    "blueprint.use": {"path": "homarus/heartbeat.yaml"},
    "chat.abort": {"sessionKey": "main"},
    "chat.history": {"sessionKey": "main"},
    "chat.inject": {"sessionKey": "main", "message": "x"},
    "chat.send": {"sessionKey": "main", "message": "x", "idempotencyKey": "k"},
    "config.set": {"raw": "", "baseHash": None},
    "cron.add": {"name": "Tea"},
    "cron.remove": {"id": "tea"},
    "cron.run": {"id": "tea"},
    "cron.update": {"id": "tea", "patch": {}},
    "device.pair.approve": {"requestId": "r"},
    "device.pair.reject": {"requestId": "r"},
    "device.pair.remove": {"deviceId": "d"},
    "device.token.revoke": {"deviceId": "d"},
    "device.token.rotate": {"deviceId": "d"},
    "event.fire": {"type": "bell_pressed"},
    "exec.approval.get": {"id": "none-such"},
    "exec.approval.resolve": {"id": "none-such", "decision": "allow-once"},
    "memory.add": {"text": "x"},
    "memory.forget": {"query": "x"},
    "memory.get": {"path": "MEMORY.md"},
    "memory.import": {"files": {"a.md": "x"}, "origin": "markdown"},
    "memory.intents.add": {"topics": ["x"], "remind": "y"},
    "memory.intents.remove": {"id": "none-such"},
    "memory.read": {"path": "MEMORY.md"},
    "memory.search": {"query": "x"},
    "memory.undo": {"id": "none-such"},
    "memory.write": {"edits": [{"path": "MEMORY.md", "text": "x", "base_hash": None}]},
    "script.get": {"id": "greet"},
    "script.run": {"id": "greet"},
    "script.stop": {"id": "greet"},
    "service.call": {"service": "hub.check"},
    "sessions.abort": {"key": "main"},
    "sessions.delete": {"key": "main"},
    "sessions.export": {"key": "main"},
    "sessions.fork": {"key": "main"},
    "sessions.get": {"key": "main"},
    "sessions.messages.subscribe": {"key": "main"},
    "sessions.messages.unsubscribe": {"key": "main"},
    "sessions.patch": {"key": "main"},
    "sessions.preview": {"keys": ["main"]},
    "sessions.reset": {"key": "main"},
    "sessions.trust": {"key": "main"},
    "sessions.transcript": {"key": "main"},
    "state.get": {"entity_id": "light.kitchen"},
    "state.remove": {"entity_id": "light.kitchen"},
    "state.set": {"entity_id": "light.kitchen", "state": "on"},
    "set-heartbeats": {"enabled": True},
    "system-event": {"text": "x"},
    "template.render": {"template": "x"},
    "token.create": {"name": "n", "scopes": ["operator.read"]},
    "token.revoke": {"id": "t"},
    "wake": {"text": "x"},
}
"""Parameters that pass the schema, so that the scope is what refuses."""
