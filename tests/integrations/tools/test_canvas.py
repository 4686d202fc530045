"""The canvas: what may be shown, who is served its files, and what a press of a button says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from yarl import URL

from hub.core.errors import InvalidRequest, LimitExceeded, NotFound
from hub.gateway.calls.settings import HttpSettings
from hub.tools.contract import ToolResult
from integrations.tools.canvas.canvases import Canvases
from integrations.tools.canvas.node_pages import ADDRESSES_LIMIT, LIFE_S, NodePages
from integrations.tools.canvas.origin import CanvasOrigin
from integrations.tools.canvas.surfaces import (
    COMPONENTS_LIMIT,
    SURFACES_LIMIT,
    Surfaces,
    apply,
    press_message,
    read_messages,
)
from integrations.tools.canvas.tabs import CanvasTabs
from integrations.tools.canvas.tool import CanvasTool
from integrations.tools.canvas.widgets import KEPT, Widgets
from tests.integrations.tools.browser.shop import Canary
from tests.integrations.tools.standing import Standing
from tests.nodes.making import admit, make_nodes
from tests.web.browser import launched


class Screen:
    """A node with a screen, which notes what it is asked."""

    id = name = platform = "tablet"
    commands = frozenset({"canvas.navigate", "canvas.eval", "canvas.a2ui.push"})
    permissions: Mapping[str, bool] = {}
    host = "127.0.0.1:8443"
    about: Mapping[str, Any] = {"remoteIp": "127.0.0.1"}

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    async def invoke(self, command: str, params: Mapping[str, Any], **_: Any) -> Mapping[str, Any]:
        self.asked.append((command, params))
        return {"ok": True}


class Screens:
    """A transport with one node."""

    name = "screens"

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    async def start(self, connect: Any) -> None:
        connect(self._screen)

    async def stop(self) -> None: ...


class Place(Standing):
    """What the canvas is given."""

    async def open(self) -> None:
        self.canvases, self.tabs, self.screen = Canvases(self.agents), CanvasTabs(), Screen()
        http = HttpSettings(port=0)
        self.origin = CanvasOrigin(
            self.canvases,
            lambda agent: self.workspace,
            http,
            lambda: self.gateway.url,
            self.workspaces.outside.holds,
            port=None,
            url=None,
        )
        nodes = make_nodes(self.bus, self.clock.time, self.tasks)
        await nodes.add(Screens(self.screen))
        admit(nodes, self.screen.id)
        self.nodes = type("Nodes", (), {"registry": nodes})()
        self.dashboard_url = self.gateway.url
        (self.home.path / "configuration.yaml").write_text("hub: {}\n")
        self.config.load()
        parts: Any = SimpleNamespace(**vars(self) | {"config": self.config.current})
        node_pages = NodePages(nodes, self.clock, self.origin)
        self.origin.of_node = node_pages.agent
        (tool,) = CanvasTool(parts, self.canvases, self.tabs, self.origin, node_pages).all()
        self.tools.register(tool)
        self.tools.register(Widgets(parts, self.canvases, self.origin).tool())
        (self.workspace / "canvas").mkdir()

    async def show(self, action: str, **more: Any) -> ToolResult:
        return await self.call("canvas", {"action": action, **more})

    async def get(self, path: str, **headers: str) -> tuple[int, str, Mapping[str, str]]:
        async with aiohttp.ClientSession() as client:
            url = f"{self.origin.address('127.0.0.1')}{path}"
            async with client.get(URL(url, encoded=True), headers=headers) as answer:
                return answer.status, await answer.text(), answer.headers


@pytest.fixture
async def place(tmp_path: Any) -> AsyncIterator[Place]:
    standing = Place(tmp_path / "home")
    await standing.open()
    yield standing
    await standing.origin.stop()
    await standing.end()


async def test_files_are_served_sandboxed_to_who_knows_the_token_and_nothing_else_is(place: Place) -> None:
    (place.workspace / "canvas" / "index.html").write_text("<p>Hello")
    (place.workspace / "canvas" / "~x.js").write_text("hidden")
    (place.workspace / "canvas" / ".env").write_text("hidden")
    (place.workspace / "canvas" / "out.md").symlink_to(place.workspace / "AGENTS.md")
    await place.show("present")
    token = place.canvases.of("main").token

    status, text, headers = await place.get(f"/{token}/index.html")
    assert (status, text.startswith("<script nonce"), "</script><p>Hello\n" in text) == (200, True, True)
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in policy
    assert policy.endswith("frame-ancestors http://127.0.0.1:18789")
    for path in ("/index.html", f"/{token[:-1]}/index.html", f"/{token}x/index.html", "/", "//index.html"):
        assert (await place.get(path))[0] == 404, path
    hidden = ("../AGENTS.md", "%2e%2e/AGENTS.md", "..%2fAGENTS.md", ".env", "~x.js", "out.md", "a/../.env", "", "none")
    for path in hidden:
        status, text, _ = await place.get(f"/{token}/{path}")
        assert (status in (400, 403, 404), "hidden" in text or text.startswith("#")) == (True, False), path
    assert (await place.get(f"/{token}/index.html", **{"Sec-Fetch-Dest": "document"}))[0] == 403


async def test_the_prelude_comes_first_and_documents_without_one_have_no_scripts(place: Place) -> None:
    canvas = place.workspace / "canvas"
    (canvas / "index.html").write_text("\ufeff\n<!DOCTYPE html><!--><script>first()</script>-->")
    (canvas / "wide.html").write_text("<script>first()</script>", encoding="utf-16")
    (canvas / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>first()</script></svg>")
    (canvas / "a.atom").write_text("<html xmlns='http://www.w3.org/1999/xhtml'><script>first()</script></html>")
    await place.show("present")
    token = place.canvases.of("main").token

    _, text, _ = await place.get(f"/{token}/index.html")
    status, _, _ = await place.get(f"/{token}/wide.html")
    _, _, picture = await place.get(f"/{token}/a.svg")
    _, _, feed = await place.get(f"/{token}/a.atom")

    assert '<!DOCTYPE html><script nonce="">// At the head' in text
    assert status == 400
    for each in (picture, feed):
        assert each["Content-Security-Policy"].startswith("sandbox;")


PRIVATE = (
    *("http://127.0.0.1/", "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://[::1]/"),
    *(
        "http://[::ffff:127.0.0.1]/",
        "http://169.254.169.254/",
        "http://10.0.0.1/",
        "http://0.0.0.0/",
        "http://[fe80::1]/",
    ),
    *(
        "http://[64:ff9b::7f00:1]/",
        "http://100.64.0.1/",
        "http://localhost/",
        "file:///etc/passwd",
        "javascript://x/%0aalert(1)",
    ),
    *("http://me:pass@example.org/", "data://text/html,x", "http://exa mple.org/", "ftp://example.org/"),
)


@pytest.mark.parametrize("node", [{}, {"node": "tablet"}], ids=["dashboard", "node"])
async def test_no_address_of_this_network_and_no_other_scheme_is_shown(place: Place, node: dict[str, str]) -> None:
    for address in PRIVATE:
        result = await place.show("navigate", target=address, **node)

        assert result.is_error, address
    assert not place.canvases.of("main").visible
    assert place.screen.asked == []


async def test_an_address_outside_is_offered_as_a_link_and_sent_to_a_node(place: Place) -> None:
    shown = await place.show("navigate", target="https://93.184.215.14/page")
    sent = await place.show("navigate", target="https://93.184.215.14/page", node="tablet")
    unknown = await place.show("snapshot", node="tablet")

    assert "as a link" in shown.output
    assert place.canvases.of("main").as_dict()["src"] == ""
    assert place.screen.asked == [("canvas.navigate", {"url": "https://93.184.215.14/page"})]
    assert not sent.trusted
    assert unknown.is_error


async def test_the_address_of_a_file_on_a_node_ends_with_its_time_and_when_there_are_too_many(place: Place) -> None:
    (place.workspace / "canvas" / "index.html").write_text("<p>Hello")

    async def shown() -> str:
        assert not (await place.show("navigate", node="tablet")).is_error
        return URL(place.screen.asked[-1][1]["url"]).raw_path

    first = await shown()
    before, _, _ = await place.get(first)
    await place.clock.advance(LIFE_S)
    ended, _, _ = await place.get(first)
    oldest, *_, newest = [await shown() for _ in range(ADDRESSES_LIMIT + 1)]

    assert (before, ended) == (200, 404)
    assert [(await place.get(path))[0] for path in (oldest, newest)] == [404, 200]


async def test_only_an_owner_shows_and_words_from_outside_ask_first(place: Place) -> None:
    tainted = place.owner.narrow(tainted=True)
    jsonl = json.dumps({"beginRendering": {"surfaceId": "s", "root": "r"}})
    away = {"action": "navigate", "target": "https://93.184.215.14/?q=1"}
    for arguments in (away, {"action": "a2ui_push", "jsonl": jsonl}):
        assert "approval" in (await place.call("canvas", arguments, authority=tainted)).output
        assert (await place.call("canvas", arguments, authority=place.anna)).is_error
    assert not (await place.call("canvas", {"action": "hide"}, authority=tainted)).is_error
    asks = await place.call("canvas", {"action": "eval", "script": "1", "node": "tablet"}, authority=tainted)

    widget = await place.call("show_widget", {"title": "x", "html": "<p>"}, authority=tainted)

    assert "approval" in asks.output
    assert "approval" in widget.output
    assert place.screen.asked == []


async def test_a_bounded_number_of_widgets_is_kept(place: Place) -> None:
    folder = place.workspace / "canvas" / "widgets"
    folder.mkdir()
    for number in range(KEPT):
        (folder / f"{number:032x}.html").touch()

    told = await place.call("show_widget", {"title": "x", "html": "<p>new"})
    id = told.output.partition("main/")[2].partition(" ")[0]

    assert len(list(folder.iterdir())) == KEPT
    assert (folder / f"{id}.html").read_text() == "<p>new"


async def test_what_lacks_its_argument_its_file_or_anybody_who_looks_says_so(place: Place) -> None:
    for arguments, why in (
        ({"action": "eval"}, "script: needed"),
        ({"action": "a2ui_push"}, "jsonl: needed"),
        ({"action": "present"}, "no file canvas/index.html"),
        ({"action": "present", "target": "../x.html"}, "error"),
        ({"action": "eval", "script": "1"}, "nobody looks"),
        ({"action": "snapshot"}, "nobody looks"),
        ({"action": "navigate", "target": "x.html", "node": "tablet"}, "no file canvas/x.html"),
        ({"action": "navigate", "target": "../AGENTS.md", "node": "tablet"}, "error"),
        ({"action": "dance"}, "action"),
    ):
        result = await place.call("canvas", arguments)

        assert result.is_error
        assert why in result.output, arguments


# --- A2UI ---

BUTTON = {"Button": {"child": "t", "action": {"name": "go", "context": [{"key": "n", "value": {"path": "/n"}}]}}}


def push(*messages: dict[str, Any], before: Surfaces | None = None, tainted: bool = False) -> Surfaces:
    jsonl = "\n".join(json.dumps(each) for each in messages)
    return apply(before or {}, read_messages(jsonl), "agent:main:main", tainted=tainted)


def components(*items: dict[str, Any], surface: str = "s") -> dict[str, Any]:
    found = [{"id": f"c{number}", "component": each} for number, each in enumerate(items)]
    return {"surfaceUpdate": {"surfaceId": surface, "components": found}}


def test_messages_make_change_and_delete_a_surface() -> None:
    data = {"key": "user", "valueMap": [{"key": "name", "valueString": "Ada"}, {"key": "age", "valueNumber": 36}]}
    begun = push(
        components(BUTTON, {"Text": {"text": {"literalString": "x"}}}),
        {"dataModelUpdate": {"surfaceId": "s", "contents": [data]}},
        {"beginRendering": {"surfaceId": "s", "root": "c0"}},
    )
    changed = push(
        {"dataModelUpdate": {"surfaceId": "s", "path": "/user/name", "contents": [{"key": "x", "valueBoolean": True}]}},
        before=begun,
    )

    assert begun["s"].data == {"user": {"name": "Ada", "age": 36}}
    assert changed["s"].data == {"user": {"name": {"x": True}, "age": 36}}
    assert (begun["s"].data_version, changed["s"].data_version) == (1, 2)
    assert push({"deleteSurface": {"surfaceId": "s"}}, before=changed) == {}


@pytest.mark.parametrize(
    ("jsonl", "why"),
    [
        ("", "at least one"),
        ("{", "line 1"),
        ("\n[]", "line 2"),
        ('{"createSurface": {}}', "A2UI 0.8"),
        ('{"deleteSurface": {"surfaceId": "s"}, "surfaceUpdate": {}}', "A2UI 0.8"),
        ('{"deleteSurface": {"surfaceId": "<b>"}}', "surfaceId"),
        ('{"surfaceUpdate": {"surfaceId": "s", "components": []}}', "components"),
        (json.dumps(components({"Script": {}})), "expected one of"),
        (json.dumps(components({"Text": {}, "Card": {}})), "expected one of"),
        (json.dumps(components({"Text": "x"})), "expected one of"),
        (json.dumps(components({"TextField": {"textFieldType": "obscured"}})), "ask_secret"),
        ("x" * 262_145, "262144"),
    ],
)
def test_what_is_no_message_is_refused_by_its_line(jsonl: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        read_messages(jsonl)


def test_data_and_surfaces_have_bounds() -> None:
    nested: list[dict[str, Any]] = [{"key": "a", "valueString": "x"}]
    for _ in range(13):
        nested = [{"key": "a", "valueMap": nested}]
    two = [{"key": "a", "valueString": "x", "valueNumber": 1}]
    for contents in (nested, [{"key": "a"}], two, [{"valueString": "x"}]):
        with pytest.raises(InvalidRequest):
            push({"dataModelUpdate": {"surfaceId": "s", "contents": contents}})
    many = [components({"Divider": {}}, surface=f"s{number}") for number in range(SURFACES_LIMIT + 1)]
    more = [{"id": f"d{number}", "component": {"Divider": {}}} for number in range(COMPONENTS_LIMIT)]
    for messages in (
        many,
        [components({"Divider": {}}), {"surfaceUpdate": {"surfaceId": "s", "components": more}}],
        [{"dataModelUpdate": {"surfaceId": "s", "contents": [{"key": "a", "valueString": "x" * 140_000}]}}],
    ):
        with pytest.raises(LimitExceeded):
            push(*messages)


def test_a_press_says_what_its_button_stands_for_and_nothing_that_a_tab_makes_up() -> None:
    surface = push(components(BUTTON, {"Divider": {}}), tainted=True)["s"]

    text = press_message(surface, "c0", {"n": "Ada", "name": "other", "more": 1})

    assert json.loads(text.partition(": ")[2]) == {
        "userAction": {"name": "go", "surfaceId": "s", "sourceComponentId": "c0", "context": {"n": "Ada"}}
    }
    assert surface.tainted
    for component in ("c1", "c9"):
        with pytest.raises(NotFound):
            press_message(surface, component, {})
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    for value in ("x" * 5_000, deep):
        with pytest.raises(InvalidRequest):
            press_message(surface, "c0", {"n": value})


HOSTILE = """<title>x</title><p id=out>still</p><link rel="pre&#99;onnect" href="http://PLACE/"><LINK rel=dns-prefetch
href="//PLACE"><link rel=prefetch href="http://PLACE/"><link rel=stylesheet href="http://PLACE/">
<script type=speculationrules>{"prerender": [{"urls": ["http://PLACE/"]}]}</script>
<meta http-equiv=refresh content="0;url=http://PLACE/"><iframe src="http://PLACE/"></iframe><object data="http://PLACE/">
</object><embed src="http://PLACE/"><img src="http://PLACE/" onerror="location='http://PLACE/'"><svg><image
href="http://PLACE/"/></svg><style>@import url("http://PLACE/"); p {background: url(http://PLACE/)}</style>
<video src="http://PLACE/" poster="http://PLACE/"></video><body onload="location='http://PLACE/'">
<script>document.getElementById("out").textContent = "ran"; location = "http://PLACE/"</script>
<script src="code.js"></script><base href="http://PLACE/">"""


@pytest.mark.browser
async def test_a_page_with_words_from_outside_runs_no_script_and_connects_to_nowhere(place: Place) -> None:
    canary = Canary()
    await canary.start()
    reached = f"127.0.0.1:{canary.port}"
    files = {
        "index.html": HOSTILE.replace("PLACE", reached),
        "code.js": "document.getElementById('out').textContent = 'ran'",
        "sheet.css": f"@import url('http://{reached}/')",
        "a.svg": f"<svg xmlns='http://www.w3.org/2000/svg'><link xmlns='http://www.w3.org/1999/xhtml' rel='preconnect' "
        f"href='http://{reached}/'/></svg>",
    }
    for name, text in files.items():
        place.workspaces.outside.mark("main", f"canvas/{name}", text.encode())
        (place.workspace / "canvas" / name).write_text(text)
    (place.workspace / "canvas" / "own.html").write_text("<p id=out>still<script src=code.js></script>")

    async with launched() as browser:
        for name in ("index.html", "a.svg", "own.html"):
            assert not (await place.show("navigate", target=name, node="tablet")).is_error
            page = await browser.new_page()
            await page.goto(place.screen.asked[-1][1]["url"].replace("127.0.0.1:8443", "127.0.0.1"))
            await page.wait_for_load_state("networkidle")
            if name != "a.svg":
                assert await page.inner_text("#out") == "still", name
            assert URL(page.url).path.endswith(name)
    await canary.stop()

    assert canary.reached == 0
