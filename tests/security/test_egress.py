"""The client for URLs from outside, against real servers on loopback."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from hub.core.errors import InvalidRequest, TimedOut
from hub.security.egress import (
    ConfiguredTarget,
    Egress,
    EgressFailed,
    EgressRefused,
    EgressRequest,
    may_be_private,
    redirect_request,
)
from hub.security.egress_dial import Dial, look_up
from tests.security.web_servers import WebServer, self_signed, started


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    found, runner = await started()
    yield found
    await runner.cleanup()


@pytest.fixture
async def other() -> AsyncIterator[WebServer]:
    found, runner = await started()
    yield found
    await runner.cleanup()


@pytest.fixture
async def allowed(server: WebServer) -> AsyncIterator[Egress]:
    """A client whose owner named the server, by its address."""
    egress = Egress(lambda: {server.target})
    yield egress
    await egress.close()


@pytest.fixture
async def strict() -> AsyncIterator[Egress]:
    """A client whose owner named nothing."""
    egress = Egress(frozenset)
    yield egress
    await egress.close()


async def test_a_page_of_a_named_target_is_fetched(server: WebServer, allowed: Egress) -> None:
    server.page("/a", "grüße", Content_Type="text/plain; charset=utf-8", X_Kind="b")

    answer = await allowed.fetch(server.url("/a?q=1#part"), headers={"X-Mine": "1"})

    assert (answer.status, answer.text, answer.headers["x-kind"]) == (200, "grüße", "b")
    assert answer.url == server.url("/a?q=1")
    assert server.asked[0].headers["X-Mine"] == "1"
    assert server.asked[0].headers["User-Agent"] == "Homarus"


async def test_an_error_status_is_an_answer(server: WebServer, allowed: Egress) -> None:
    assert (await allowed.fetch(server.url("/none"))).status == 404


async def test_a_body_and_a_method_are_sent(server: WebServer, allowed: Egress) -> None:
    await allowed.fetch(server.url("/in"), method="post", body=b"data", headers={"Content-Type": "text/plain"})

    assert (server.asked[0].method, server.asked[0].body) == ("POST", b"data")


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "127.1", "0x7f000001", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "127.0.0.1."),
        *("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "0.0.0.0", "0"),
        *("１２７.0.0.1", "127。0。0。1", "ⓛocalhost", "LOCALHOST", "169.254.169.254", "[fe80::1]"),
    ],
)
async def test_no_way_of_writing_it_reaches_this_machine(server: WebServer, strict: Egress, host: str) -> None:
    with pytest.raises(EgressRefused) as caught:
        await strict.fetch(server.url("/", host))

    assert "was not called" in caught.value.message
    assert server.asked == []


async def test_a_refusal_says_how_the_owner_can_allow_it(server: WebServer, strict: Egress) -> None:
    with pytest.raises(EgressRefused, match=rf"allow_private: \['localhost:{server.port}'\]") as caught:
        await strict.fetch(server.url("/", "localhost"))

    assert caught.value.code == "FORBIDDEN"
    assert caught.value.details["host"] == "localhost"


async def test_a_target_is_allowed_by_the_name_that_was_given_and_no_other(server: WebServer) -> None:
    egress = Egress(lambda: {f"localhost:{server.port}"})
    server.page("/", "hello")

    async def only_four(host: str, port: int) -> list[str]:
        return [each for each in await look_up(host, port) if ":" not in each]

    by_name = Egress(lambda: {f"localhost:{server.port}"}, only_four)

    assert (await by_name.fetch(server.url("/", "localhost"))).text == "hello"
    with pytest.raises(EgressRefused):
        await egress.fetch(server.url("/"))


async def test_a_named_port_is_that_port_alone(server: WebServer, other: WebServer, allowed: Egress) -> None:
    with pytest.raises(EgressRefused):
        await allowed.fetch(other.url("/"))

    assert other.asked == []


async def test_what_the_owner_takes_back_is_refused_at_once(server: WebServer) -> None:
    named = {server.target}
    egress = Egress(lambda: named)
    server.page("/", "hello")
    await egress.fetch(server.url("/"))

    named.clear()

    with pytest.raises(EgressRefused):
        await egress.fetch(server.url("/"))


async def test_no_name_in_the_list_opens_what_is_never_called() -> None:
    egress = Egress(lambda: {"169.254.169.254:80", "[::ffff:127.0.0.1]:80", "[::ffff:7f00:1]:80"})

    with pytest.raises(EgressRefused):
        await egress.fetch("http://169.254.169.254/latest/meta-data/")
    with pytest.raises(EgressRefused):
        await egress.fetch("http://[::ffff:127.0.0.1]/")


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["93.184.216.34", "fd00::1"]])
async def test_a_name_with_any_private_address_is_refused(addresses: list[str]) -> None:
    async def answer(host: str, port: int) -> list[str]:
        return addresses

    with pytest.raises(EgressRefused, match=r"rebind\.example was not called: its address"):
        await Egress(frozenset, answer).fetch("http://rebind.example/")


async def test_the_socket_judges_what_it_is_connected_to() -> None:
    dial = Dial("public.example", 80, look_up, private=False)
    sock = dial.make_socket((2, 1, 6, "", ("93.184.216.34", 80)))

    with sock, pytest.raises(PermissionError):
        sock.connect(("127.0.0.1", 80))
    assert dial.refused is not None


async def test_a_name_without_an_address_fails(strict: Egress) -> None:
    with pytest.raises(EgressFailed, match=r"nowhere\.invalid could not be fetched"):
        await strict.fetch("http://nowhere.invalid/")


async def test_the_proxies_of_the_environment_are_not_used(
    server: WebServer, other: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", other.url("/"))
    monkeypatch.setenv("HTTP_PROXY", other.url("/"))
    server.page("/", "direct")

    answer = await Egress(lambda: {server.target}).fetch(server.url("/"))

    assert answer.text == "direct"
    assert other.asked == []


async def test_a_certificate_that_nobody_vouches_for_is_not_taken(tmp_path: Path) -> None:
    server, runner = await started(self_signed(tmp_path))
    egress = Egress(lambda: {server.target, f"localhost:{server.port}"})

    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(EgressFailed, match="certificate"):
            await egress.fetch(f"https://{host}:{server.port}/")

    await runner.cleanup()
    assert server.asked == []


# --- redirects ---


async def test_a_redirect_is_followed_and_told(server: WebServer, allowed: Egress) -> None:
    server.redirect("/old", "/new?x=1")
    server.page("/new", "moved")

    answer = await allowed.fetch(server.url("/old"))

    assert (answer.text, answer.url) == ("moved", server.url("/new?x=1"))


async def test_each_redirect_is_judged(server: WebServer, other: WebServer, allowed: Egress) -> None:
    server.redirect("/out", other.url("/secret"))
    server.redirect("/metadata", "http://169.254.169.254/")
    server.redirect("/mapped", f"http://[::ffff:127.0.0.1]:{other.port}/")

    for path in ("/out", "/metadata", "/mapped"):
        with pytest.raises(EgressRefused):
            await allowed.fetch(server.url(path))

    assert other.asked == []


async def test_no_redirect_leads_from_one_named_private_target_to_another(server: WebServer, other: WebServer) -> None:
    server.redirect("/out", other.url("/secret"))
    server.redirect("/moved", server.url("/here"))
    server.page("/here", "moved within the same server")
    egress = Egress(lambda: {server.target, other.target})

    with pytest.raises(EgressRefused):
        await egress.fetch(server.url("/out"))

    assert other.asked == []
    assert (await egress.fetch(server.url("/moved"))).text == "moved within the same server"
    assert (await egress.fetch(other.url("/secret"))).status == 404


def test_only_the_named_private_target_that_was_asked_for_may_be_private() -> None:
    named = frozenset({"nas.home:80", "127.0.0.1:8080"})
    nas, here = URL("http://nas.home/"), URL("http://127.0.0.1:8080/x")

    assert may_be_private(nas, URL("http://NAS.home:80/other"), named)
    assert not may_be_private(nas, here, named)
    assert not may_be_private(URL("https://example.org/"), nas, named)
    assert not may_be_private(here, URL("http://127.0.0.1:8081/"), named)


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/", "mailto:a@b"])
async def test_a_redirect_to_something_else_than_the_web_fails(
    server: WebServer, allowed: Egress, location: str
) -> None:
    server.redirect("/odd", location)

    with pytest.raises(EgressFailed, match="redirects to what is not fetched"):
        await allowed.fetch(server.url("/odd"))


async def test_five_redirects_are_followed_and_no_sixth(server: WebServer, allowed: Egress) -> None:
    for step in range(6):
        server.redirect(f"/{step}", f"/{step + 1}")
    server.page("/6", "far")

    assert (await allowed.fetch(server.url("/1"))).text == "far"
    with pytest.raises(EgressFailed, match="more than 5 redirects"):
        await allowed.fetch(server.url("/0"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location", ["https://b.example/", "http://a.example/", "https://a.example:444/", "//b.example"]
)
def test_another_origin_gets_neither_headers_nor_body(status: int, location: str) -> None:
    request = EgressRequest(URL("https://a.example/"), "POST", {"Authorization": "Bearer x"}, b"secret")

    after = redirect_request(request, status, location)

    assert (after.method, after.headers, after.body) == ("GET", {}, None)


async def test_the_same_origin_gets_the_body_again_only_where_http_says_so(server: WebServer, allowed: Egress) -> None:
    server.redirect("/keep", "/there", 307)
    server.redirect("/see", "/there", 303)
    server.page("/there", "taken")

    await allowed.fetch(server.url("/keep"), method="POST", body=b"data", headers={"X-Key": "1"})
    await allowed.fetch(server.url("/see"), method="POST", body=b"data", headers={"X-Key": "1"})

    kept, seen = [asked for asked in server.asked if asked.path == "/there"]
    assert (kept.method, kept.body, kept.headers["X-Key"]) == ("POST", b"data", "1")
    assert (seen.method, seen.body, seen.headers["X-Key"]) == ("GET", b"", "1")


async def test_no_cookie_is_carried_on(server: WebServer, allowed: Egress) -> None:
    server.page("/set", "x", Set_Cookie="a=b; Path=/")

    await allowed.fetch(server.url("/set"))
    await allowed.fetch(server.url("/set"))

    assert "Cookie" not in server.asked[1].headers


# --- bounds ---


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data, wbits=-15)),
        ("gzip", lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:]) + b"\0\0"),
    ],
)
async def test_a_compressed_body_is_unpacked(server: WebServer, allowed: Egress, encoding: str, pack: object) -> None:
    text = b"word " * 50_000
    server.page("/", pack(text), Content_Encoding=encoding)  # type: ignore[operator]

    assert (await allowed.fetch(server.url("/"))).body == text


async def test_a_bomb_is_not_unpacked(server: WebServer, allowed: Egress) -> None:
    server.page("/", gzip.compress(bytes(50_000_000)), Content_Encoding="gzip")

    with pytest.raises(EgressFailed, match="more than 2000000 bytes"):
        await allowed.fetch(server.url("/"))


async def test_a_body_has_exactly_its_limit_and_no_byte_more(server: WebServer, allowed: Egress) -> None:
    server.page("/", b"x" * 1000)
    server.page("/packed", gzip.compress(b"x" * 1000), Content_Encoding="gzip")

    for path in ("/", "/packed"):
        assert len((await allowed.fetch(server.url(path), limit_bytes=1000)).body) == 1000
        with pytest.raises(EgressFailed, match="more than 999 bytes"):
            await allowed.fetch(server.url(path), limit_bytes=999)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", b"x"),
        ("gzip, gzip", b"x"),
        ("gzip", b"no gzip"),
        ("gzip", gzip.compress(b"long text" * 99, mtime=0)[:-9]),
    ],
    ids=["another way", "twice", "not at all", "cut off"],
)
async def test_a_body_that_cannot_be_unpacked_fails(
    server: WebServer, allowed: Egress, encoding: str, body: bytes
) -> None:
    server.page("/", body, Content_Encoding=encoding)

    with pytest.raises(EgressFailed, match="its answer"):
        await allowed.fetch(server.url("/"))


async def test_an_answer_that_never_ends_is_given_up(server: WebServer, allowed: Egress) -> None:
    with pytest.raises(TimedOut, match=r"within 0\.3 s"):
        await allowed.fetch(server.url("/hang"), timeout_s=0.3)


async def test_closing_ends_what_is_under_way(server: WebServer, allowed: Egress) -> None:
    waiting = asyncio.create_task(allowed.fetch(server.url("/hang")))
    await server.hanging.wait()

    await allowed.close()

    with pytest.raises(EgressFailed, match="stopping"):
        await waiting
    with pytest.raises(EgressFailed, match="stopping"):
        await allowed.fetch(server.url("/"))


async def test_a_cancelled_fetch_is_cancelled(server: WebServer, allowed: Egress) -> None:
    waiting = asyncio.create_task(allowed.fetch(server.url("/hang")))
    await server.hanging.wait()

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting


# --- what is asked ---


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.com", "ftp://example.com", "file:///etc/passwd", "http://", "http:///x", "javascript:1"),
        *("http://user@example.com/", "http://a:b@example.com/", "http://example.com:0/", "http://example.com:99999/"),
        *("http://exa mple.com/", "http://example.com\\@127.0.0.1/", "http://example.com/\r\nX: y", "http://[::1"),
        "http://example.com/" + "a" * 9000,
    ],
)
async def test_what_is_no_url_of_the_web_is_refused(strict: Egress, url: str) -> None:
    with pytest.raises(InvalidRequest):
        await strict.fetch(url)


@pytest.mark.parametrize(
    "headers",
    [{"Host": "a"}, {"content-length": "5"}, {"Transfer-Encoding": "chunked"}, {"X": "a\r\nY: b"}, {"X\n": "a"}],
)
async def test_headers_that_are_not_the_callers_are_refused(
    server: WebServer, allowed: Egress, headers: dict[str, str]
) -> None:
    with pytest.raises(InvalidRequest):
        await allowed.fetch(server.url("/"), headers=headers)

    assert server.asked == []


async def test_a_method_is_one_of_those_that_are_known(allowed: Egress) -> None:
    with pytest.raises(InvalidRequest, match="method: expected one of"):
        await allowed.fetch("http://example.com/", method="CONNECT")


async def test_only_a_certificate_at_home_is_left_unverified() -> None:
    async def public(host: str, port: int) -> list[str]:
        return ["93.184.216.34"]

    egress = Egress(frozenset, public)
    for url in ("https://far.example/", "https://93.184.216.34/"):
        with pytest.raises(EgressRefused, match="left unverified"):
            await egress.fetch(url, target=ConfiguredTarget(named=url, verify_tls=False))


async def test_a_redirect_elsewhere_is_neither_at_home_nor_told_who_asks(server: WebServer, other: WebServer) -> None:
    server.page("/", "", status=302, Location=other.url("/in"))
    other.page("/in", "private")

    async def sign(request: Any, handler: Any) -> Any:
        request.headers["X-Proof"] = "me"
        return await handler(request)

    egress = Egress(frozenset)
    with pytest.raises(EgressRefused):
        await egress.fetch(server.url("/"), target=ConfiguredTarget(named=server.url("/"), middlewares=(sign,)))
    named = Egress(lambda: {server.target})
    server.page("/", "hi")
    answer = await named.fetch(server.url("/"), target=ConfiguredTarget(middlewares=(sign,)))

    assert (answer.text, other.asked) == ("hi", [])
    assert [each.headers["X-Proof"] for each in server.asked] == ["me", "me"]
