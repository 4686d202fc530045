"""The dashboard over plain HTTP: JSON of every page, headers, static files, and who is let in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar, WSServerHandshakeError
from bs4 import BeautifulSoup

from tests.servers.hub_process import HubProcess
from tests.until import LIMIT_S
from web.core.navigation import FIRST_TABS, MOVED
from web.core.page_routes import OWNER

WORKSHOP = [
    "/blueprints/use?path=homarus/heartbeat.yaml",
    "/scripts",
    "/scripts/new",
    "/settings/developer",
    "/settings/developer/events",
    "/settings/developer/services?service=agent.run",
    "/settings/developer/templates",
    "/settings/advanced/ui",
]
MEMORY = [
    "/memory",
    "/memory/files",
    "/tools/all",
    "/memory/search?q=",
    "/memory/new",
    "/memory/forget",
    "/memory/intents",
    "/memory/history",
    "/memory/index",
]
PAGES = [
    "/chat",
    "/chat/sessions",
    "/",
    "/customise",
    "/welcome",
    "/welcome/model",
    "/welcome/chat",
    "/welcome/phone",
    "/welcome/found",
    "/welcome/from",
    "/welcome/done",
    "/tools/skills",
    "/tools/skills?skill=shopping-list",
    "/tools/integrations",
    "/automations",
    "/timeline?kind=automation",
    "/automations/new",
    "/blueprints",
    "/devices/phones",
    "/devices/connected",
    "/devices/voice",
    "/devices/voice/settings",
    "/devices/all",
    "/devices/rooms",
    *WORKSHOP,
    *MEMORY,
    "/settings",
    "/settings?q=time",
    "/settings/network",
    "/settings/privacy",
    "/settings/people",
    "/settings/logs",
    "/settings/files",
    "/settings/files/history?file=configuration.yaml",
]
FORMS = {
    "/approvals/answer": {"id": "none-such", "answer": "once"},
    "/blueprints/import": {"text": "x"},
    "/blueprints/remove": {"path": "none-such.yaml"},
    "/blueprints/update": {"path": "none-such.yaml"},
    "/blueprints/use": {"path": "none-such.yaml"},
    "/automations/run": {"id": "nobody"},
    "/automations/turn": {"id": "nobody", "to": "off"},
    "/automations/duplicate": {"id": "nobody"},
    "/automations/delete": {"id": "nobody"},
    "/automations/check": {"text": ""},
    "/automations/edit": {"id": "", "as": "form", "do": "", "text": ""},
    "/automations/import-trace": {"id": "nobody", "trace": "{}"},
    "/channels/message": {"id": "none-such", "do": "drop"},
    "/channels/pairing": {"channel": "none", "id": "none-such", "answer": "deny"},
    "/channels/revoke": {"channel": "none", "identity": "none:user:1"},
    "/chat/send": {"session": "agent:main:main", "key": "k", "text": "hi"},
    "/chat/abort": {"session": "agent:main:main"},
    "/chat/fork": {"session": "agent:main:webchat:direct:nobody", "run": "x"},
    "/chat/incognito": {},
    "/chat/model": {"session": "agent:main:main", "model": ""},
    "/chat/new": {},
    "/chat/rename": {"session": "agent:main:main", "name": "x"},
    "/chat/place": {"session": "agent:main:main", "place": "pin"},
    "/chat/delete": {"session": "agent:main:webchat:direct:nobody"},
    "/customise/favourites": {"favourites": "light.none"},
    "/customise/move": {"card": "week", "move": "hide"},
    "/customise/order": {"left": "week", "right": ""},
    "/config/check": {"file": "configuration.yaml", "text": ""},
    "/config/complete": {"file": "configuration.yaml", "text": "", "line": 1, "column": 1},
    "/config/save": {"file": "configuration.yaml", "text": "", "base_hash": "x"},
    "/config/restore": {"file": "configuration.yaml", "version": "x", "base_hash": "x"},
    "/devices/answer": {"kind": "node", "id": "none-such", "answer": "reject"},
    "/devices/pair": {"access": "node", "url": "wss://hub.example"},
    "/devices/remove": {"id": "none-such"},
    "/devices/rename": {"id": "none-such", "name": "x"},
    "/entities/do": {"entity_id": "switch.none", "do": "turn_on"},
    "/entities/save": {"entity_id": "switch.none"},
    "/areas/add": {"kind": "label", "name": "x"},
    "/areas/save": {"kind": "label", "id": "none", "name": "x"},
    "/areas/room": {"id": "none", "name": "x"},
    "/devices/reach": {"add": "nothing"},
    "/areas/remove": {"kind": "label", "id": "none"},
    "/developer/fire": {"type": "none_such"},
    "/developer/preview": {"template": "x"},
    "/developer/remove": {"entity_id": "none.such"},
    "/developer/services": {"service": "none.such"},
    "/developer/set": {"entity_id": "none.such", "state": "x"},
    "/developer/templates": {"template": "x"},
    "/logout": {},
    "/settings/save": {"page": "general"},
    "/settings/people/add": {"name": ""},
    "/settings/people/token": {"name": "", "may": "operator.read"},
    "/settings/people/revoke": {"id": "none-such"},
    "/memory/delete": {"path": "none-such.md", "base_hash": "x"},
    "/memory/forget": {"query": "none such"},
    "/memory/index": {"command": "now"},
    "/memory/intents/add": {"topics": "x", "remind": "y"},
    "/memory/intents/remove": {"id": "none-such"},
    "/memory/remember": {"text": "x"},
    "/memory/save": {"path": "none-such.txt", "text": ""},
    "/memory/undo": {"id": "none-such"},
    "/welcome": {"hub.name": "Home"},
    "/welcome/found": {},
    "/welcome/leave": {},
    "/welcome/model": {"provider": "none"},
    "/reminder": {"id": "none-such", "do": "done"},
    "/scripts/check": {"text": ""},
    "/scripts/delete": {"id": "none_such"},
    "/scripts/edit": {"text": ""},
    "/scripts/run": {"id": "none_such"},
    "/settings/security/mend": {"id": "none-such"},
    "/timeline/again": {"id": "run.nobody"},
    "/timeline/ask": {"id": "run.nobody", "model": "x/y"},
    "/timeline/stop": {"id": "nobody"},
    "/integrations/change": {"domain": "none-such", "do": "disable"},
    "/integrations/install": {"url": "x"},
    "/integrations/remove": {"domain": "none-such"},
    "/skills/change": {"id": "none-such", "do": "disable"},
    "/skills/install": {"text": "x"},
    "/skills/remove": {"id": "none-such"},
    "/skills/search": {"query": ""},
}
STATIC = re.compile(r'(?:src|href)="(/static/[^"]+)"')


@pytest.fixture
async def stranger(hub: HubProcess) -> AsyncIterator[ClientSession]:
    async with ClientSession(hub.url) as session:
        yield session


@pytest.fixture
async def owner(hub: HubProcess) -> AsyncIterator[ClientSession]:
    async with signed_in(hub) as session:
        yield session


@asynccontextmanager
async def signed_in(hub: HubProcess) -> AsyncIterator[ClientSession]:
    """A client with the cookie of a signed-in browser."""
    async with ClientSession(hub.url, headers={"Origin": hub.url}, cookie_jar=CookieJar(unsafe=True)) as session:
        code = hub.rpc("dashboard.link")["code"]
        async with session.post("/login", json={"code": code}, headers={"Accept": "application/json"}) as answer:
            assert answer.status == 200, await answer.text()
        yield session


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_is_also_json(owner: ClientSession, path: str) -> None:
    joint = "&" if "?" in path else "?"

    by_query = await owner.get(f"{path}{joint}format=json")
    by_header = await owner.get(path, headers={"Accept": "application/json"})

    assert by_query.status == by_header.status == 200
    assert by_query.content_type == by_header.content_type == "application/json"
    assert (await by_query.json()).keys() == (await by_header.json()).keys()


@pytest.mark.parametrize("path", [*PAGES, "/login"])
async def test_every_page_forbids_inline_code_and_framing(
    owner: ClientSession, stranger: ClientSession, path: str
) -> None:
    client = stranger if path == "/login" else owner

    answer = await client.get(path)

    policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
    assert answer.status == 200
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    html = await answer.text()
    assert not re.search(r"<[^>]+\son\w+=", html)
    assert not re.search(r"<[^>]+\sstyle=", html)
    assert not re.search(r'<script(?![^>]*(src=|type="application/json"))', html)


async def test_no_two_pages_share_a_nonce(owner: ClientSession) -> None:
    policies = {(await owner.get("/")).headers["Content-Security-Policy"] for _ in range(5)}

    assert len(policies) == 5


@pytest.mark.parametrize("path", PAGES)
async def test_a_browser_without_a_cookie_is_sent_to_the_door(stranger: ClientSession, path: str) -> None:
    answer = await stranger.get(path, headers={"Accept": "text/html"}, allow_redirects=False)

    assert answer.status in {302, 303}
    assert answer.headers["Location"].startswith("/login")


@pytest.mark.parametrize("path", FORMS)
async def test_a_form_without_a_cookie_is_refused(stranger: ClientSession, hub: HubProcess, path: str) -> None:
    answer = await stranger.post(path, json=FORMS[path], headers={"Origin": hub.url})

    assert answer.status == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_no_form_is_taken_from_another_site(tmp_path: Path, origin: str) -> None:
    with HubProcess(tmp_path / "home") as hub:  # one of its own, because failures lock the client for minutes
        async with signed_in(hub) as session:
            answers = {path: await session.post(path, json=FORMS[path], headers={"Origin": origin}) for path in FORMS}

    assert {path: answer.status for path, answer in answers.items()} == dict.fromkeys(FORMS, 403)


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_the_live_socket_of_another_site_is_refused_before_the_upgrade(owner: ClientSession, origin: str) -> None:
    with pytest.raises(WSServerHandshakeError) as refused:
        await owner.ws_connect("/live", headers={"Origin": origin})

    assert refused.value.status == 403


async def test_the_live_socket_wants_a_cookie(stranger: ClientSession, hub: HubProcess) -> None:
    with pytest.raises(WSServerHandshakeError) as refused:
        await stranger.ws_connect("/live", headers={"Origin": hub.url})

    assert refused.value.status == 401


@pytest.mark.parametrize(
    "frame",
    [
        "nonsense",
        "[]",
        '{"t":"watch"}',
        '{"t":"watch","topics":"home"}',
        '{"t":"watch","topics":[[]]}',
        '{"t":"run"}',
    ],
)
async def test_a_malformed_frame_closes_the_socket(owner: ClientSession, frame: str) -> None:
    async with owner.ws_connect("/live") as socket:
        await socket.send_str(frame)

        kinds = [message.type.name async for message in socket]

    assert socket.closed
    assert "ERROR" not in kinds


async def test_who_watches_a_topic_gets_its_whole_state(owner: ClientSession) -> None:
    async with owner.ws_connect("/live") as socket:
        await socket.send_json({"t": "watch", "topics": ["home", "session:agent:main:main", "no-such-topic"]})

        shown: set[str] = set()
        while shown < {"pulse", "log", "run-state"}:
            frame = await socket.receive_json(timeout=30)
            if frame["t"] in ("html", "pulse"):
                shown.add(frame.get("id", frame["t"]))

    assert shown == {"pulse", "log", "run-state"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/send", {"session": "agent:main:main", "key": "k"}),
        ("/chat/send", {"session": "agent:main:main", "key": "bad key", "text": "x"}),
        ("/chat/send", {"session": "agent::x", "key": "k", "text": "x"}),
        ("/chat/send", {"session": "agent:main:main", "key": "k", "text": "   "}),
        ("/chat/send", ["x"]),
        ("/chat/rename", {"session": "agent:main:main", "name": "x" * 500}),
        ("/config/complete", {"file": "configuration.yaml", "text": "", "line": 0, "column": 1}),
        ("/config/check", {"file": "../outside.yaml", "text": ""}),
        ("/config/save", {"file": "/etc/passwd", "text": "", "base_hash": ""}),
        ("/config/save", {"file": ".storage/hub_token", "text": "", "base_hash": ""}),
        ("/preferences", {"language": "klingon"}),
        ("/automations/run", {"id": "nobody"}),
        ("/automations/run", {"id": "nobody", "variables": "["}),
        ("/automations/turn", {"id": "nobody", "to": "sideways"}),
        ("/automations/delete", {"id": "nobody"}),
        ("/automations/check", {}),
        ("/automations/import-trace", {"id": "nobody", "trace": "not JSON"}),
        ("/automations/import-trace", {"id": "nobody", "trace": "{}"}),
        ("/memory/delete", {"path": "MEMORY.md"}),
        ("/memory/forget", {}),
        ("/memory/forget", {"query": "x", "command": "everything"}),
        ("/memory/forget", {"query": "x", "agent": "nobody"}),
        ("/memory/index", {"command": "burn"}),
        ("/memory/intents/add", {"topics": "", "remind": "y"}),
        ("/memory/intents/add", {"topics": "x", "remind": "y", "days": "never"}),
        ("/memory/intents/remove", {"id": "none-such"}),
        ("/memory/remember", {"text": "  "}),
        ("/memory/remember", {"text": "x", "kind": "secret"}),
        ("/memory/save", {"path": "../../secret.md", "text": "x"}),
        ("/memory/save", {"path": "/etc/passwd", "text": "x"}),
        ("/memory/save", {"path": "AGENTS.md", "text": "x"}),
        ("/memory/save", {"path": "transcripts/x", "text": "x"}),
        ("/memory/undo", {"id": "none-such"}),
    ],
)
async def test_a_bad_form_is_refused_with_a_reason(owner: ClientSession, path: str, body: object) -> None:
    answer = await owner.post(path, json=body, headers={"Accept": "application/json"})

    assert 400 <= answer.status < 500
    assert (await answer.json())["error"]["message"]


@pytest.mark.parametrize(
    "path", ["/config?file=../secret", "/config?file=/etc/passwd", "/config?file=.storage/hub_token"]
)
async def test_only_configuration_can_be_read(owner: ClientSession, path: str) -> None:
    answer = await owner.get(path, headers={"Accept": "application/json"})

    assert 400 <= answer.status < 500


async def test_an_error_of_a_page_is_a_page(owner: ClientSession) -> None:
    answer = await owner.get("/chat?session=agent:nobody:main", headers={"Accept": "text/html"})

    assert answer.status == 404
    assert "There is no agent" in await answer.text()


async def test_the_palette_finds_blueprints_memory_and_conversations_by_name(owner: ClientSession) -> None:
    await owner.post("/memory/remember", json={"text": "The stopcock is behind the boiler"})
    key = "agent:main:webchat:direct:garden"
    await owner.post("/chat/rename", json={"session": key, "name": "Plans for the gärden"})

    async def found(query: str) -> list[tuple[str, str]]:
        answer = await (await owner.get("/find", params={"q": query})).json()
        return [(each["kind"], each["name"]) for each in answer["found"]]

    assert ("blueprint", "Morning briefing") in await found("morning")
    assert ("conversation", "Plans for the gärden") in await found("plan gard")
    async with asyncio.timeout(LIMIT_S):  # the palette leaves out what is not found at once
        while not any(kind == "memory" and "stopcock" in name for kind, name in await found("stopcock")):
            pass
    assert await found("  ") == []


async def test_the_fields_of_a_new_automation_are_named_in_chinese(owner: ClientSession) -> None:
    answer = await owner.get("/automations/new", headers={"Accept": "text/html", "Accept-Language": "zh-CN"})

    page = BeautifulSoup(await answer.text(), "html.parser")
    texts = [each.get_text(" ", strip=True) for each in page.select("form .field label, form .field .hint, legend")]
    names = {"QoS", "YAML", "MQTT", "Webhook"}
    assert "名称" in texts
    assert [text for text in texts if text not in names and not re.search("[\u4e00-\u9fff]", text)] == []
    kinds = [each.get_text(strip=True) for each in page.select("select[name$=':add'] option")]
    assert [kind for kind in kinds if kind not in names and not re.search("[\u4e00-\u9fff]", kind)] == []


@pytest.mark.parametrize(("language", "word"), [("en", "Required"), ("zh-CN", "必填")])
async def test_a_missing_value_is_called_required_in_the_readers_language(
    owner: ClientSession, language: str, word: str
) -> None:
    text = "alias: Tea\ntriggers:\n  - trigger: cron\nactions:\n  - event: tea\n"
    headers = {"Accept": "text/html", "Accept-Language": language}

    form = {"id": "", "as": "form", "do": "save", "text": text, "base_hash": ""}
    answer = await owner.post("/automations/edit", data=form, headers=headers)
    checked = await owner.post("/automations/check", json={"text": text}, headers={"Accept-Language": language})

    page = BeautifulSoup(await answer.text(), "html.parser")
    assert answer.status == 400
    assert [each.get_text() for each in page.select(".field .wrong")] == [word]
    assert [each["message"] for each in (await checked.json())["problems"]] == [word]


async def test_the_first_save_of_an_automation_leads_to_its_own_address(owner: ClientSession) -> None:
    text = "alias: Tea time\ntriggers:\n  - trigger: event\n    event_type: tea\nactions:\n  - event: tea_is_ready\n"
    form = {"id": "", "as": "form", "do": "save", "text": text, "base_hash": ""}

    answer = await owner.post("/automations/edit", data=form, headers={"Accept": "text/html"})

    page = BeautifulSoup(await answer.text(), "html.parser")
    assert answer.url.path == "/automations/tea_time/edit"
    assert [each["value"] for each in page.select("#automation-edit input[name=id]")] == ["tea_time"]


async def test_the_path_proposed_for_a_new_memory_file_is_free(owner: ClientSession) -> None:
    json = {"Accept": "application/json"}

    async def proposed() -> str:
        draft = (await (await owner.get("/memory/new", headers=json)).json())["draft"]
        return str(draft["path"])

    first = await proposed()
    await owner.post("/memory/save", json={"path": first, "text": "# Diary\n"}, headers=json)
    second = await proposed()
    saved = await owner.post("/memory/save", json={"path": second, "text": "# Diary\n"}, headers=json)

    assert saved.status == 200
    assert len({first, second, await proposed()}) == 3


async def test_the_configuration_is_reloaded_on_command(owner: ClientSession) -> None:
    answer = await owner.post("/config/reload", headers={"Accept": "application/json"})

    assert await answer.json() == {"applied": True}


async def test_an_unknown_address_is_a_page_with_a_way_back(stranger: ClientSession) -> None:
    answer = await stranger.get("/no/such/page", headers={"Accept": "text/html", "Accept-Language": "zh-CN"})

    page = BeautifulSoup(await answer.text(), "html.parser")
    assert answer.status == 404
    assert page.h1 is not None
    assert page.h1.get_text() == "找不到页面"
    assert [link["href"] for link in page.select("main a")] == ["/"]


async def test_an_unknown_address_is_json_for_a_program(stranger: ClientSession) -> None:
    answer = await stranger.get("/no/such/page", headers={"Accept": "application/json"})

    assert answer.status == 404
    assert (await answer.json())["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"])
async def test_preferences_lead_back_to_this_origin_only(stranger: ClientSession, hub: HubProcess, back: str) -> None:
    answer = await stranger.post(
        "/preferences", data={"theme": "dark", "back": back}, headers={"Origin": hub.url}, allow_redirects=False
    )

    assert answer.headers["Location"] == "/"


async def test_static_files_are_immutable_and_compressed(owner: ClientSession) -> None:
    html = await (await owner.get("/chat")).text()

    for path in STATIC.findall(html):
        answer = await owner.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.status == 200, path
        assert "immutable" in answer.headers["Cache-Control"]
        assert path.endswith((".svg", ".png", ".woff2")) or answer.headers["Content-Encoding"] == "gzip"


@pytest.mark.parametrize(
    "path",
    ["/static/app.css", "/static/0123456789abcdef/app.css", "/static/x/../../render.py", "/static/%2e%2e/render.py"],
)
async def test_nothing_else_is_served_as_a_static_file(stranger: ClientSession, path: str) -> None:
    answer = await stranger.get(path)

    assert answer.status in {400, 404}


def test_the_routes_name_their_owner() -> None:
    assert OWNER == "web"


@pytest.mark.parametrize(("old", "new"), sorted({**MOVED, **FIRST_TABS}.items()))
async def test_an_old_address_leads_to_the_new_one_and_keeps_its_query(
    owner: ClientSession, old: str, new: str
) -> None:
    answer = await owner.get(f"{old}?q=boiler", allow_redirects=False)

    joined = "&" if "?" in new else "?"
    assert (answer.status, answer.headers["Location"]) == (303, f"{new}{joined}q=boiler")


@pytest.mark.parametrize(("path", "encoding"), [("/timeline", "gzip"), ("/settings/files", None)])
async def test_a_page_is_compressed_unless_it_shows_secrets(
    owner: ClientSession, path: str, encoding: str | None
) -> None:
    answer = await owner.get(path, headers={"Accept": "text/html", "Accept-Encoding": "gzip"})

    assert answer.headers.get("Content-Encoding") == encoding


async def test_each_entry_and_tab_of_the_navigation_is_a_page(owner: ClientSession) -> None:
    home = BeautifulSoup(await (await owner.get("/", headers={"Accept": "text/html"})).text(), "html.parser")

    shown: dict[str, list[str]] = {}
    for path in [str(link["href"]) for link in home.select(".side nav a")]:
        answer = await owner.get(path, headers={"Accept": "text/html"})
        page = BeautifulSoup(await answer.text(), "html.parser")
        assert answer.status == 200, path
        shown[path] = [str(link["href"]) for link in page.select(".side nav a[aria-current]")]

    assert shown == {path: [path] for path in shown}
    assert len(shown) >= 10
