"""What a page takes before it can be shown, and where that is loaded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from zoneinfo import ZoneInfo

import aiohttp_jinja2
import pytest
from aiohttp import ClientSession, web

from hub.gateway.access.guard import Guard, GuardedServer
from hub.gateway.calls.routes import RouteTable
from hub.gateway.calls.settings import GatewayLimits
from hub.gateway.pages import PageTable
from web.core.assets import Assets
from web.core.render import Renderer
from web.core.template_loader import PageTemplates

FILES = {
    "base/page.html": "<main>{% block main %}{% endblock %}</main>",
    "pages/chat.html": '{% extends "base/page.html" %}{% block main %}{% include "fragments/log.html" %}{% endblock %}',
    "fragments/log.html": '{% from "fragments/row.html" import row %}{{ row("a") }}',
    "fragments/row.html": "{% macro row(text) %}<p>{{ text }}</p>{% endmacro %}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_template_is_loaded_with_all_that_it_extends_includes_and_imports(folder: Path) -> None:
    templates = PageTemplates(web.Application(), str, folder=folder)

    templates.load("pages/chat.html")
    for name in FILES:
        (folder / name).unlink()

    assert templates.get("pages/chat.html").render() == "<main><p>a</p></main>"


def test_a_template_that_names_itself_is_loaded_once(folder: Path) -> None:
    (folder / "fragments" / "row.html").write_text('{% if 1 > 2 %}{% include "fragments/row.html" %}{% endif %}end')
    templates = PageTemplates(web.Application(), str, folder=folder)

    templates.load("fragments/row.html")

    assert templates.get("fragments/row.html").render() == "end"


def test_a_template_that_was_not_loaded_can_be_had_all_the_same(folder: Path) -> None:
    templates = PageTemplates(web.Application(), str, folder=folder)

    assert templates.get("fragments/log.html").render() == "<p>a</p>"


async def test_a_page_is_rendered_by_aiohttp_jinja2_with_what_context_processors_add(folder: Path) -> None:
    (folder / "hello.html").write_text("<p>{{ greeting }}, {{ name }}</p>")
    app = web.Application()

    async def greeting(request: web.Request) -> dict[str, str]:
        return {"greeting": request.query["greeting"]}

    async def show(request: web.Request) -> web.Response:
        assert "hello.html" in aiohttp_jinja2.get_env(request.app).list_templates()
        return await templates.respond("hello.html", request, {"name": "<Anna>"}, 201)

    templates = PageTemplates(app, str, (greeting,), folder)
    templates.load("hello.html")
    guard = Guard(GatewayLimits())
    server = await asyncio.get_running_loop().create_server(GuardedServer(show, guard, app), "127.0.0.1", 0)

    async with server, ClientSession() as client:
        answer = await client.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/?greeting=Hello")
        text = await answer.text()

    guard.close()
    assert (answer.status, text) == (201, "<p>Hello, &lt;Anna&gt;</p>")


async def test_the_loop_goes_on_while_what_a_page_takes_is_loaded() -> None:
    renderer = Renderer(
        web.Application(),
        Assets(),
        PageTable(RouteTable()),
        home_name=lambda: "Home",
        hub_language=lambda: "en",
        zone=lambda: ZoneInfo("UTC"),
        wall_time=lambda: 0.0,
    )
    loading = asyncio.ensure_future(renderer.prepare("zh-CN", "pages/automation_edit.html"))

    await asyncio.sleep(0)

    assert not loading.done()
    await loading
