"""Every page of the dashboard in Chinese, over plain HTTP: a text that was not translated shows by its Latin words."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import ClientSession
from bs4 import BeautifulSoup
from bs4.element import NavigableString

import web
from hub.entities.domains import DOMAINS
from tests.lengths import some
from tests.servers.hub_process import HubProcess
from tests.web.test_pages import signed_in

CONFIGURATION = """\
hub: {name: 我的家, disabled: [no_such]}
people: [{id: me, name: 小李, owner: true}]
agents: [{id: main, name: 小助手, default: true}]
automation: !include automations.yaml
script:
  greet:
    alias: 问候
    fields: {who: {name: 谁, required: true}}
    sequence: [{variables: {answer: {text: 你好}}}, {stop: 完成, response_variable: answer}]
"""
AUTOMATIONS = """\
- id: porch
  alias: 门廊灯
  description: 天黑时开灯
  mode: queued
  max: 3
  catch_up: {mode: last, within: 2h}
  rate_limit: {runs: 9, per: 1h}
  triggers:
    - {trigger: state, entity_id: sensor.porch, from: "1", to: "2", for: 90}
    - {trigger: numeric_state, entity_id: sensor.porch, above: 5, below: 8.5}
    - {trigger: time, at: ["07:30", {entity_id: sensor.clock, offset: "-00:10:00"}], weekday: [mon, tue, wed]}
    - {trigger: cron, expression: "0 7 * * *", time_zone: Europe/Berlin, stagger: 5m}
    - {trigger: every, every: 2h}
    - {trigger: sun, event: sunset, offset: "00:10:00"}
    - {trigger: event, event_type: doorbell_rang, event_data: {n: 1}}
    - {trigger: message, from_owner: true, channel: telegram, text: {contains: 灯}}
    - {trigger: mqtt, topic: a/b, payload: "1"}
    - {trigger: webhook, webhook_id: wh_1, secret: abcdefghijklmnopqrstuvwxyz123456}
    - {trigger: template, value_template: "{{ 1 }}", for: 60}
    - {trigger: file, path: 文件, on: [created, deleted]}
    - {trigger: feed, url: "https://a.example/feed"}
    - {trigger: agent, on: run_ended, agent: main, status: error}
    - {trigger: node, on: connected}
    - {trigger: conversation, command: 开灯}
    - {trigger: hub, event: start}
  conditions:
    - {condition: state, entity_id: sensor.porch, state: ["1", "2"], for: 60}
    - condition: or
      conditions:
        - {condition: numeric_state, entity_id: sensor.porch, above: 0}
        - {condition: time, after: "06:00:00", weekday: [mon, tue]}
        - {condition: presence, person: any}
        - {condition: template, value_template: "{{ 1 }}"}
        - {condition: sun, after: sunset}
        - {condition: budget, cost_usd: 1}
        - {condition: agent, question: 冷吗}
    - {condition: not, conditions: [{condition: trigger, id: 一}]}
  actions:
    - {delay: 1}
    - {if: "{{ 1 }}", then: [{event: porch_lit}], else: [{stop: 停}]}
    - {choose: [{conditions: "{{ 0 }}", sequence: [{event: x_y}]}], default: [{event: y_z}]}
    - {repeat: {count: 2, sequence: [{event: x_y}]}}
    - {parallel: [{event: x_y}, {event: y_z}]}
    - {wait_for_trigger: [{trigger: event, event_type: never_comes}], timeout: 1}
    - {action: persistent_notification.create, data: {message: 好, title: 好}}
- id: doorbell
  alias: 门铃
  triggers: [{trigger: event, event_type: doorbell_rang}]
  conditions: [{condition: state, entity_id: sensor.porch, state: "9"}]
  actions: [{event: doorbell_heard}]
- id: remind
  alias: 喝水
  use_blueprint: {path: homarus/reminder.yaml, input: {text: 喝水, at: "2099-01-01 08:00"}}
"""
PAGES = {
    "/": ["/"],
    "/chat": ["/chat", "/chat?session=agent:main:main"],
    "/chat/sessions": ["/chat/sessions"],
    "/notifications": ["/notifications"],
    "/customise": ["/customise"],
    "/welcome": ["/welcome"],
    "/welcome/model": ["/welcome/model", "/welcome/model?provider=my_server"],
    "/welcome/chat": ["/welcome/chat"],
    "/welcome/phone": ["/welcome/phone"],
    "/welcome/found": ["/welcome/found"],
    "/welcome/from": ["/welcome/from"],
    "/welcome/done": ["/welcome/done"],
    "/channels": ["/channels"],
    "/channels/people": ["/channels/people"],
    "/channels/unsent": ["/channels/unsent"],
    "/channels/account": [],
    "/channels/link": [],
    "/channels/add": ["/channels/add", "/channels/add?channel=telegram"],
    "/agents": ["/agents"],
    "/agents/agent": ["/agents/agent?id=main"],
    "/agents/new": ["/agents/new"],
    "/agents/models": ["/agents/models"],
    "/agents/models/add": ["/agents/models/add", "/agents/models/add?provider=my_server"],
    "/devices/rooms": ["/devices/rooms", "/devices/rooms?room=hall"],
    "/devices/all": ["/devices/all", "/devices/all?q=门"],
    "/devices/phones": ["/devices/phones"],
    "/devices/connected": ["/devices/connected"],
    "/devices/voice": ["/devices/voice"],
    "/devices/voice/settings": ["/devices/voice/settings"],
    "/tools/integrations": ["/tools/integrations"],
    "/tools/skills": ["/tools/skills", "/tools/skills?skill=shopping-list"],
    "/timeline": ["/timeline", "/timeline?kind=automation", "/timeline?outcome=did_not_run"],
    "/timeline/{id}": [],
    "/agents/usage": ["/agents/usage"],
    "/automations": ["/automations"],
    "/automations/new": ["/automations/new"],
    "/automations/reminders": ["/automations/reminders"],
    "/automations/{id}": ["/automations/porch?test=0", "/automations/doorbell?test=", "/automations/doorbell?since=1d"],
    "/automations/{id}/traces": ["/automations/porch/traces", "/automations/doorbell/traces"],
    "/automations/{id}/edit": [
        "/automations/porch/edit",
        "/automations/remind/edit",
        "/automations/porch/edit?as=yaml",
    ],
    "/blueprints": ["/blueprints"],
    "/blueprints/use": [
        f"/blueprints/use?path=homarus/{path.name}"
        for path in sorted((Path(web.__file__).parents[1] / "blueprints/automation/homarus").glob("*.yaml"))
    ],
    "/scripts": ["/scripts"],
    "/scripts/show": ["/scripts/show?id=greet"],
    "/scripts/edit": ["/scripts/edit?id=greet"],
    "/scripts/new": ["/scripts/new"],
    "/settings/developer": ["/settings/developer", "/settings/developer?entity_id=sensor.porch"],
    "/settings/developer/events": ["/settings/developer/events"],
    "/settings/developer/services": ["/settings/developer/services"],
    "/settings/developer/templates": ["/settings/developer/templates"],
    "/memory": ["/memory"],
    "/memory/diary": ["/memory/diary"],
    "/memory/lists": ["/memory/lists"],
    "/memory/files": ["/memory/files"],
    "/memory/file": ["/memory/file?path=MEMORY.md"],
    "/memory/search": ["/memory/search?q=", "/memory/search?q=水"],
    "/memory/history": ["/memory/history"],
    "/memory/index": ["/memory/index"],
    "/memory/intents": ["/memory/intents"],
    "/memory/edit": ["/memory/edit?path=MEMORY.md"],
    "/memory/new": ["/memory/new"],
    "/memory/forget": ["/memory/forget?q=水"],
    "/settings": ["/settings"],
    "/settings/network": ["/settings/network"],
    "/settings/privacy": ["/settings/privacy"],
    "/settings/privacy/remembered": ["/settings/privacy/remembered"],
    "/settings/people": ["/settings/people"],
    "/settings/people/person": ["/settings/people/person?id=me"],
    "/settings/security": ["/settings/security"],
    "/settings/status/diagnostics": [],
    "/settings/status": ["/settings/status"],
    "/settings/backup": ["/settings/backup"],
    "/settings/update": ["/settings/update"],
    "/settings/backup/restore": [],
    "/settings/move": ["/settings/move"],
    "/settings/files": ["/settings/files"],
    "/settings/files/history": ["/settings/files/history?file=configuration.yaml"],
}
OTHERS = {
    "/settings/logs": "lines in English",
    "/automations/trace-file": "a file",
    "/avatar": "a picture",
    "/find": "JSON",
    "/pick": "JSON",
    "/timeline/{id}/file": "a file",
    "/timeline/{id}/picture/{number}": "a picture",
    "/timeline/{id}/sent": "what a model was sent, in English",
    "/settings/backup/download": "a file",
    "/settings/advanced/ui": "the components, with made-up contents",
    "/tools/all": "what models read of their tools, in English",
    "/chat/commands": "JSON",
}
"""Addresses that answer with no page."""
CODE = "script, style, code, pre, textarea, datalist, [lang]:not(html), .code"
ATTRIBUTES = ("aria-label", "title", "placeholder", "alt")
KEPT = (
    "Web iMessage YAML JSON MQTT QoS URL ID RSS Atom UTC HTTP TLS API Webhook webhook OpenAI GitHub gist token Home "
    "English Assistant Chroma Whoosh Python Jinja Markdown Cron cron Ctrl Alt Shift Esc Tab Enter ms min kB MB "
    "Homarus BlueBubbles Messages PNG JPEG GIF WebP GB Linux iPad JavaScript WebDAV Nextcloud "
    "ZIP zip PDF OSV OpenTelemetry ClawHub clawhub git "
    "Twilio console twilio Account SID Auth SMS "
    "Zalo Bot Manager OA Explorer developers zalo me "
    "LINE line biz manager developers Messaging Use Developers Console "
    "Mattermost "
    "Feishu Lark DingTalk Client ID App Secret Stream "
    "Talk "
    "ntfy "
    "Telegram Matrix Discord Slack Signal WhatsApp WeCom QQ IRC Docker Bubblewrap Meta BotFather Token newbot OpenClaw "
    "Wyoming ESPHome "
    "iPhone Android Mac Alibaba Cloud Anthropic Cerebras DeepSeek Gemini Groq LM Studio Mistral Moonshot Ollama "
    "Microsoft Teams Azure Bot App Single Tenant msteams default "
    "Google Chat Workspace Cloud Pub/Sub Pub Sub google_chat "
    "console twilio com Account SID Auth voice_call default "
    "XMPP Jabber "
    "Claude ChatGPT OpenRouter Together AI xAI Offline sentences"
)
"""Product names, formats, keys of the keyboard, and units."""
VALUES = (
    "GET HEAD POST PUT PATCH aborted all allow announce answer any auto automation body channel choice connected "
    "continue created day days deleted deny depth direct disabled disconnected domains en error event fail false "
    "freshness fri generic github index homarus backups sent time bot group header home hour hours hub id isolated "
    "integration last latest local main message minutes modified mon no mqtt none now off offline ok on option "
    "parallel person principal profile queued required sat score secret shutdown silent single start daily de domain "
    "me owner code stop stripe sun sunrise sunset telegram text thu to true tue unknown warning webchat wed yes"
)
"""Values and keys of YAML, states, and ids, which are the same in every language."""
IDENTIFIER = re.compile(
    r"https?://|\w+\[\d+\]|[\w*]+(?:[._:/@=+-][\w*…]+)+|\{[^}]*\}|`[^`]*`|/\w+|\b[0-9a-f]{8,}\b|\w*\d\w*|\w*_\w*"
)
WORD = re.compile(r"[A-Za-z]{2,}")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("chinese") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION, encoding="utf-8")
    (home / "automations.yaml").write_text(AUTOMATIONS, encoding="utf-8")
    with HubProcess(home) as process:
        yield process


@pytest.fixture
async def reader(hub: HubProcess) -> AsyncIterator[ClientSession]:
    """An owner who reads Chinese."""
    async with signed_in(hub) as session:
        session.headers.update({"Accept": "text/html", "Accept-Language": "zh-CN"})
        yield session


def latin_words(html: str) -> list[str]:
    """Return the visible texts of a page that have Latin words beside names, identifiers and code."""
    known = {*KEPT.split(), *VALUES.split()}
    page = BeautifulSoup(html, "html.parser")
    for each in page.select(CODE):
        each.decompose()
    for each in page.select("option"):
        if each.get("value", each.get_text(strip=True)) == each.get_text(strip=True):
            each.decompose()
    texts = [text.strip() for text in page.find_all(string=True) if type(text) is NavigableString]
    texts += [str(each[name]) for each in page.find_all(True) for name in ATTRIBUTES if each.get(name)]
    return [text for text in texts if {*WORD.findall(IDENTIFIER.sub(" ", text))} - known]


def pages_of_the_router() -> set[str]:
    found: set[str] = set()
    for path in Path(web.__file__).parent.rglob("routes.py"):
        found |= {*re.findall(r'\bpage\("([^"]+)"', path.read_text(encoding="utf-8"))}
    return found


def test_the_walk_opens_every_page_of_the_router() -> None:
    assert pages_of_the_router() - OTHERS.keys() == PAGES.keys()


async def test_a_text_that_is_not_translated_is_found() -> None:
    html = '<html lang="zh-CN"><p>概览</p><p>agent.run 已完成 <code>x is y</code></p><p>Not translated</p></html>'

    assert latin_words(html) == ["Not translated"]


async def test_every_page_is_wholly_in_chinese(hub: HubProcess, reader: ClientSession) -> None:
    await furnish(hub, reader)
    services = [each["service"] for each in hub.rpc("service.list")["services"]]
    paths = [path for each in PAGES.values() for path in each]
    paths += [f"/timeline/{each['id']}" for each in hub.rpc("timeline.list", {"limit": 200})["happenings"]]
    known = [each for each in services if each.partition(".")[0] not in {"script", *(DOMAINS.keys() - {"light"})}]
    paths += [f"/settings/developer/services?service={name}" for name in some(sorted(known))]

    wrong: dict[str, list[str]] = {}
    for path in paths:
        answer = await reader.get(path)
        html = await answer.text()
        if found := latin_words(html) + ([] if answer.status == 200 else [str(answer.status)]):
            wrong[path] = sorted(set(found))

    assert wrong == {}


@pytest.mark.parametrize("path", ["/login", "/no/such/page", "/automations/nobody"])
async def test_a_page_for_strangers_and_for_errors_is_in_chinese(reader: ClientSession, path: str) -> None:
    answer = await reader.get(path)
    page = BeautifulSoup(await answer.text(), "html.parser")

    assert [text for each in page.select("h1, h2, label, button, a") for text in latin_words(str(each))] == []


async def furnish(hub: HubProcess, reader: ClientSession) -> None:
    """Let things happen in the home: runs, a firing that ran nothing, memory, a conversation, a notice."""
    for state in ("1", "2", "7"):
        named = {"friendly_name": "门廊传感器"}
        hub.rpc("state.set", {"entity_id": "sensor.porch", "state": state, "attributes": named})
    hub.rpc("event.fire", {"type": "doorbell_rang", "data": {"n": 1}})
    await reader.post("/automations/run", data={"id": "porch"})
    await reader.post("/automations/run", data={"id": "doorbell"})
    await reader.post("/memory/save", json={"path": "MEMORY.md", "text": "# 记忆\n\n- 门牌号是 7\n"})
    await reader.post("/memory/remember", json={"text": "水阀在锅炉后面"})
    await reader.post("/chat/send", json={"session": "agent:main:main", "key": "k1", "text": "你好"})
    await reader.post("/chat/rename", json={"session": "agent:main:main", "name": "闲聊"})
    hub.rpc("memory.index", {"idempotencyKey": "i"})  # before, a search says which engine has no vectors yet
    for id in ("porch", "doorbell"):
        assert hub.rpc("automation.trace", {"id": id})["traces"]
