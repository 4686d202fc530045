"""The service web.fetch, with real pages on loopback and real files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.automation.services.remembered_pages import PAGES_LIMIT, RememberedPage, RememberedPages
from hub.automation.services.web import register_web
from hub.automation.services.web_text import html_to_text, read_page
from hub.core.context import system_context
from hub.core.errors import Forbidden, InvalidRequest
from hub.core.events import EventBus
from hub.core.services import AgentRule, ServiceRegistry
from hub.core.tasks import TaskOwner
from hub.security.egress import Egress
from tests.security.web_servers import WebServer, started

OWNER = system_context()
HTML = "text/html; charset=utf-8"


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    found, runner = await started()
    yield found
    await runner.cleanup()


@pytest.fixture
async def services(server: WebServer, tmp_path: Path) -> AsyncIterator[ServiceRegistry]:
    registry = ServiceRegistry(EventBus(TaskOwner("test")))
    egress = Egress(lambda: {server.target})
    register_web(registry, egress, RememberedPages(tmp_path / "pages"))
    yield registry
    await egress.close()


async def fetch(services: ServiceRegistry, url: str, **data: Any) -> dict[str, Any]:
    answer = await services.call("web", "fetch", {"url": url, **data}, context=OWNER, wants_response=True)
    assert answer is not None
    return dict(answer)


async def test_a_page_comes_as_its_words(server: WebServer, services: ServiceRegistry) -> None:
    server.page("/", "<title>News &amp; more</title><h1>Today</h1><p>Rain.<script>x()</script>", Content_Type=HTML)

    answer = await fetch(services, server.url("/"))

    assert (answer["status"], answer["title"], answer["text"]) == (200, "News & more", "Today\n\nRain.")
    assert answer["truncated"] is False
    assert "changed" not in answer


async def test_a_change_is_told_with_its_lines(server: WebServer, services: ServiceRegistry) -> None:
    server.page("/", "<ul><li>apple 1<li>pear 2</ul>", Content_Type=HTML)
    first = await fetch(services, server.url("/"), remember="fruit")
    same = await fetch(services, server.url("/"), remember="fruit")
    server.page("/", "<ul class=new><li>apple 1<li>pear 3</ul>", Content_Type=HTML)

    changed = await fetch(services, server.url("/"), remember="fruit")

    assert (first["changed"], first["first"]) == (False, True)
    assert (same["changed"], same["first"]) == (False, False)
    assert (changed["changed"], changed["diff"]) == (True, " - apple 1\n-- pear 2\n+- pear 3")
    assert (await fetch(services, server.url("/"), remember="fruit"))["changed"] is False


async def test_new_markup_around_the_same_words_is_no_change(server: WebServer, services: ServiceRegistry) -> None:
    server.page("/", "<p id=1>same</p>", Content_Type=HTML)
    await fetch(services, server.url("/"), remember="page")
    server.page("/", "<div id=2><!-- 17 -->same<style>a{}</style></div>", Content_Type=HTML)

    assert (await fetch(services, server.url("/"), remember="page"))["changed"] is False


async def test_an_error_page_is_not_remembered(server: WebServer, services: ServiceRegistry) -> None:
    server.page("/", "fine", Content_Type="text/plain")
    await fetch(services, server.url("/"), remember="page")
    server.page("/", "broken", status=503, Content_Type="text/plain")
    broken = await fetch(services, server.url("/"), remember="page")
    server.page("/", "fine", Content_Type="text/plain")

    assert (broken["status"], broken["changed"]) == (503, False)
    assert (await fetch(services, server.url("/"), remember="page"))["changed"] is False


async def test_what_is_no_text_is_compared_by_its_bytes(server: WebServer, services: ServiceRegistry) -> None:
    server.page("/", b"\x89PNG1", Content_Type="image/png")
    await fetch(services, server.url("/"), remember="image")
    server.page("/", b"\x89PNG2", Content_Type="image/png")

    answer = await fetch(services, server.url("/"), remember="image")

    assert (answer["text"], answer["changed"]) == ("", True)


async def test_text_is_cut_to_the_length_that_was_asked_for(server: WebServer, services: ServiceRegistry) -> None:
    server.page("/", "word " * 10_000, Content_Type="text/plain")

    answer = await fetch(services, server.url("/"), length=9)

    assert (answer["text"], answer["truncated"]) == ("word word", True)


async def test_method_headers_and_body_are_sent(server: WebServer, services: ServiceRegistry) -> None:
    await fetch(services, server.url("/in"), method="post", headers={"X-Key": "1"}, body="grüße")

    asked = server.asked[0]
    assert (asked.method, asked.headers["X-Key"], asked.body.decode()) == ("POST", "1", "grüße")


async def test_private_addresses_are_refused(server: WebServer, services: ServiceRegistry) -> None:
    with pytest.raises(Forbidden):
        await fetch(services, f"http://localhost:{server.port}/")


@pytest.mark.parametrize("data", [{"url": "file:///etc/passwd"}, {"url": "http://a.b", "method": "TRACE"}, {}])
async def test_bad_data_is_refused(services: ServiceRegistry, data: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        await services.call("web", "fetch", data, context=OWNER, wants_response=True)


def test_its_answer_comes_from_outside_and_a_model_must_ask(services: ServiceRegistry) -> None:
    service = services.get("web", "fetch")

    assert service is not None
    assert (service.open_world, service.agent) == (True, AgentRule.ASK)


def test_the_service_can_be_removed(tmp_path: Path) -> None:
    registry = ServiceRegistry(EventBus(TaskOwner("test")))
    remove = register_web(registry, Egress(frozenset), RememberedPages(tmp_path))

    remove()

    assert registry.get("web", "fetch") is None


# --- text ---


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a<br>b", "a\nb"),
        ("<p>one</p>\n\n\n<p>two</p>", "one\n\ntwo"),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2"),
        ("<b>bold</b> and <a href=x>link</a>", "bold and link"),
        ("x &lt;p&gt; y", "x <p> y"),
        ("<style>p{}</style><script>alert(1)</script>ok<!-- no -->", "ok"),
        ("<p>unclosed <b>bold <p>next", "unclosed bold\n\nnext"),
        ("  many \n  blanks\t here ", "many blanks here"),
        ("<a title='1 > 0' data-x=\"'>\">yes</a>", "yes"),
        ("<p don't>can't</p>", "can't"),
        ("<SCRIPT>if (a < b) {}</SCRIPT >1 < 2 <3", "1 < 2 <3"),
        ("<!DOCTYPE html><?xml x?>text<br/>more", "text\nmore"),
        ("before <!-- never closed", "before"),
        ("<script>never closed", ""),
        ("", ""),
    ],
)
def test_html_becomes_lines(source: str, text: str) -> None:
    assert html_to_text(source) == text


@pytest.mark.parametrize(
    "piece", ["<div>", "<", "<!--", "&amp", "<a '", "<a ='", "<p = ", "<svg>", "</", "<title>", "<a\n", " ", "|", "\n"]
)
def test_a_page_made_to_hurt_is_read_all_the_same(piece: str) -> None:
    assert isinstance(html_to_text(piece * 300_000), str)


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("Grüße".encode("latin-1"), "text/plain; charset=iso-8859-1", "Grüße"),
        (b"<meta charset=latin-1>" + "Grüße".encode("latin-1"), "text/html", "Grüße"),
        ("Grüße".encode(), "text/html; charset=none-such", "Grüße"),
        (b"\xff", "text/plain; charset=base64", "�"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"PK", "application/zip", ""),
    ],
)
def test_text_is_read_in_its_charset(body: bytes, kind: str, text: str) -> None:
    assert read_page(body, {"content-type": kind}).text == text


# --- what is remembered ---


def test_only_so_many_pages_are_remembered(tmp_path: Path) -> None:
    pages = RememberedPages(tmp_path)

    for number in range(PAGES_LIMIT + 3):
        pages.put(f"page {number}", RememberedPage("h", "t"))

    assert len(list(tmp_path.iterdir())) == PAGES_LIMIT
    assert pages.get(f"page {PAGES_LIMIT + 2}") == RememberedPage("h", "t")


def test_a_damaged_file_is_set_aside_and_nothing_is_known(tmp_path: Path) -> None:
    pages = RememberedPages(tmp_path)
    pages.put("page", RememberedPage("h", "t"))
    (file,) = tmp_path.iterdir()
    file.write_bytes(b'{"version": 1, "da')

    assert pages.get("page") is None
    assert [each.name for each in tmp_path.iterdir() if "damaged" in each.name]


def test_a_key_is_no_file_name(tmp_path: Path) -> None:
    pages = RememberedPages(tmp_path / "pages")

    pages.put("../../x\0", RememberedPage("h", "t"))

    assert pages.get("../../x\0") == RememberedPage("h", "t")
    assert [each.name for each in tmp_path.iterdir()] == ["pages"]
