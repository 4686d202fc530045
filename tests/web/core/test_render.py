"""What a page takes before it can be shown, and where that is loaded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from web.core.assets import Assets
from web.core.render import Renderer
from web.core.template_loader import PageTemplates

FILES = {
    "base/icons.html": "{% macro icon(name) %}<svg>{{ name }}</svg>{% endmacro %}",
    "base/page.html": "<main>{% block main %}{% endblock %}</main>",
    "pages/chat.html": '{% extends "base/page.html" %}{% block main %}{% include "fragments/log.html" %}{% endblock %}',
    "fragments/log.html": '{% from "fragments/row.html" import row %}{{ row("a") }}',
    "fragments/row.html": "{% macro row(text) %}<p>{{ icon(text) }}</p>{% endmacro %}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_template_is_loaded_with_all_that_it_extends_includes_and_imports(folder: Path) -> None:
    templates = PageTemplates(str, folder)

    templates.load("pages/chat.html")
    for name in FILES:
        (folder / name).unlink()

    assert templates.get("pages/chat.html").render() == "<main><p><svg>a</svg></p></main>"


def test_a_template_that_names_itself_is_loaded_once(folder: Path) -> None:
    (folder / "fragments" / "row.html").write_text('{% if 1 > 2 %}{% include "fragments/row.html" %}{% endif %}end')
    templates = PageTemplates(str, folder)

    templates.load("fragments/row.html")

    assert templates.get("fragments/row.html").render() == "end"


def test_a_template_that_was_not_loaded_can_be_had_all_the_same(folder: Path) -> None:
    templates = PageTemplates(str, folder)

    assert templates.get("fragments/log.html").render() == "<p><svg>a</svg></p>"


async def test_the_loop_goes_on_while_what_a_page_takes_is_loaded() -> None:
    renderer = Renderer(
        Assets(),
        home_name=lambda: "Home",
        hub_language=lambda: "en",
        zone=lambda: ZoneInfo("UTC"),
        wall_time=lambda: 0.0,
    )
    loading = asyncio.ensure_future(renderer.prepare("zh-CN", "pages/automation_edit.html"))

    await asyncio.sleep(0)

    assert not loading.done()
    await loading
