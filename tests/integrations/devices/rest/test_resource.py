"""Sensors of what a real server answers, well and badly."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from tests.hub_fixture import HubFixture
from tests.until import until

START = 1_767_268_800.0
ONLY = ("hub database", "registries", "helpers", "integrations", "egress")


class Server:
    """Answers as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[web.BaseRequest] = []
        self.bodies: list[str] = []
        self.text, self.kind, self.status = "{}", "application/json", 200
        self.headers: dict[str, str] = {}
        self.url = ""

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.asked.append(request)
        self.bodies.append(await request.text())
        body = self.text.encode() if self.kind else self.text.encode("iso-8859-1")
        kind = {"Content-Type": self.kind or "text/plain"}
        if request.path == "/digest" and "Authorization" not in request.headers:
            proof = {"WWW-Authenticate": 'Digest realm="x", nonce="n", qop="auth", algorithm=MD5'}
            return web.Response(status=401, headers=proof)
        return web.Response(status=self.status, body=body, headers={**kind, **self.headers})

    def says(self, data: Any) -> None:
        self.text = json.dumps(data)


class Home:
    """A hub that reads sensors from the server."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.server, self.clock = folder, server, ManualClock(START)
        self.hub: HubFixture

    async def start(self, **sections: Any) -> None:
        self.hub = HubFixture(
            self.folder,
            "http://127.0.0.1:1",
            sections=sections,
            integrations={"rest"},
            clock=self.clock,
            only=ONLY,
        )
        await self.hub.start()

    async def state(self, entity_id: str, state: str) -> dict[str, Any]:
        await until(lambda: (found := self.hub.states.get(entity_id)) is not None and found.state == state)
        found = self.hub.states.get(entity_id)
        assert found is not None
        return dict(found.attributes)

    async def update(self, *entity_ids: str) -> None:
        data = {"entity_id": list(entity_ids)}
        await self.hub.services.call("homeassistant", "update_entity", data, context=Context(SYSTEM))

    def is_now(self, entity_id: str) -> str:
        found = self.hub.states.get(entity_id)
        assert found is not None
        return found.state


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    runner = web.ServerRunner(web.Server(made.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@pytest.fixture
async def home(tmp_path: Path, server: Server) -> AsyncIterator[Home]:
    made = Home(tmp_path, server)
    yield made
    await made.hub.stop()


async def test_one_answer_makes_several_entities(home: Home, server: Server) -> None:
    server.says({"t": 21.5, "door": "open", "more": {"rows": [{"a": 1, "b": [2]}]}, "at": "2026-01-02T03:04:05+01:00"})
    resource = {
        "resource": f"{server.url}/status",
        "sensor": [
            {
                "name": "Heat",
                "unique_id": "h",
                "value_template": "{{ value_json.t }}",
                "unit_of_measurement": "°C",
                "device_class": "temperature",
                "state_class": "measurement",
                "icon": "mdi:{{ 'fire' if value_json.t > 20 else 'snowflake' }}",
                "json_attributes": ["a", "b", "c"],
                "json_attributes_path": "$.more.rows[0]",
            },
            {"name": "Seen", "device_class": "timestamp", "value_template": "{{ value_json.at }}"},
            {"value_template": "{{ value_json.none.at }}"},
        ],
        "binary_sensor": [{"name": "Door", "value_template": "{{ value_json.door }}", "device_class": "door"}],
    }

    await home.start(rest=resource)

    assert await home.state("sensor.heat", "21.5") == {
        "state_class": "measurement",
        "a": 1,
        "b": [2],
        "friendly_name": "Heat",
        "device_class": "temperature",
        "unit_of_measurement": "°C",
        "icon": "mdi:fire",
    }
    assert await home.state("binary_sensor.door", "on") == {"friendly_name": "Door", "device_class": "door"}
    assert home.is_now("sensor.seen") == "2026-01-02T02:04:05+00:00"
    assert home.is_now("sensor.rest_sensor") == "unknown"
    assert len(server.asked) == 1
    heat = home.hub.states.get("sensor.heat")
    assert heat is not None
    assert heat.context.authority.tainted


async def test_it_is_asked_as_the_configuration_says(home: Home, server: Server) -> None:
    (home.folder / "secrets.yaml").write_text("key: k-7\npw: s3cret\n")
    text = f"""
sensor:
  - platform: rest
    name: Posted
    resource_template: "{server.url}/at/{{{{ 1 + 1 }}}}?a=b"
    method: POST
    payload: '{{"ask": 1}}'
    headers: {{X-Key: !secret key, Content-Type: application/json}}
    params: {{q: "a b", n: "{{{{ 2 * 3 }}}}"}}
    username: ada
    password: !secret pw
    scan_interval: 60
    value_template: "{{{{ value_json.x }}}}"
"""
    home.hub = HubFixture(
        home.folder,
        "http://127.0.0.1:1",
        files={"configuration.yaml": text},
        integrations={"rest"},
        clock=home.clock,
        only=ONLY,
    )
    server.says({"x": 1})
    await home.hub.start()
    await home.state("sensor.posted", "1")
    server.says({"x": 2})

    await home.clock.advance(59)
    before = len(server.asked)
    await home.clock.advance(2)
    await home.state("sensor.posted", "2")

    asked = server.asked[0]
    assert (asked.method, asked.path_qs, server.bodies[0]) == ("POST", "/at/2?a=b&q=a+b&n=6", '{"ask": 1}')
    assert (asked.headers["X-Key"], asked.headers["Authorization"]) == ("k-7", "Basic YWRhOnMzY3JldA==")
    assert before == 1


async def test_a_digest_is_given_when_it_is_wanted(home: Home, server: Server) -> None:
    server.says("yes")
    door = {
        "platform": "rest",
        "name": "Door",
        "resource": f"{server.url}/digest",
        "value_template": "{{ value_json }}",
    }

    await home.start(binary_sensor=[{**door, "authentication": "digest", "username": "ada", "password": "pw"}])

    await home.state("binary_sensor.door", "on")
    assert server.asked[-1].headers["Authorization"].startswith("Digest username")


@pytest.mark.parametrize("bad", ["status", "length"])
async def test_it_is_unavailable_and_asked_less_often_while_it_fails(home: Home, server: Server, bad: str) -> None:
    server.says({"x": 1})
    sensor = {"platform": "rest", "name": "X", "resource": server.url, "value_template": "{{ value_json.x }}"}
    await home.start(sensor=[sensor])
    await home.state("sensor.x", "1")
    match bad:
        case "status":
            server.status = 503
        case "length":
            server.text = "x" * 1_000_001

    await home.clock.advance(31)
    await home.state("sensor.x", "unavailable")
    for _ in range(12):
        await home.clock.advance(61)
    asked = len(server.asked)
    server.status = 200
    server.says({"x": 5})
    await home.clock.advance(301)

    await home.state("sensor.x", "5")
    assert asked < 10


async def test_who_asks_for_patience_gets_it_and_update_entity_asks_at_once(home: Home, server: Server) -> None:
    server.status, server.headers = 429, {"Retry-After": "7200"}
    await home.start(sensor=[{"platform": "rest", "name": "X", "resource": server.url}])
    await until(lambda: server.asked)
    await home.clock.advance(7_000)
    waited = len(server.asked)
    server.status, server.text = 200, "ready"

    await home.update("sensor.x")

    assert (waited, home.is_now("sensor.x")) == (1, "ready")


async def test_xml_is_read_as_json(home: Home, server: Server) -> None:
    server.kind, server.text = "text/xml; charset=utf-8", '<a v="1"><b>x</b><b>ü</b></a>'
    value = "{{ value_json.a['@v'] }} {{ value_json.a.b[1] }}"

    await home.start(sensor=[{"platform": "rest", "name": "X", "resource": server.url, "value_template": value}])

    await home.state("sensor.x", "1 ü")
    server.text = "<a><b></a>"
    await home.update("sensor.x")
    assert home.is_now("sensor.x") == "unavailable"


async def test_an_encoding_is_taken_where_the_answer_says_none(home: Home, server: Server) -> None:
    server.kind, server.text = "", "grün"

    await home.start(sensor=[{"platform": "rest", "name": "X", "resource": server.url, "encoding": "ISO-8859-1"}])

    await home.state("sensor.x", "grün")


async def test_what_is_no_number_leaves_the_last_and_a_template_makes_it_unavailable(
    home: Home, server: Server
) -> None:
    server.says({"x": 1, "up": True})
    sensor = {"name": "X", "resource": server.url, "value_template": "{{ value_json.x }}", "unit_of_measurement": "W"}
    await home.start(sensor=[{"platform": "rest", **sensor, "availability": "{{ value_json.up }}"}])
    await home.state("sensor.x", "1")

    async def next_is(data: Any, state: str) -> None:
        server.says(data)
        await home.update("sensor.x")
        assert home.is_now("sensor.x") == state

    await next_is({"x": "much", "up": True}, "1")
    await next_is({"x": 7, "up": False}, "unavailable")
    await next_is({"x": 8, "up": True}, "8")


async def test_force_update_tells_of_each_reading(home: Home, server: Server) -> None:
    server.text = "same"
    both = [{"name": "A", "force_update": True}, {"name": "B"}]
    await home.start(rest={"resource": server.url, "sensor": both})
    await home.state("sensor.b", "same")
    heard: list[str] = []
    home.hub.bus.listen("state_changed", lambda event: heard.append(event.data["entity_id"]))

    await home.update("sensor.a", "sensor.b")

    assert heard == ["sensor.a"]
    assert len(server.asked) == 2


async def test_a_host_that_a_template_names_is_no_host_of_the_home(
    home: Home, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    host = server.url.removeprefix("http://")

    await home.start(sensor=[{"platform": "rest", "name": "X", "resource_template": "http://{{ '" + host + "' }}/"}])

    await until(lambda: "was not called" in caplog.text)
    assert (home.is_now("sensor.x"), server.asked) == ("unavailable", [])


@pytest.mark.parametrize("verify", [True, False])
async def test_a_certificate_of_the_home_may_be_left_unverified(
    home: Home, server: Server, tmp_path: Path, verify: bool, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.security.web_servers import self_signed

    context: ssl.SSLContext = self_signed(tmp_path)
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    server.text = "in"

    await home.start(sensor=[{"platform": "rest", "name": "X", "resource": url, "verify_ssl": verify}])

    await until(lambda: home.is_now("sensor.x") == "in" or "certificate" in caplog.text)
    assert (home.is_now("sensor.x") == "in") is not verify
    await runner.cleanup()
