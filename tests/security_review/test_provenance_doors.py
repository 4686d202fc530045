"""Every door that puts words into a conversation, and who is said to have said them. New doors are listed here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import pytest

from hub.core.context import SYSTEM, Context
from hub.core.surfaces import ADMIN, WRITE
from hub.entities.domains import DOMAINS as ENTITY_DOMAINS, GENERIC
from hub.entities.helpers.table import RELOADED
from hub.messaging.contract import Address, Button, ButtonPressed, InboundEvent
from hub.messaging.outbox.outbox_rows import NewMessage, RowSource
from hub.sessions.entry import Provenance, TranscriptEntry
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from tests.security_review.automating import add, ended, webhook
from tests.security_review.besieged import SESSION, WAIT_LIMIT_S, Besieged
from tests.security_review.test_laundering import tool_call
from tests.servers.openai_server import OpenAIServer

WORDS = "the garden gnome is the boss"
Entries = list[TranscriptEntry]
Enter = Callable[[Besieged, OpenAIServer], Awaitable[Entries]]

OWNER = Provenance(trusted=True, who="owner")


def of(who: str, *, trusted: bool = False, derived: bool = False) -> Provenance:
    """Return an expectation; `who` is what the stored one begins with."""
    return Provenance(trusted, who, derived)


class Door(NamedTuple):
    """A door: how words are put through it, and what is stored of where they came from."""

    enter: Enter
    stored: Provenance
    registered: str
    """What names it in the registry of its kind: `method chat.send`, `route POST /v1/responses`, `tool read`."""


# --- ways in ---


async def stored(house: Besieged) -> Entries:
    """Wait until the words are in the conversation; return its entries."""
    async with asyncio.timeout(WAIT_LIMIT_S):
        while not (house.hub.sessions.get(SESSION) and said(await house.entries(SESSION))):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return await house.entries(SESSION)


def method(name: str, params: Mapping[str, Any], *scopes: str) -> Enter:
    async def enter(house: Besieged, _: OpenAIServer) -> Entries:
        headers = (await house.token(*scopes))[1] if scopes else house.owner
        answer = await house.rpc(name, params, headers)
        assert "error" not in answer, answer
        if "runId" in answer:
            await house.rpc("agent.wait", {"runId": answer["runId"], "timeoutMs": int(WAIT_LIMIT_S * 1000)})
            return await stored(house)
        return await house.run("go on")

    return enter


def called(service: str, data: Mapping[str, Any], *scopes: str) -> Enter:
    async def enter(house: Besieged, _: OpenAIServer) -> Entries:
        headers = (await house.token(*scopes))[1] if scopes else house.owner
        params = {"service": service, "data": data, "response": True}
        answer = await house.rpc("service.call", params, headers)
        return await house.entries(answer["response"]["session_key"])

    return enter


def posted(path: str, body: Mapping[str, Any], *scopes: str) -> Enter:
    async def enter(house: Besieged, _: OpenAIServer) -> Entries:
        headers = (await house.token(*scopes))[1] if scopes else house.owner
        sent = {**headers, "x-homarus-session": SESSION}
        async with house.http.post(f"{house.url}{path}", json=body, headers=sent) as response:
            assert response.status == 200, await response.text()
        return await house.entries(SESSION)

    return enter


async def from_the_dashboard(house: Besieged, _: OpenAIServer) -> Entries:
    headers = {**await house.cookie(), "Origin": house.url}
    data = {"session": SESSION, "key": "door", "text": WORDS}
    async with house.http.post(f"{house.url}/chat/send", data=data, headers=headers, allow_redirects=False) as answer:
        assert answer.status < 400, await answer.text()
    return await stored(house)


def on_the_platform(sender: str, group: str | None = None, **more: Any) -> Enter:
    async def enter(house: Besieged, _: OpenAIServer) -> Entries:
        text = "look at this" if more else WORDS
        return await house.heard(await house.platform.say(sender, text, group=group, **more))

    return enter


def pressed(*, derived: bool) -> Enter:
    """An owner presses a button below words of an agent, which may have read words from outside."""

    async def enter(house: Besieged, _: OpenAIServer) -> Entries:
        offered = NewMessage(WORDS, buttons=((Button("ok", "ok"),),), derived=derived)
        address, outbox = Address("platform", "1"), house.hub.outbox
        (id,) = await outbox.send(address, offered, Context(SYSTEM), source=RowSource.TOOL)
        await outbox.outcome([id], WAIT_LIMIT_S)
        assert house.platform.receive is not None
        await house.platform.receive(ButtonPressed(address, "e", "platform:user:1", message_id=id, value="ok"))
        return await stored(house)

    return enter


def automated(message: str, trigger: str) -> Enter:
    """An automation of the owner's has the agent told something."""

    async def enter(house: Besieged, _: OpenAIServer) -> Entries:
        actions = f"[{{action: agent.run, data: {{session: main, message: '{message}'}}}}]"
        id = await add(house, f"id: door\ntriggers: [{trigger}]\nactions: {actions}\n")
        if "webhook" in trigger:
            assert await webhook(house, "door", {"text": WORDS}) == 200
        elif "made_up" in trigger:
            await house.rpc("automation.trigger", {"id": id})
        else:
            token = (await house.token(WRITE))[1]
            fired = await house.rpc("event.fire", {"type": "gnome", "data": {"text": WORDS}}, token)
            assert "error" not in fired, fired
        await ended(house, id)
        return await house.entries(SESSION)

    return enter


def used(name: str, *, outside: bool = False, **arguments: Any) -> Enter:
    """The model uses a tool in the owner's conversation; what it reads may be from outside."""

    async def enter(house: Besieged, server: OpenAIServer) -> Entries:
        if outside:
            house.hub.workspaces.outside.mark("main", "notes.txt", WORDS.encode())
        (house.workspace / "notes.txt").write_text(WORDS)
        server.queue(tool_call(name, **arguments), "done")
        return await house.run("look")

    return enter


def integrated(*, open_world: bool) -> Enter:
    """A tool that an integration brings, which reaches beyond this home or does not."""

    async def enter(house: Besieged, server: OpenAIServer) -> Entries:
        async def run(_: ToolCall) -> ToolResult:
            return ToolResult(WORDS)

        marks = Annotations(read_only=True, destructive=False, open_world=open_world, owner_only=False, egress=False)
        house.hub.tools.register(Tool("gnome", "Ask the gnome.", from_schema({}), run, "test", marks))
        server.queue(tool_call("gnome"), "done")
        return await house.run("ask it")

    return enter


def answered(*, outside: bool) -> Enter:
    """The model says it, with words from outside before it or without."""

    async def enter(house: Besieged, server: OpenAIServer) -> Entries:
        if outside:
            house.hub.workspaces.outside.mark("main", "notes.txt", b"from outside")
            (house.workspace / "notes.txt").write_bytes(b"from outside")
            server.queue(tool_call("read", path="notes.txt"), WORDS)
        else:
            server.queue(WORDS)
        return await house.run("go on")

    return enter


SAY = {"sessionKey": SESSION, "message": WORDS, "idempotencyKey": "door"}
CHAT = {"model": "homarus", "messages": [{"role": "user", "content": WORDS}]}
WHOLE = {**CHAT, "stream": False}
RESPOND = {"model": "homarus", "input": WORDS}
TELL = {"message": WORDS}
BY_WEBHOOK = "{trigger: webhook, webhook_id: door}"
BY_EVENT = "{trigger: event, event_type: gnome}"
BY_OWNER = "{trigger: event, event_type: made_up}"

DOORS: Mapping[str, Door] = {
    "chat.send, owner": Door(method("chat.send", SAY), OWNER, "method chat.send"),
    "chat.send, token": Door(method("chat.send", SAY, WRITE), of("token:"), "method chat.send"),
    "agent, owner": Door(method("agent", SAY), OWNER, "method agent"),
    "agent, token": Door(method("agent", SAY, WRITE), of("token:"), "method agent"),
    "wake, token": Door(method("wake", {"text": WORDS, "mode": "next-heartbeat"}, WRITE), of("token:"), "method wake"),
    "/v1/chat/completions, owner": Door(posted("/v1/chat/completions", CHAT), OWNER, "route POST /v1/chat/completions"),
    "/v1/chat/completions, token": Door(
        posted("/v1/chat/completions", CHAT, WRITE), of("token:"), "route POST /v1/chat/completions"
    ),
    "/v1/messages, owner": Door(posted("/v1/messages", CHAT), OWNER, "route POST /v1/messages"),
    "/v1/messages, token": Door(posted("/v1/messages", CHAT, WRITE), of("token:"), "route POST /v1/messages"),
    "/v1/responses, owner": Door(posted("/v1/responses", RESPOND), OWNER, "route POST /v1/responses"),
    "/v1/responses, token": Door(posted("/v1/responses", RESPOND, WRITE), of("token:"), "route POST /v1/responses"),
    "/api/chat, owner": Door(posted("/api/chat", WHOLE), OWNER, "route POST /api/chat"),
    "/api/chat, token": Door(posted("/api/chat", WHOLE, WRITE), of("token:"), "route POST /api/chat"),
    "dashboard": Door(from_the_dashboard, OWNER, "route POST /chat/send"),
    "webhook": Door(
        automated("{{ trigger.json.text }}", BY_WEBHOOK),
        of("owner", derived=True),
        "route POST /api/webhook/{webhook_id}",
    ),
    "event of a token": Door(
        automated("{{ trigger.event.data.text }}", BY_EVENT), of("owner", derived=True), "method event.fire"
    ),
    "automation": Door(automated(WORDS, BY_OWNER), OWNER, "service agent.run"),
    "service, token": Door(called("agent.run", TELL, WRITE), of("token:", derived=True), "method service.call"),
    "platform, owner": Door(on_the_platform("platform:user:1"), OWNER, "inbound InboundMessage"),
    "platform, person": Door(
        on_the_platform("platform:user:2"), of("person:anna", trusted=True), "inbound InboundMessage"
    ),
    "platform, stranger": Door(on_the_platform("platform:user:9"), of("peer:"), "inbound InboundMessage"),
    "button, owner": Door(pressed(derived=False), OWNER, "inbound ButtonPressed"),
    "button, after others' text": Door(pressed(derived=True), of("owner", derived=True), "inbound ButtonPressed"),
    "group, stranger": Door(on_the_platform("platform:user:9", "-100"), of("peer:"), "inbound InboundMessage"),
    "tool, our file": Door(used("read", path="notes.txt"), of("read", trusted=True), "tool read"),
    "tool, file from outside": Door(used("read", outside=True, path="notes.txt"), of("read"), "tool read"),
    "grep, file from outside": Door(used("grep", outside=True, pattern="gnome"), of("grep"), "tool grep"),
    "integration's tool": Door(integrated(open_world=False), of("gnome", trusted=True), "tool of an integration"),
    "integration's tool beyond home": Door(integrated(open_world=True), of("gnome"), "tool of an integration"),
    "model": Door(answered(outside=False), of("model", trusted=True), "model"),
    "model, after text that others wrote": Door(answered(outside=True), of("model", derived=True), "model"),
}


def said(entries: Entries) -> list[TranscriptEntry]:
    return [each for each in entries if each.message is not None and WORDS in each.message.text]


@pytest.mark.parametrize("name", DOORS)
async def test_what_comes_through_a_door_is_stored_with_who_said_it(
    house: Besieged, openai_server: OpenAIServer, name: str
) -> None:
    house.deny_what_is_asked()
    door = DOORS[name]

    entry = said(await door.enter(house, openai_server))[0]

    stored = entry.provenance
    assert stored.who.startswith(door.stored.who), stored
    assert (stored.trusted, stored.derived) == (door.stored.trusted, door.stored.derived), stored


# --- nothing is left out ---

NOT_INTO_CONVERSATIONS = {
    "method": {
        *("approval.resolve", "exec.approval.resolve", "integration.reload", "integration.enable"),
        *("integration.info", "integration.install", "integration.remove"),
        *("integration.disable", "memory.forget", "memory.index", "memory.verify", "memory.undo", "memory.export"),
        *("memory.intents.remove", "memory.tidy", "automation.on", "automation.off", "automation.resume"),
        *("automation.test", "automation.backtest", "automation.trace.import", "automation.yaml"),
        *("automation.duplicate", "automation.delete", "blueprint.import", "blueprint.update", "blueprint.remove"),
        *("script.stop", "state.remove", "template.render", "cron.remove", "cron.run", "set-heartbeats"),
        *("update.status", "update.check", "update.run", "exec.approvals.get", "exec.approvals.set"),
        *("exec.approvals.node.get", "exec.approvals.node.set"),
        *("dashboard.link", "token.create", "token.list", "token.revoke"),
        *("device.pair.approve", "device.pair.reject", "device.pair.remove", "device.pair.rename"),
        *("device.token.revoke", "device.pair.setupCode", "device.pair.setupStatus"),
        *("node.pair.approve", "node.pair.reject", "node.pair.remove", "node.rename", "node.pending.enqueue"),
        "node.invoke",
        *("push.web.vapidPublicKey", "push.web.subscribe", "push.web.unsubscribe", "push.web.test"),
        *("push.web.state", "push.web.send"),
        *("pairing.approve", "pairing.deny", "pairing.revoke"),
        *("sessions.create", "sessions.patch", "sessions.reset", "sessions.trust", "sessions.delete"),
        "sessions.prune",
        *("secrets.list", "secrets.set", "secrets.remove"),
        "sessions.fork",  # what it copies keeps who said it
        *(
            "sessions.abort",
            "chat.abort",
            "channels.add",
            "channels.directory",
            "channels.link",
            "channels.login",
            "channels.remove",
        ),
        *("outbox.list", "outbox.get", "outbox.retry", "outbox.drop"),
        *("areas.create", "areas.update", "areas.remove"),
        *("entities.accept", "entities.update", "entities.remove"),
        *("hooks.info", "hooks.update", "skills.install", "skills.update", "skills.remove"),
        "skills.search",
        *(
            "models.test",
            "models.refresh",  # numbers about models, for nobody's prompt
            "models.scan",
            "models.default",
            "models.fallbacks",
            "models.aliases",
            "models.auth.list",
            "models.auth.add",
        ),
        *("models.providers.connect", "models.providers.hello", "models.providers.add"),
        *("models.auth.login", "models.auth.complete", "models.auth.wait", "models.auth.remove"),
        *("runs.list", "runs.get", "runs.sent", "subagents.list", "subagents.kill"),
        *("timeline.list", "timeline.get"),
        "runs.replay",  # its run keeps nothing
        *("sandbox.recreate", "sandbox.prune"),
        *("agents.get", "agents.delete", "models.providers.remove"),
        *("backup.create", "backup.list", "backup.status", "backup.verify", "backup.delete"),
        *("backup.preview", "backup.restore", "backup.goBack", "backup.forgetReplaced"),  # as they were said
        *("repairs.fix", "repairs.ignore", "security.audit", "security.fix"),
        *("audit.log", "audit.verify", "diagnostics.bundle"),
        *("migrate.plan", "migrate.list", "migrate.undo"),
    },
    "route": {
        *("POST /preferences", "POST /login", "POST /logout", "POST /api/login", "POST /api/logout"),
        *("POST /settings/save", "POST /settings/people/add"),
        *("POST /settings/people/token", "POST /settings/people/revoke"),
        *("POST /config/check", "POST /config/complete", "POST /config/save", "POST /config/restore"),
        *("POST /config/reload", "POST /chat/abort", "POST /chat/new", "POST /chat/rename", "POST /chat/delete"),
        *("POST /chat/place", "POST /chat/incognito", "POST /chat/fork", "POST /chat/model"),
        *("POST /notifications/key", "POST /notifications/state", "POST /notifications/test"),
        *("POST /notifications/subscribe", "POST /notifications/unsubscribe", "POST /customise/order"),
        *("POST /channels/probe", "POST /channels/add", "POST /channels/link", "POST /channels/remove"),
        *("POST /channels/pairing", "POST /channels/revoke", "POST /channels/message"),
        *("POST /agents/models/add", "POST /agents/models/test", "POST /agents/models/default"),
        "POST /agents/models/fallback",
        *("POST /timeline/ask", "POST /timeline/stop"),
        *("POST /devices/pair", "POST /devices/answer", "POST /devices/rename", "POST /devices/remove"),
        *("POST /automations/reminders/add", "POST /automations/reminders/done", "POST /automations/reminders/snooze"),
        *("POST /approvals/answer", "POST /automations/turn", "POST /automations/run"),
        *("POST /automations/import-trace", "POST /automations/duplicate", "POST /automations/delete"),
        *("POST /automations/check", "POST /automations/edit", "POST /blueprints/use", "POST /blueprints/import"),
        "POST /automations/describe",
        *("POST /blueprints/update", "POST /blueprints/remove", "POST /scripts/run", "POST /scripts/check"),
        *("POST /scripts/edit", "POST /scripts/delete", "POST /memory/delete", "POST /memory/forget"),
        *("POST /memory/undo", "POST /memory/intents/remove", "POST /memory/index", "POST /developer/remove"),
        *("POST /developer/templates", "POST /developer/preview", "DELETE /v1/responses/{id}"),
        *("POST /v1/audio/transcriptions", "POST /v1/embeddings", "POST /api/show"),
        *("POST /entities/accept", "POST /entities/save", "POST /areas/add", "POST /areas/save", "POST /areas/remove"),
        *("POST /skills/change", "POST /skills/remove", "POST /skills/install", "POST /skills/search"),
        *("POST /integrations/change", "POST /integrations/remove", "POST /integrations/install"),
        *("POST /areas/room", "POST /devices/reach"),
        *("POST /customise/move", "POST /customise/favourites", "POST /reminder"),
        *("POST /welcome", "POST /welcome/model", "POST /welcome/found", "POST /welcome/from", "POST /welcome/leave"),
        *("POST /agents/new", "POST /agents/default", "POST /agents/remove", "POST /agents/models/remove"),
        *("POST /agents/picture", "POST /agents/preview", "POST /memory/lists/tick"),
        *("POST /settings/people/person", "POST /settings/people/remove", "POST /settings/privacy/forget"),
        *("POST /settings/status/fix", "POST /settings/status/ignore"),
        *(f"POST /settings/backup/{each}" for each in ("back", "create", "delete", "forget", "open", "restore")),
        *(
            "POST /settings/backup/upload",
            "POST /settings/move/upload",
            "POST /settings/move/forget",
            "POST /settings/backup/verify",
            "POST /settings/security/mend",
        ),
        *("POST /settings/move/apply", "POST /settings/move/undo"),
        *("POST /settings/update/check", "POST /settings/update/run"),
    },
    "service": {
        *("agent.heartbeat_due", "automation.reload", "automation.toggle", "automation.turn_off"),
        *("automation.turn_on", "hub.check", "hub.reload", "hub.restart", "hub.stop", "memory.flush"),
        *("memory.forget", "memory.index", "memory.tidy", "persistent_notification.create", "logbook.log"),
        *("node.invoke", "node.notify", "mobile_app.notify"),
        *("backup.create", "persistent_notification.dismiss", "persistent_notification.dismiss_all", "script.reload"),
        *("script.toggle", "script.turn_off", "phone.notify", "group.remove", "group.set", "scene.apply"),
        *("scene.create", "scene.delete"),
        *(f"{domain}.reload" for domain in RELOADED),
        *(f"{domain}.{name}" for domain, services in ENTITY_DOMAINS.items() for name in services),
        *(f"homeassistant.{name}" for name in (*GENERIC, "update_entity")),
    },
    "inbound": {
        *("MessageDeleted", "MembershipChanged", "CommandUsed"),
    },
}
"""What changes things and puts no words into a conversation: switches, keys, files of the configuration, events."""
ELSEWHERE = {
    "method": {
        # By the door of the method or service that they are words for, and tested there.
        "canvas.press": "as POST /canvas/press, of what a phone shows",
        "chat.inject": "said by the owner alone, as the assistant",
        "system-event": "as wake, of the owner alone",
        "automation.trigger": "variables, as event.fire",
        "automation.save": "an automation of the owner's",
        "automation.draft": "a draft for the owner, of a sentence of theirs",
        "automation.try": "as automation.save, one card of it at once: security_review/test_automations_rights",
        "blueprint.use": "an automation of the owner's",
        "cron.add": "an automation of the owner's",
        "cron.update": "an automation of the owner's",
        **dict.fromkeys(("config.set", "config.apply", "config.patch", "config.correct"), "the owner's files"),
        **dict.fromkeys(("agents.files.set", "agents.create", "agents.update"), "the owner's files"),
        "question.resolve": "the result of ask_user: integrations/tools/test_asking",
        "script.run": "variables, as event.fire",
        "state.set": "as event.fire",
        "tools.invoke": "tainted for all but the owner: gateway/test_tools",
        "tools.run": "as tools.invoke",
        **dict.fromkeys(("exec.log", "exec.rules.list", "exec.rules.remove"), "no words of others"),
        **dict.fromkeys(("message.poll", "message.react", "message.send"), "words of the hub to people"),
        "send": "words of the hub to people",
        "sessions.compact": "a summary of the conversation with its taint; the owner alone says what it should contain",
        "memory.add": "test_memory_outside",
        "memory.write": "test_memory_outside",
        "memory.import": "test_memory_outside",
        "migrate.apply": "the owner's files; conversations come tainted: migrate/test_conversations",
        "memory.intents.add": "test_memory_outside",
        "talk.open": "a ticket for the one who asks; the words are theirs, as chat.send: tests/voice/methods",
        **dict.fromkeys(("voicewake.set", "voicewake.routing.set"), "words that wake, never in a conversation"),
    },
    "route": {
        "POST /devices/voice/hear": "what was heard is shown to the one who spoke",
        "POST /devices/voice/settings": "the owner's configuration",
        "POST /devices/voice/timer": "no words: which timer, and what becomes of it",
        **dict.fromkeys(("POST /devices/voice/say", "POST /devices/voice/speak"), "words of the hub to people"),
        "PUT /api/webhook/{webhook_id}": "as POST",
        "POST /api/notification/{key}/{what}": "as event.fire",
        "POST /api/rpc": "the methods",
        "POST /memory/save": "memory.write",
        "POST /questions/answer": "question.resolve",
        "POST /canvas/press": "security_review/test_canvas_press",
        "POST /secrets/answer": "no words: integrations/tools/test_secrets",
        "POST /tools/invoke": "tools.invoke",
        "POST /channels/send": "message.send",
        "POST /agents/agent": "agents.files.set",
        "POST /memory/remember": "memory.add",
        "POST /memory/lists/add": "memory.add",
        "POST /memory/intents/add": "memory.intents.add",
        "POST /developer/set": "state.set",
        "POST /developer/fire": "event.fire",
        "POST /developer/services": "service.call",
        "POST /entities/do": "service.call",
        "POST /timeline/again": "chat.send, of what the same person said; automation.trigger",
    },
    "tool": {
        "ask_secret": "no words of others",
        "canvas": "security_review/test_canvas_press",
        "show_widget": "integrations/tools/test_canvas",
        "ask_user": "integrations/tools/test_asking",
        "call_service": "test_automations_taint",
        "home": "as call_service: integrations/tools/test_home",
        "edit": "test_laundering",
        "use_tool": "as the tool it names",
        "write": "test_laundering",
        "exec": "integrations/tools/shell: its output is outside words but for plain listings",
        "process": "as exec",
        "nodes": "tests/nodes/test_tool: what a node answers is outside words",
        "code_run": "integrations/tools/test_code_run: its output is outside words",
        "apply_patch": "test_file_changes",
        "find": "test_laundering",
        "image": "tests/agent/tools/test_image",
        "ls": "test_laundering",
        "message": "words of the hub to people",
        "find_tools": "no words of others",
        "forget": "test_memory_outside",
        "gateway": "integrations/tools/test_gateway: no words of others",
        "get_state": "test_automations_taint",
        "hub_docs": "no words of others",
        "memory_get": "test_memory_outside",
        "memory_search": "test_memory_outside",
        "read_result": "test_kept_results",
        "remember": "test_memory_outside",
        "schedule": "test_automations_taint",
        "session_status": "no words of others",
        "sessions_list": "integrations/tools/test_sessions",
        "sessions_history": "integrations/tools/test_sessions",
        "sessions_search": "integrations/tools/test_session_search",
        "agents_list": "no words of others",
        "sessions_send": "tests/agent/exchanges/test_exchanges",
        "sessions_spawn": "tests/agent/subagents/test_subagents",
        "subagents": "tests/agent/subagents/test_subagents",
        "standing_intent": "test_memory_outside",
        "skill": "tests/skills/test_registry: what the owner enabled, unchanged",
        "skill_propose": "tests/skills/test_control: off until the owner enables it",
        "calculator": "no words of others",
        **{name: f"integrations/tools/test_{name}" for name in ("rss", "web_fetch", "web_search")},
        "why": "timeline/test_timeline",
    },
    "service": {
        "agent.heartbeat": "as agent.run",
        "agent.system_event": "as wake",
        "automation.trigger": "as event.fire",
        "script.turn_on": "as event.fire",
        "memory.add": "test_memory_outside",
        "memory.get": "test_memory_outside",
        "memory.search": "test_memory_outside",
        "message.send": "words of the hub to people",
        **dict.fromkeys(("notify.anna", "notify.me", "notify.notify", "notify.send"), "words of the hub to people"),
        "tool.invoke": "below",
        "rss.items": "as web.fetch",
        "web.fetch": "test_automations_taint",
        "web_search.search": "as web.fetch",
    },
    "inbound": {
        "InboundEvent": "the base of events",
        "PollAnswered": "beside the next message: messaging/test_feedback",
        "ReactionChanged": "beside the next message: messaging/test_feedback",
        "MessageEdited": "other words of a sender for a message that waits, under its rights",
    },
}


def there(house: Besieged) -> dict[str, set[str]]:
    """What is registered in a whole hub, by kind."""
    gateway = house.hub.gateway
    return {
        "method": {each.name for each in gateway.methods if each.acts or each.scope in (WRITE, ADMIN)},
        "route": {f"{each.method} {each.path}" for each in gateway.routes if each.method != "GET"},
        "tool": {each.name for each in house.hub.tools.all()},
        "service": {f"{each.domain}.{each.name}" for each in house.hub.services.all()},
        "inbound": {"InboundMessage", "InboundEvent", *(kind.__name__ for kind in InboundEvent.__subclasses__())},
    }


@pytest.mark.parametrize("kind", ["method", "route", "tool", "service", "inbound"])
async def test_every_door_is_listed(house: Besieged, kind: str) -> None:
    doors = {name.partition(" ")[2] for door in DOORS.values() if (name := door.registered).startswith(f"{kind} ")}
    listed = (doors - {"of an integration"}) | NOT_INTO_CONVERSATIONS.get(kind, set()) | set(ELSEWHERE[kind])

    assert there(house)[kind] == listed


@pytest.mark.parametrize(("scopes", "trusted"), [((), True), ((WRITE,), False)])
async def test_what_a_tool_gives_back_to_a_token_is_not_trusted(
    house: Besieged, scopes: tuple[str, ...], trusted: bool
) -> None:
    headers = (await house.token(*scopes))[1] if scopes else house.owner
    data = {"tool": "write", "arguments": {"path": "inbox/gnome.md", "content": WORDS}}

    answer = await house.rpc("service.call", {"service": "tool.invoke", "data": data, "response": True}, headers)

    assert answer["response"]["trusted"] is trusted
