"""Surfaces are imported on first use, and the table that a start reads in their place says what they say."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from hub.config.seed import seed
from hub.core.context import Authority
from hub.core.errors import Forbidden, HubError, InvalidRequest
from hub.core.schema import Required, Schema
from hub.core.surface_table import FILE, row_of
from hub.core.surfaces import READ, WRITE, Caller, HttpCall, Method, MethodCall, Route
from hub.gateway.calls.dispatch import Dispatcher
from hub.gateway.calls.method_table import MethodTable
from hub.gateway.calls.routes import RouteTable
from hub.hub import Hub
from hub.storage.homedir import Home
from tests.surfaces import declared, written

READER = Caller(Authority("reader", scopes=frozenset({READ})), "token:r", "127.0.0.1", local=True)
WRITER = Caller(Authority("writer", scopes=frozenset({READ, WRITE})), "token:w", "127.0.0.1", local=True)


@pytest.fixture
async def hub(tmp_path: Path) -> Hub:
    """A hub that was not started."""
    home = Home(tmp_path / "home")
    home.create()
    seed(home)
    return Hub(home)


async def test_the_table_says_what_is_declared(hub: Hub) -> None:
    assert FILE.read_text() == written(declared(hub)), "run script/surfaces"


class Clockwork:
    """A group of two methods, which counts its imports."""

    def __init__(self) -> None:
        self.imports = 0
        self.fails: Exception | None = None
        self.scope = WRITE

    def load(self) -> Iterable[Method]:
        self.imports += 1
        if self.fails is not None:
            raise self.fails
        schema = Schema({Required("turns"): int})
        return [
            Method("clockwork.wind", self._answer, "test", schema, self.scope),
            Method("clockwork.look", self._answer, "test", Schema({}), READ),
        ]

    async def _answer(self, call: MethodCall) -> dict[str, Any]:
        return {"method": call.method, **call.params}


@pytest.fixture
def clockwork() -> Clockwork:
    return Clockwork()


Call = Callable[..., Any]


@pytest.fixture
async def call(clockwork: Clockwork) -> Call:
    """Calls a method of a table that knows the group by its rows alone."""
    table = MethodTable()
    rows = {"clockwork": [row_of(each) for each in Clockwork().load()]}
    table.add_groups({"clockwork": clockwork.load}, rows)
    dispatcher = Dispatcher(table)

    async def call(name: str, params: dict[str, Any], caller: Caller = WRITER, **more: Any) -> Any:
        return await dispatcher.run(*dispatcher.prepare(name, params, caller, **more))

    return call


async def test_the_first_calls_import_once_however_many_come_at_a_time(call: Call, clockwork: Clockwork) -> None:
    before = clockwork.imports
    answers = await asyncio.gather(*(call("clockwork.wind", {"turns": turns}) for turns in range(5)))
    again = await call("clockwork.look", {})

    assert before == 0
    assert [each["turns"] for each in answers] == [0, 1, 2, 3, 4]
    assert again == {"method": "clockwork.look"}
    assert clockwork.imports == 1


async def test_scope_is_judged_before_anything_is_imported(call: Call, clockwork: Clockwork) -> None:
    with pytest.raises(Forbidden):
        await call("clockwork.wind", {"turns": 1}, READER)

    assert clockwork.imports == 0


async def test_the_parameters_of_a_first_call_are_judged_too(call: Call) -> None:
    with pytest.raises(InvalidRequest, match=r"clockwork\.wind: turns"):
        await call("clockwork.wind", {"turns": "x"})
    tolerated = await call("clockwork.wind", {"turns": 1, "colour": "red"}, tolerate="somebody's client")

    assert tolerated == {"method": "clockwork.wind", "turns": 1}


async def test_an_unknown_key_of_a_tolerant_first_call_is_left_out(call: Call) -> None:
    assert await call("clockwork.look", {"colour": "red"}, tolerate="somebody's client") == {"method": "clockwork.look"}


async def test_a_surface_that_cannot_be_imported_says_so_and_is_logged(
    call: Call, clockwork: Clockwork, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork.fails = ModuleNotFoundError("No module named 'gears'")
    with caplog.at_level(logging.ERROR), pytest.raises(HubError, match=r"'clockwork'.*cannot be loaded") as failed:
        await call("clockwork.look", {})
    clockwork.fails = None

    assert "gears" not in failed.value.message
    assert "No module named 'gears'" in caplog.text
    assert await call("clockwork.look", {}) == {"method": "clockwork.look"}


async def test_a_method_that_is_not_as_the_table_says_is_not_served(
    call: Call, clockwork: Clockwork, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork.scope = "operator.admin"

    with pytest.raises(HubError, match="cannot be loaded"):
        await call("clockwork.wind", {"turns": 1})
    assert "clockwork.wind: not as in surfaces.json" in caplog.text


BODY = Schema({Required("turns"): int})


class Doors:
    """A group of one route, which counts its imports."""

    def __init__(self) -> None:
        self.imports = 0

    def load(self) -> Iterable[Route]:
        self.imports += 1
        return [Route("POST", "/door/{name}", self._open, "test", scope=WRITE, body=BODY)]

    async def _open(self, call: HttpCall) -> web.StreamResponse:
        return web.Response(text=call.params["name"])


async def test_a_route_is_imported_with_its_first_request() -> None:
    doors, table = Doors(), RouteTable()
    table.add_groups({"doors": doors.load}, {"doors": [row_of(each) for each in Doors().load()]})

    match = table.match("POST", "/door/front")

    assert match is not None
    assert (match.route.scope, match.route.body, doors.imports) == (WRITE, None, 0)
    whole = [await table.load(match) for _ in range(2)]
    assert [(each.route.body, each.params) for each in whole] == [(BODY, {"name": "front"})] * 2
    assert doors.imports == 1


async def test_the_handler_of_a_route_that_was_not_imported_imports_it() -> None:
    doors, table = Doors(), RouteTable()
    table.add_groups({"doors": doors.load}, {"doors": [row_of(each) for each in Doors().load()]})
    (route,) = table

    answer = await route.handler(HttpCall(make_mocked_request("POST", "/"), WRITER, {"name": "back"}, {}, "127.0.0.1"))

    assert isinstance(answer, web.Response)
    assert answer.text == "back"


async def test_routes_of_a_group_that_the_table_does_not_have_are_added_at_once() -> None:
    doors, table = Doors(), RouteTable()

    table.add_groups({"doors": doors.load}, {})

    assert [route.body for route in table] == [BODY]
