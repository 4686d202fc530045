"""The web chat page: who a visitor is, and what nobody gets beyond."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import ClientSession

import integrations.channels.webchat_page
from hub.core.clock import ManualClock
from hub.core.errors import NotFound
from hub.core.schema import Invalid, describe_error
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import (
    Address,
    Channel,
    DeliveryState,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
)
from hub.messaging.conversation import PastMessage
from integrations.channels.webchat_page import channel as bounds, uploads
from integrations.channels.webchat_page.schema import CONFIG_SCHEMA
from integrations.channels.webchat_page.uploads import FILES_LIMIT, PageFile, Problem, Uploads
from integrations.channels.webchat_page.visitors import Visitors, signing_key
from tests.channels.kit import ADA, EVE, Heard
from tests.channels.webchat_page_rig import KEY, PageInBrowser, WebchatPageRig
from tests.until import until


@pytest.fixture
async def rig() -> AsyncIterator[WebchatPageRig]:
    rig = WebchatPageRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(rig: WebchatPageRig, heard: Heard, tmp_path: Path) -> AsyncIterator[Channel]:
    channel = rig.channel(tmp_path, ManualClock())
    await channel.start(heard)
    yield channel
    await channel.stop()


async def opened(rig: WebchatPageRig, token: str | None = None) -> PageInBrowser:
    """Open another browser, and wait until it is welcomed or closed."""
    browser = rig.browsers[str(len(rig.browsers))] = PageInBrowser(f"{rig.url}/webchat/default", token)
    await until(lambda: bool(browser.frames or browser.closed_because))
    return browser


def of(frames: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in frames if each["t"] == kind]


@pytest.mark.usefixtures("channel")
async def test_a_browser_stays_the_visitor_that_its_token_says(rig: WebchatPageRig, heard: Heard) -> None:
    first = await opened(rig)
    await first.say("1", "hello")
    second = await opened(rig, first.token)
    await second.say("2", "me again")
    await until(lambda: len(heard.inbound) == 2)

    assert heard.inbound[0].sender == heard.inbound[1].sender == f"webchat_page:visitor:{first.token[:16]}"  # type: ignore[index]
    assert isinstance(heard.inbound[0], InboundMessage)
    assert heard.inbound[0].sender_name == "Somebody"


@pytest.mark.usefixtures("channel")
@pytest.mark.parametrize(
    "token",
    [
        "adaadaadaadaadaa",
        "adaadaadaadaadaa.",
        "adaadaadaadaadaa." + "0" * 64,
        Visitors(b"another key", "default").token("adaadaadaadaadaa"),
        Visitors(KEY, "another").token("adaadaadaadaadaa"),
        Visitors(KEY, "default").token("eve:owner"),
        "é",
    ],
)
async def test_a_token_that_was_not_signed_for_this_page_makes_a_new_visitor(rig: WebchatPageRig, token: str) -> None:
    browser = await opened(rig, token)

    assert browser.token is not None
    assert browser.token != token
    assert not browser.token.startswith("adaada")


@pytest.mark.usefixtures("channel")
async def test_a_visitor_who_writes_too_fast_is_asked_to_send_it_again_later(rig: WebchatPageRig, heard: Heard) -> None:
    browser = await opened(rig)
    for number in range(bounds.MESSAGES_PER_MINUTE):
        await browser.say(str(number), "hello")
    await browser.put({"t": "say", "id": "over", "text": "hello"})
    await until(lambda: bool(of(browser.frames, "again")))

    again = of(browser.frames, "again")[0]
    assert (again["id"], again["error"], again["after_s"] > 0) == ("over", "LIMIT_EXCEEDED", True)
    assert len(heard.inbound) == bounds.MESSAGES_PER_MINUTE


@pytest.mark.usefixtures("channel")
async def test_a_visitor_has_a_few_pages_open(rig: WebchatPageRig) -> None:
    first = await opened(rig)
    for _ in range(bounds.PAGES_PER_VISITOR - 1):
        await opened(rig, first.token)

    one_more = await opened(rig, first.token)

    await until(lambda: bool(one_more.closed_because))
    assert one_more.closed_because[0] == 1008


@pytest.mark.usefixtures("channel")
async def test_an_address_makes_a_few_visitors_an_hour(rig: WebchatPageRig) -> None:
    for _ in range(bounds.NEW_VISITORS_PER_HOUR):
        browser = await opened(rig)
        await browser.close()

    one_more = await opened(rig)

    await until(lambda: bool(one_more.closed_because))
    assert one_more.closed_because[0] == 1008


@pytest.mark.usefixtures("channel")
@pytest.mark.parametrize(
    "frame",
    [
        {"t": "say", "id": "1", "text": ""},
        {"t": "say", "id": "1", "text": "", "files": [{"name": "a", "size": -1}]},
        {"t": "say", "id": "1", "text": "", "files": [{"name": "a", "size": orjson.Fragment("9" * 30)}]},
        {"t": "say", "id": "1", "text": "", "files": [{"name": "a", "size": 1}] * (FILES_LIMIT + 1)},
        {"t": "say", "id": "1", "text": "hello", "deep": orjson.Fragment("[" * 30_000 + "]" * 30_000)},
        {"t": "say", "id": "1", "text": "x" * (bounds.TEXT_LIMIT + 1)},
        {"t": "say", "id": "a b", "text": "hello"},
        {"t": "say", "text": "hello"},
        {"t": "press", "id": "1", "message": "m", "value": 7},
        {"t": "approve", "id": "1"},
        [],
    ],
)
async def test_what_is_no_frame_ends_the_connection(rig: WebchatPageRig, heard: Heard, frame: Any) -> None:
    browser = await opened(rig)
    await browser.put(frame)
    await until(lambda: bool(browser.closed_because))

    assert browser.closed_because[0] == 1008
    assert heard.inbound == []


async def test_what_is_in_no_history_is_shown_again_to_a_page_that_comes_back(
    rig: WebchatPageRig, channel: Channel
) -> None:
    await channel.send(OutboundMessage("code", rig.address(ADA), "Your code is **K7**"))

    await until(lambda: "code" in rig.browser(ADA).ours)

    assert rig.shows(ADA) == ["Your code is K7"]


async def test_a_message_to_nobody_is_not_sent(channel: Channel) -> None:
    delivery = await channel.send(OutboundMessage("1", Address("webchat_page", "Ada"), "hello"))

    assert delivery.state is DeliveryState.PERMANENT


async def test_html_in_an_answer_is_text(rig: WebchatPageRig, channel: Channel) -> None:
    await channel.send(OutboundMessage("1", rig.address(ADA), "<img src=x onerror=alert(1)> [x](javascript:alert(1))"))
    await until(lambda: bool(rig.browser(ADA).ours))

    (shown,) = rig.browser(ADA).ours.values()
    assert "<img" not in shown["html"]
    assert "href" not in shown["html"]


async def test_the_key_stays(tmp_path: Path) -> None:
    key = await signing_key(JsonStorage(tmp_path / "key.json"))

    assert len(key) == 32
    assert await signing_key(JsonStorage(tmp_path / "key.json")) == key


@pytest.mark.parametrize(
    ("account", "field"),
    [
        ({"account": "The hall"}, "account"),
        ({"frame_ancestors": "*"}, "frame_ancestors"),
        ({"frame_ancestors": ["http://panel/page"]}, "frame_ancestors"),
        ({"frame_ancestors": ["https://a; script-src *"]}, "frame_ancestors"),
        ({"title": ""}, "title"),
        ({"streaming": "fast"}, "streaming"),
    ],
)
def test_a_page_that_cannot_be_is_an_error_of_the_configuration(account: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        CONFIG_SCHEMA([account])

    assert field in describe_error(refused.value)


def test_a_page_needs_nothing_to_be_said_and_shows_answers_as_they_are_written() -> None:
    (account,) = CONFIG_SCHEMA([{}])

    assert (account["account"], account["dm_policy"], account["streaming"]) == ("default", "pairing", "partial")


def test_every_text_is_there_in_each_language() -> None:
    texts = json.loads((Path(integrations.channels.webchat_page.__path__[0]) / "texts.json").read_text())

    assert texts["en"].keys() == texts["zh-CN"].keys()
    assert all(all(each.values()) for each in texts.values())


async def test_a_file_is_there_after_a_reload_and_is_never_opened_as_a_page(
    rig: WebchatPageRig, heard: Heard, tmp_path: Path
) -> None:
    path = tmp_path / "plan.html"
    path.write_bytes(b"<script>alert(1)</script>")
    file = OutboundMedia(MediaKind.FILE, str(path), "text/html", "plan.html")
    before = rig.channel(tmp_path, ManualClock())
    await before.start(heard)
    sent = await before.send(OutboundMessage("row", rig.address(), "", media=(file,)))
    await before.stop()
    rig.history = [PastMessage("row", "", ours=True)]
    again = rig.channel(tmp_path, ManualClock())
    await again.start(heard)

    (shown,) = of((await opened(rig)).frames, "welcome")[0]["history"]
    async with ClientSession(rig.url) as client, client.get(shown["file"]["url"]) as answer:
        assert await answer.read() == path.read_bytes()
        assert answer.headers["Content-Disposition"] == "attachment"
        assert answer.content_type == "application/octet-stream"
    await again.stop()

    assert sent.state is DeliveryState.DELIVERED
    assert (shown["file"]["name"], shown["file"]["picture"]) == ("plan.html", False)


async def test_a_file_that_is_gone_is_no_message(rig: WebchatPageRig, channel: Channel, tmp_path: Path) -> None:
    gone = OutboundMedia(MediaKind.IMAGE, str(tmp_path / "gone.png"), "image/png")

    delivery = await channel.send(OutboundMessage("row", rig.address(), "", media=(gone,)))

    assert delivery.state is DeliveryState.PERMANENT


ADAS = "adaadaadaadaadaa"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(150_000)


async def offered(rig: WebchatPageRig, heard: Heard, name: str, type: str, content: bytes, **more: Any) -> Media:
    """Let Ada send a file; return it as the hub was told of it."""
    await rig.browser(ADA).say("1", "", ({"name": name, "type": type, **more}, content))
    await until(lambda: bool(heard.inbound))
    (message,) = heard.inbound
    assert isinstance(message, InboundMessage)
    (media,) = message.media
    return media


async def shown(rig: WebchatPageRig) -> dict[str, Any]:
    """Return the file that Ada's page shows below what she wrote."""
    await until(lambda: bool(of(rig.browser(ADA).frames, "message")))
    file: dict[str, Any] = of(rig.browser(ADA).frames, "message")[-1]["files"][0]
    return file


@pytest.mark.parametrize(
    ("type", "content", "kind", "mime_type"),
    [
        ("image/png", PNG, MediaKind.IMAGE, "image/png"),
        ("image/png", b"<script>alert(1)</script>", MediaKind.FILE, None),
        ("audio/webm", b"\x1aE\xdf\xa3 sound", MediaKind.AUDIO, "audio/webm"),
        ("audio/ogg", PNG, MediaKind.FILE, None),
        ("video/mp4", b"\0\0\0\x20ftypisom", MediaKind.VIDEO, "video/mp4"),
        ("application/pdf", b"%PDF-1.7", MediaKind.FILE, "application/pdf"),
    ],
)
async def test_a_file_is_of_the_kind_that_it_says_only_if_it_begins_like_one(
    rig: WebchatPageRig, heard: Heard, channel: Any, type: str, content: bytes, kind: MediaKind, mime_type: str | None
) -> None:
    media = await offered(rig, heard, "it", type, content, voice=True)

    assert (media.kind, media.mime_type, media.name, media.size_bytes) == (kind, mime_type, "it", len(content))
    assert media.voice is (kind is MediaKind.AUDIO)
    assert b"".join([piece async for piece in channel.fetch(rig.address(), media)]) == content
    assert (await shown(rig))["problem"] is None


@pytest.mark.usefixtures("channel")
@pytest.mark.parametrize("problem", ["stranger", "large", "full", "unreadable"])
async def test_a_file_that_is_not_taken_says_why_and_the_message_is_taken(
    rig: WebchatPageRig, heard: Heard, channel: Any, tmp_path: Path, problem: str
) -> None:
    content = PNG
    if problem == "stranger":
        heard.strangers.append(rig.identity(ADA))
    elif problem == "large":
        rig.file_bytes, content = 1_000_000, bytes(1_000_001)
    elif problem == "full":
        folder = tmp_path / "uploads" / "default"
        folder.mkdir(parents=True)
        with (folder / f"{rig.address().peer}-earlier-0").open("wb") as earlier:
            earlier.truncate(uploads.VISITOR_BYTES - 1)
    else:
        rig.browser(ADA).held["1"] = [b""]
        content = b""

    media = await offered(rig, heard, "plan.png", "image/png", content)

    told = await shown(rig)
    assert (told["problem"], told["limit_mb"]) == (problem, 1 if problem == "large" else 0)
    with pytest.raises(NotFound):
        [piece async for piece in channel.fetch(rig.address(), media)]
    assert rig.fetches() == 0


async def test_a_file_whose_page_was_cut_off_is_asked_for_again_and_comes_before_what_was_said_later(
    rig: WebchatPageRig, heard: Heard, channel: Any, tmp_path: Path
) -> None:
    browser = rig.browser(ADA)
    browser.cuts_off = 1
    await browser.say("1", "look", ({"name": "plan.png", "type": "image/png"}, PNG))
    await browser.say("2", "and this")
    await until(lambda: len(heard.inbound) == 2)

    first, second = heard.inbound
    assert isinstance(first, InboundMessage)
    assert isinstance(second, InboundMessage)
    assert (first.text, second.text) == ("look", "and this")
    assert b"".join([piece async for piece in channel.fetch(rig.address(), first.media[0])]) == PNG


async def test_a_file_that_has_come_is_not_asked_for_again_and_goes_after_a_day(
    rig: WebchatPageRig, heard: Heard, channel: Any, tmp_path: Path
) -> None:
    media = await offered(rig, heard, "plan.png", "image/png", PNG)
    asked = rig.fetches()
    await rig.browser(ADA).say("1", "", ({"name": "plan.png", "type": "image/png"}, PNG))
    await until(lambda: len(heard.inbound) == 2)
    assert rig.fetches() == asked == 3

    clock = ManualClock(time.time())
    kept = uploads.Uploads(tmp_path / "uploads" / "default", clock, lambda: rig.file_bytes)
    task = asyncio.create_task(kept.prune_hourly())
    await until(lambda: clock.sleepers == 1)
    assert [piece async for piece in kept.fetch(media.reference)] == [PNG]
    clock.jump(uploads.KEPT_S)
    await clock.advance(3_600)
    await until(lambda: not list((tmp_path / "uploads" / "default").iterdir()))
    task.cancel()
    await asyncio.wait({task})


async def test_files_of_a_visitor_are_shown_after_a_restart(rig: WebchatPageRig, heard: Heard, tmp_path: Path) -> None:
    before = rig.channel(tmp_path, ManualClock())
    await before.start(heard)
    await offered(rig, heard, "plan.png", "image/png", PNG)
    await before.stop()
    rig.history = [PastMessage("1", "", ours=False)]
    again = rig.channel(tmp_path, ManualClock())
    await again.start(heard)

    (said,) = of((await opened(rig, Visitors(KEY, "default").token(ADAS))).frames, "welcome")[0]["history"]
    await again.stop()

    assert [(each["name"], each["size"]) for each in said["files"]] == [("plan.png", len(PNG))]


@pytest.mark.usefixtures("channel")
async def test_a_visitor_who_takes_the_id_of_anothers_message_sees_nothing_of_its_files(
    rig: WebchatPageRig, heard: Heard
) -> None:
    await offered(rig, heard, "diagnosis.pdf", "application/pdf", b"%PDF-1.7")

    await rig.browser(EVE).say("1", "hello")
    await until(lambda: bool(of(rig.browser(EVE).frames, "message")))

    assert "files" not in of(rig.browser(EVE).frames, "message")[0]


async def answered(store: Uploads, content: bytes, piece: Callable[[int, int], bytes], id: str = "1") -> Problem | None:
    """Offer a file of Ada's, and answer what the hub asks."""

    async def ask(begin: int, end: int) -> bytes:
        return piece(begin, end)

    return await store.take(ADAS, f"{ADAS}-{id}-0", PageFile("it", len(content)), ask)


@pytest.fixture
def store(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path, ManualClock(), lambda: uploads.VISITOR_BYTES)


def kept_in(folder: Path) -> list[bytes]:
    return [each.read_bytes() for each in folder.iterdir()]


async def test_a_page_that_trickles_a_file_is_asked_once(store: Uploads, tmp_path: Path) -> None:
    asked = []

    def trickle(begin: int, end: int) -> bytes:
        asked.append(begin)
        return b"x"

    assert await answered(store, PNG, trickle) is Problem.UNREADABLE
    assert asked == [0]
    assert kept_in(tmp_path) == []


async def test_two_pages_that_offer_the_same_do_not_mix_it(store: Uploads, tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def slow(begin: int, end: int) -> bytes:
        if begin:
            begun.set()
            await answered(store, PNG, lambda begin, end: PNG[begin:end])
        return PNG[begin:end]

    assert await store.take(ADAS, f"{ADAS}-1-0", PageFile("it", len(PNG)), slow) is None
    assert begun.is_set()
    assert kept_in(tmp_path) == [PNG]


async def test_files_that_are_on_their_way_count(store: Uploads) -> None:
    large = PageFile("it", uploads.VISITOR_BYTES)
    problems: list[Problem | None] = []

    async def ask(begin: int, end: int) -> bytes:
        problems.append(await answered(store, PNG, lambda begin, end: PNG[begin:end], "2"))
        return b""

    await store.take(ADAS, f"{ADAS}-1-0", large, ask)

    assert problems == [Problem.FULL]


async def test_many_small_files_fill_the_room_of_a_visitor(store: Uploads, tmp_path: Path) -> None:
    for number in range(uploads.VISITOR_BYTES // uploads.PIECE_BYTES):
        (tmp_path / f"{ADAS}-{number}-0").touch()

    assert await answered(store, b"x", lambda begin, end: b"x", "new") is Problem.FULL
