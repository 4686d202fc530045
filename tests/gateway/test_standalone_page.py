"""A page outside the dashboard: in the browser's language, its values escaped, and no file but its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request

from hub.core.errors import NotFound
from hub.core.surfaces import HttpCall
from hub.gateway.standalone_page import StandalonePage


@pytest.fixture
def page(tmp_path: Path) -> StandalonePage:
    (tmp_path / "page.html").write_text("<p lang=$language>$hello $name</p>", encoding="utf-8")
    (tmp_path / "texts.json").write_text('{"en": {"hello": "Hello"}, "zh-CN": {"hello": "你好"}}', encoding="utf-8")
    (tmp_path / "page.js").write_text("1", encoding="utf-8")
    return StandalonePage(tmp_path, "page.html", {"page.js": "text/javascript"})


def call(language: str = "", file: str = "") -> HttpCall:
    return HttpCall(make_mocked_request("GET", "/", {"Accept-Language": language}), None, {"file": file})


def test_it_speaks_the_browsers_language_and_escapes_values(page: StandalonePage) -> None:
    shown = page.show(call("zh-CN"), "en", {"X-Test": "1"}, {"default-src": "'none'"}, name="<b>")

    assert shown.text == "<p lang=zh-CN>你好 &lt;b&gt;</p>"
    assert shown.headers["Content-Security-Policy"] == "default-src 'none'"
    assert shown.headers["X-Test"] == "1"


def test_a_language_that_it_does_not_have_is_the_homes(page: StandalonePage) -> None:
    assert page.show(call("fr"), "en", {}, {}, name="Ida").text == "<p lang=en>Hello Ida</p>"


def test_it_serves_the_named_files_and_no_other(page: StandalonePage) -> None:
    served = page.serve(call(file="page.js"), {"X-Test": "1"})

    assert (served.text, served.content_type, served.headers["X-Test"]) == ("1", "text/javascript", "1")
    with pytest.raises(NotFound):
        page.serve(call(file="texts.json"))
