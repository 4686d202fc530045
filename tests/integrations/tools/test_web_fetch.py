"""The tool `web_fetch`, against real servers on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from hub.core.errors import HubError
from hub.core.secret import Secret
from hub.models.contract import Message, Role, TextBlock
from hub.security.egress import Egress, EgressFailed
from hub.sessions.entry import EntryType, Provenance, TranscriptEntry
from hub.tools.agent_secrets import Holder
from hub.tools.approval import ApprovalDecision, ApprovalState, Ask
from hub.tools.contract import ToolResult
from integrations.tools import web_fetch
from integrations.tools.known_urls import names
from integrations.tools.web_fetch.page import ReadPage, read
from integrations.tools.web_fetch.tool import is_ours
from tests.integrations.tools.standing import ANNAS, MAIN, Standing
from tests.security.web_servers import WebServer, started

HTML = "text/html; charset=utf-8"
PARAGRAPH = "<p>Sow the peas in two rows behind the shed, as soon as the soil is warm, and water them well.</p>"
PAGE = f"""<html><head><title>Peas</title></head><body><nav><a href="/x">Shop now</a></nav><article>
<h2>In May</h2>{PARAGRAPH * 6}<p>More in <a href="plans/may.html">the plan</a>.</p></article></body></html>"""


@dataclass
class Reading:
    """A hub with the tool, a server that it may call, one that it may not, and an owner who answers."""

    standing: Standing
    server: WebServer
    private: WebServer
    asked: list[Ask]
    says: bool = False

    async def fetch(self, url: str, *, tainted: bool = False, session: str = MAIN, **more: object) -> ToolResult:
        authority = self.standing.owner.narrow(tainted=tainted)
        return await self.standing.call("web_fetch", {"url": url, **more}, authority=authority, session=session)

    async def answer(self, ask: Ask) -> ApprovalDecision:
        self.asked.append(ask)
        return ApprovalDecision(self.says, ApprovalState.APPROVED if self.says else ApprovalState.DENIED)


@pytest.fixture
async def reading(standing: Standing) -> AsyncIterator[Reading]:
    (server, first), (private, second) = await started(), await started()
    standing.egress = Egress(lambda: {server.target})
    made = Reading(standing, server, private, [])
    standing.tools.ask = made.answer
    await standing.set_up(web_fetch)
    yield made
    await standing.egress.close()
    await first.cleanup()
    await second.cleanup()


async def test_an_article_comes_as_markdown_with_whole_links_in_slices_and_once(reading: Reading) -> None:
    reading.server.page("/garden/peas.html", PAGE, Content_Type=HTML)
    url = reading.server.url("/garden/peas.html")

    whole = await reading.fetch(url)
    part = await reading.fetch(url, offset=10, length=20)
    after = await reading.fetch(url, offset=10_000)

    assert f"{url} (status 200)" in whole.output
    assert "# Peas" in whole.output
    assert "## In May" in whole.output
    assert f"[the plan]({reading.server.url('/garden/plans/may.html')})" in whole.output
    assert "Shop now" not in whole.output
    assert (whole.trusted, part.trusted, part.details["cached"]) == (False, False, True)
    assert f"[characters 10-30 of {whole.details['characters']}; go on with offset=30]" in part.output
    assert "offset is 10000; the text has" in after.output
    assert len(reading.server.asked) == 1


async def test_headers_ask_each_time_and_name_secrets_that_no_model_and_no_question_shows(reading: Reading) -> None:
    holder = Holder("main", "me")
    await reading.standing.agent_secrets.keep(holder, "SHOP_TOKEN", Secret("sesame-open"))
    reading.server.page("/orders", "three", Content_Type="text/plain")
    url, headers = reading.server.url("/orders"), {"Authorization": "Bearer ${SHOP_TOKEN}", "X-Plain": "a"}

    refused = await reading.fetch(url, headers=headers)
    reading.says = True
    first = await reading.fetch(url, headers=headers)
    second = await reading.fetch(url, headers=headers, tainted=True)
    unknown = await reading.fetch(url, headers={"A": "$OTHER_TOKEN"})
    split = await reading.fetch(url, headers={"A": "b\r\nHost: c"})
    plain = await reading.fetch(url)

    assert [each.is_error for each in (refused, first, second, unknown, split, plain)] == [
        *(True, False, False),
        *(True, True, False),
    ]
    sent = [each.headers for each in reading.server.asked]
    assert [(each.get("Authorization"), each.get("X-Plain")) for each in sent] == [
        *[("Bearer sesame-open", "a")] * 2,
        (None, None),
    ]
    assert "there is no secret OTHER_TOKEN" in unknown.output
    assert len(reading.asked) == 5
    assert f"it sends headers to {url}: Authorization: Bearer ${{SHOP_TOKEN}}, X-Plain: a" in reading.asked[0].text
    assert "sesame-open" not in str(reading.asked)


async def test_a_page_is_fetched_again_when_it_is_old(reading: Reading) -> None:
    reading.server.page("/a", "one", Content_Type="text/plain")
    await reading.fetch(reading.server.url("/a"))
    reading.server.page("/a", "two", Content_Type="text/plain")

    early = await reading.fetch(reading.server.url("/a"))
    await reading.standing.clock.advance(901)
    late = await reading.fetch(reading.server.url("/a"))

    assert "one" in early.output
    assert "two" in late.output


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("application/json", json.dumps({"a": ["  b"]}).encode(), ReadPage("text", '{"a": ["  b"]}')),
        ("text/plain; charset=iso-8859-1", "  grün".encode("latin-1"), ReadPage("text", "  grün")),
        ("text/plain", b"a" * 200_001, ReadPage("text", "a" * 200_000)),
        ("image/png", b"\x89PNG\x00", ReadPage("")),
        (HTML, b"", ReadPage("text")),
        (HTML, b"<title>A</title><p>b &amp; c</p><script>steal()</script>", ReadPage("text", "b & c", "A")),
        (HTML, b"<div>" * 30_000 + b"deep", ReadPage("text", "deep")),
    ],
)
def test_what_is_no_article_is_read_as_what_it_is(kind: str, body: bytes, shown: ReadPage) -> None:
    assert read(body, {"content-type": kind}, "http://a.example/", "markdown", 200_000) == shown


def test_an_article_without_a_title_has_none() -> None:
    body = b"<article><p>" + b"word " * 100 + b"</p></article>"

    assert read(body, {"content-type": HTML}, "http://a.example/", "markdown", 200_000).title == ""


async def test_what_cannot_be_read_says_so(reading: Reading) -> None:
    reading.server.page("/picture", b"\x89PNG", Content_Type="image/png")
    reading.server.page("/broken", b"%PDF-1.4 broken", Content_Type="application/pdf")
    reading.server.page("/none", b"", Content_Type="text/plain", status=404)

    picture, broken, none = [await reading.fetch(reading.server.url(each)) for each in ("/picture", "/broken", "/none")]

    assert "[no text: it is of a kind that cannot be read here]" in picture.output
    assert broken.is_error
    assert "the PDF cannot be read" in broken.output
    assert "(status 404)\n\n[it is empty]" in none.output


FORMS = (
    *("127.0.0.1", "127.1", "127.0.1", "0x7f000001", "0x7f.0.0.1", "0x7F.1", "2130706433", "017700000001"),
    *("0177.0.0.1", "00000177.0.0.1", "127.0.0.1.", "127.000.000.001", "localhost", "LOCALHOST", "localhost."),
    *("ⓛocalhost", "１２７.0.0.1", "127。0。0。1", "0", "0.0.0.0", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]"),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]"),
    *("[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fe80::5efe:7f00:1]"),
    *("[2001:db8::200:5efe:127.0.0.1]", "[fe80::1]", "[fe80::1%25lo]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]"),
    *("[ff02::1]", "[100::1]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.170.2"),
    *("100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255"),
    *("user@127.0.0.1", "example.org@127.0.0.1", "example.org:80@127.0.0.1", "127.0.0.1%00.example.org"),
    *("127.0.0.1%2eexample.org", "metadata.google.internal", "2852039166", "0xA9FEA9FE", "[::ffff:a9fe:a9fe]"),
)


@pytest.mark.parametrize("host", FORMS)
async def test_no_form_of_an_address_reaches_what_is_not_public(host: str) -> None:
    (private, first), (public, second) = await started(), await started()

    async def look_up(name: str, port: int) -> list[str]:
        return ["93.184.216.34", "127.0.0.1"]

    egress = Egress(lambda: {public.target}, look_up)
    url = f"http://{host}:{private.port}/secret"
    public.redirect("/go", url)

    for asked in (url, public.url("/go")):
        with pytest.raises(HubError) as refused:
            await egress.fetch(asked, timeout_s=5)
        assert any(words in refused.value.message for words in ("was not called", "URL", "not fetched"))

    await egress.close()
    await first.cleanup()
    await second.cleanup()
    assert private.asked == []


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "FILE://x/etc", "ftp://example.org/", "gopher://x.example", "jar:http://x.example!/"),
        *("//example.org/", "example.org", "http://", "http:///x", "http://x.example:0/", "http://x.example:99999/"),
        *("http://x.example\\@127.0.0.1/", "http://x.example/\r\nHost: y", "http://a b/", "javascript:alert(1)"),
    ],
)
async def test_what_is_no_url_of_the_web_is_refused_before_anybody_is_asked(reading: Reading, url: str) -> None:
    result = await reading.fetch(url, tainted=True)

    assert result.is_error
    assert result.details["code"] == "INVALID_REQUEST"
    assert reading.asked == []


async def test_a_private_server_is_refused_and_the_refusal_is_the_hubs_own_word(reading: Reading) -> None:
    reading.server.redirect("/go", reading.private.url("/obey-the-page"))

    direct = await reading.fetch(reading.private.url("/"))
    behind = await reading.fetch(reading.server.url("/go"))

    assert "was not called" in direct.output
    assert direct.is_error
    assert behind.is_error
    assert direct.trusted
    assert reading.private.asked == []


def test_an_error_that_a_server_worded_is_words_from_outside() -> None:
    url = "http://a.example/"

    assert is_ours(EgressFailed("a.example", "more than 3 redirects"), url) is False
    assert is_ours(EgressFailed("obey.example", "x"), url) is False


async def test_three_redirects_are_followed_and_a_circle_is_seen(reading: Reading) -> None:
    server = reading.server
    for step in range(4):
        server.redirect(f"/{step}", f"/{step + 1}")
    server.page("/4", "far", Content_Type="text/plain")
    server.redirect("/a", "/b")
    server.redirect("/b", "/a")

    far, too_far, circle = [await reading.fetch(server.url(path)) for path in ("/1", "/0", "/a")]

    assert "far" in far.output
    assert "more than 3 redirects" in too_far.output
    assert "its redirects form a loop" in circle.output


async def test_among_words_from_outside_a_new_url_asks_and_shows_it_whole(reading: Reading) -> None:
    server = reading.server
    server.page("/page", "leak it", Content_Type="text/plain")
    await reading.fetch(server.url("/page"))

    again = await reading.fetch(server.url("/page"), tainted=True)
    leak = await reading.fetch(server.url("/page?q=the+alarm+code+is+7731"), tainted=True)
    elsewhere = await reading.fetch(server.url("/page"), tainted=True, session=ANNAS)
    seen = [asked.path for asked in server.asked]
    reading.says = True
    approved = await reading.fetch(server.url("/page?new"), tainted=True)

    assert "leak it" in again.output
    assert "leak it" in approved.output
    assert leak.is_error
    assert elsewhere.is_error
    assert server.url("/page?q=the+alarm+code+is+7731") in reading.asked[0].text
    assert seen == ["/page"]


@pytest.mark.parametrize(
    ("who", "unasked"), [(Provenance(who="owner"), True), (Provenance(False, "peer:test:user:9"), False)]
)
async def test_what_the_person_wrote_is_fetched_and_not_what_others_wrote(
    reading: Reading, who: Provenance, unasked: bool
) -> None:
    reading.server.page("/named", "hello", Content_Type="text/plain")
    url = reading.server.url("/named")
    sessions = reading.standing.sessions
    await reading.standing.db.open()
    await sessions.open()
    session = await sessions.ensure(MAIN)
    said = Message(Role.USER, (TextBlock(f"Look at {url}, please."),))
    entry = TranscriptEntry(EntryType.MESSAGE, 0, said, id="r1-user", run_id="r1", provenance=who)
    await (await sessions.open_transcript(session)).append([entry])

    result = await reading.fetch(url, tainted=True)

    assert ("hello" in result.output) is unasked
    assert bool(reading.asked) is not unasked
    await sessions.close()
    await reading.standing.db.close()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("看看https://a.example/b。", True),
        ("(a.example/b)", True),
        ("https://a.example/b/#part", True),
        ("https://a.example/bc", False),
        ("https://a.example/", False),
        ("a.example/b?x=1", False),
    ],
)
def test_a_url_is_named_whole_or_not_at_all(text: str, named: bool) -> None:
    assert names(text, "https://a.example/b") is named
