"""Automations as their owner meets them: written into a file, set off, looked at, understood."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.e2e.automating import add, call_webhook, not_run, run_json, seeded_home, status, traces, write
from tests.e2e.talk import chat, until
from tests.servers.hub_process import HubProcess

LISTED = ["id", "alias", "state", "mode", "current", "last_triggered", "next_run", "error"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(seeded_home(tmp_path_factory.mktemp("automations") / "home")) as hub:
        yield hub
    assert "Traceback" not in hub.log.read_text()


def result(trace: dict[str, object], path: str) -> dict[str, object]:
    steps = trace["steps"]
    assert isinstance(steps, dict)
    found: dict[str, object] = steps[path][0]["result"]
    return found


def own_address() -> str:
    """An address of this machine that is not a loopback one; skips where there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address of its own")
        address = str(probe.getsockname()[0])
    if address.startswith("127."):
        pytest.skip("this machine has no address of its own")
    return address


# --- what there is ---


def test_a_fresh_home_has_a_heartbeat_and_its_list_has_the_promised_shape(hub: HubProcess) -> None:
    found = run_json(hub, "automation", "list")

    heartbeat = found[0]
    assert list(heartbeat) == LISTED
    assert heartbeat["id"] == "heartbeat"
    assert heartbeat["state"] == "on"
    assert heartbeat["mode"] == "single"
    assert heartbeat["current"] == 0
    assert heartbeat["error"] is None
    assert heartbeat["next_run"] is not None
    assert "heartbeat" in hub.cli("automation", "list").stdout
    assert hub.cli("check").returncode == 0


def test_an_automation_that_is_written_while_the_hub_runs_is_in_force_and_no_other_is_touched(hub: HubProcess) -> None:
    add(
        hub,
        """
        - id: untouched
          triggers: [{trigger: event, event_type: touch}]
          actions: [{delay: 300}]
        """,
    )
    hub.rpc("event.fire", {"type": "touch"})
    until(lambda: status(hub, "untouched")["current"] == 1)

    add(
        hub,
        """
        # The bell at the front door.
        - id: bell
          alias: Bell # rings
          triggers: [{trigger: event, event_type: doorbell}]
          actions: [{event: rang, event_data: {by: "{{ trigger.event.data.who }}"}}]
        """,
    )

    assert status(hub, "untouched")["current"] == 1
    assert "alias: Bell # rings" in (hub.home / "automations.yaml").read_text()
    assert hub.cli("automation", "off", "untouched").returncode == 0
    assert traces(hub, "untouched")[0]["outcome"] == "cancelled"


# --- what sets them off ---


def test_an_event_that_is_fired_by_hand_sets_it_off(hub: HubProcess) -> None:
    add(
        hub,
        """
        - id: on_event
          triggers: [{trigger: event, event_type: parcel}]
          actions: [{event: told, event_data: {by: "{{ trigger.event.data.who }}"}}]
        """,
    )

    fired = hub.cli("event", "fire", "parcel", "--data", '{"who": "Anna"}')
    traces(hub, "on_event")
    shown = run_json(hub, "automation", "trace", "on_event")

    assert fired.returncode == 0, fired.stderr
    assert {"run_id", "trigger", "started", "finished", "outcome", "steps"} <= set(shown[0])
    assert shown[0]["outcome"] == "finished"
    assert result(shown[0], "action/0") == {"event": "told", "event_data": {"by": "Anna"}}


def test_a_state_that_is_set_by_hand_sets_it_off_and_what_does_not_match_says_why(hub: HubProcess) -> None:
    add(
        hub,
        """
        - id: on_state
          triggers: [{trigger: state, entity_id: input.door, from: closed, to: open}]
          conditions: [{condition: state, entity_id: input.alarm, state: armed}]
          actions: [{event: told}]
        """,
    )
    for entity, state in (("input.alarm", "off"), ("input.door", "closed"), ("input.door", "open")):
        assert hub.cli("state", "set", entity, state).returncode == 0
    not_run(hub, "on_state")
    why = run_json(hub, "automation", "trace", "on_state", "--not-run")

    for entity, state in (("input.alarm", "armed"), ("input.door", "closed"), ("input.door", "open")):
        assert hub.cli("state", "set", entity, state).returncode == 0

    assert why[0]["reason"] == "conditions"
    assert "input.alarm" in why[0]["text"]
    assert len(traces(hub, "on_state")) == 1
    assert run_json(hub, "state", "get", "input.door")["state"] == "open"


def test_a_webhook_without_a_secret_is_for_this_machine_alone(hub: HubProcess) -> None:
    add(
        hub,
        """
        - id: on_webhook
          triggers: [{trigger: webhook, webhook_id: local-hook}]
          actions: [{event: told, event_data: {json: "{{ trigger.json.x }}", query: "{{ trigger.query.q }}"}}]
        """,
    )
    json_type = {"Content-Type": "application/json"}

    near = call_webhook(hub, "local-hook", b'{"x": 1}', json_type, query="?q=7")
    proxied = call_webhook(hub, "local-hook", b"{}", {**json_type, "X-Forwarded-For": "203.0.113.9"})
    unknown = call_webhook(hub, "nobodys-hook")
    got = call_webhook(hub, "local-hook", method="GET")

    assert (near, proxied, unknown, got) == (200, 404, 404, 405)
    assert [result(trace, "action/0")["event_data"] for trace in traces(hub, "on_webhook")] == [{"json": 1, "query": 7}]


def test_a_webhook_with_a_secret_takes_only_those_who_know_it(hub: HubProcess) -> None:
    add(
        hub,
        """
        - id: on_secret
          triggers:
            - {trigger: webhook, webhook_id: secret-hook, local_only: false, secret: a-long-enough-secret}
            - trigger: webhook
              webhook_id: signed-hook
              local_only: false
              secret: a-long-enough-secret
              signature: github
          actions: [{event: told, event_data: {data: "{{ trigger.data }}"}}]
        """,
    )
    digest = hmac.new(b"a-long-enough-secret", b'{"a": 1}', sha256).hexdigest()
    signed = {"X-Hub-Signature-256": f"sha256={digest}", "Content-Type": "application/json"}

    answers = [
        call_webhook(hub, "secret-hook", b"a=b"),
        call_webhook(hub, "secret-hook", b"a=b", {"X-Webhook-Secret": "another-secret-of-theirs"}),
        call_webhook(hub, "secret-hook", b"a=b", {"X-Webhook-Secret": "a-long-enough-secret"}),
        call_webhook(hub, "secret-hook", b"a=b", {"Authorization": "Bearer a-long-enough-secret"}),
        call_webhook(hub, "signed-hook", b'{"a": 2}', signed),
        call_webhook(hub, "signed-hook", b'{"a": 1}', signed),
    ]

    assert answers == [401, 401, 200, 200, 401, 200]
    assert len(traces(hub, "on_secret", 3)) == 3


def test_a_sentence_is_answered_by_the_automation_and_a_message_sets_another_off(hub: HubProcess) -> None:
    add(
        hub,
        """
        - id: on_sentence
          triggers: [{trigger: conversation, command: "open the (window|skylight) [please]"}]
          actions:
            - set_conversation_response: "Opened, because of {{ trigger.sentence }}."
        """,
    )
    add(
        hub,
        """
        - id: on_message
          triggers: [{trigger: message, text: {contains: window}, from_owner: true}]
          actions: [{event: told, event_data: {text: "{{ trigger.message.text }}"}}]
        """,
    )

    answer = chat(hub, "open the window please")

    assert answer["reply"] == "Opened, because of open the window please."
    heard = result(traces(hub, "on_message")[0], "action/0")
    assert heard["event_data"] == {"text": "open the window please"}


def test_intervals_patterns_and_instants_set_it_off(hub: HubProcess) -> None:
    add(
        hub,
        """
        - id: on_time
          mode: queued
          trace: {stored_traces: 100}
          triggers:
            - {trigger: every, every: "1s", id: every}
            - {trigger: time_pattern, seconds: "/1", id: pattern}
            - {trigger: at, at: "1s", id: at}
            - {trigger: cron, expression: "* * * * *", id: minute}
          actions: [{event: told}]
        """,
    )

    until(lambda: {trace["trigger"]["id"] for trace in traces(hub, "on_time", 3)} >= {"every", "pattern", "at"})

    assert status(hub, "on_time")["next_run"] is not None
    run_json(hub, "automation", "off", "on_time")


# --- by hand, and without doing it ---


def test_it_is_run_by_hand_with_variables_and_read_back(hub: HubProcess) -> None:
    id = add(
        hub,
        """
        - id: by_hand
          alias: By hand
          triggers: [{trigger: event, event_type: never}]
          conditions: [{condition: template, value_template: "{{ false }}"}]
          actions:
            - if: [{condition: template, value_template: "{{ loud }}"}]
              then: [{event: loud, event_data: {who: "{{ who }}"}}]
              else: [{event: quiet}]
        """,
    )

    begun = run_json(hub, "automation", "trigger", id, "--variables", '{"who": "Ben", "loud": true}')
    refused = hub.cli("automation", "trigger", id, "--check-conditions")
    trace = traces(hub, id)[0]

    assert trace["run_id"] == begun["run_id"]
    assert result(trace, "action/0/then/0") == {"event": "loud", "event_data": {"who": "Ben"}}
    assert refused.returncode == 1
    assert hub.cli("automation", "trigger", "By hand", "--variables", '{"loud": false}').returncode == 0
    assert hub.cli("automation", "trigger", "nothing").returncode != 0
    text = hub.cli("automation", "trace", id).stdout
    assert "action/0/then/0" in text


def test_it_is_tried_dry_and_on_the_past_and_told_in_plain_words(hub: HubProcess) -> None:
    id = add(
        hub,
        """
        - id: tried
          triggers:
            - {trigger: event, event_type: tried_out, id: bell}
          actions:
            - action: message.send
              data: {text: "It is {{ now().hour }} and {{ trigger.id }}"}
            - delay: "01:00:00"
            - event: after
        """,
    )
    hub.rpc("event.fire", {"type": "tried_out"})
    until(lambda: status(hub, id)["current"] == 1)
    run_json(hub, "automation", "off", id)
    run_json(hub, "automation", "on", id)

    told = run_json(hub, "automation", "test", id, "--trigger", "bell", "--at", "2026-05-01T07:30")
    past = run_json(hub, "automation", "backtest", id, "--since", "1h")
    words = hub.cli("automation", "explain", id).stdout

    assert told["would_run"] is True
    assert [(call["path"], call["service"]) for call in told["calls"]] == [
        ("action/0", "message.send"),
        ("action/2", "event.after"),
    ]
    assert told["calls"][0]["data"]["text"] == "It is 7 and bell"
    assert len(past["runs"]) == 1
    assert [call["service"] for call in past["runs"][0]["calls"]] == ["message.send", "event.after"]
    assert "tried_out" in words
    assert len(traces(hub, id)) == 1


def test_services_templates_and_scripts_answer_on_the_command_line(hub: HubProcess) -> None:
    (hub.home / "scripts.yaml").write_text(
        "# kept\nadd_up:\n  alias: Add up\n  fields: {a: {required: true}, b: {default: 2}}\n  sequence:\n"
        "    - variables: {answer: {sum: '{{ a + b }}'}}\n    - stop: done\n      response_variable: answer\n"
    )
    until(lambda: "script.add_up" in hub.cli("service", "list").stdout)

    added = run_json(hub, "service", "call", "script.add_up", "--data", '{"a": 1, "b": 4}')
    missing = hub.cli("service", "call", "nothing.here")
    rendered = hub.cli("template", "{{ 6 * 7 }} {{ states('automation.heartbeat') }}")
    wrong = hub.cli("template", "{{ 6 | nothing }}")

    assert added["response"] == {"sum": 5}
    assert missing.returncode != 0
    assert "nothing.here" in missing.stderr
    assert rendered.stdout.strip() == "42 on"
    assert wrong.returncode != 0
    assert "nothing" in wrong.stderr
    assert "add_up" in hub.cli("script", "list").stdout


def test_services_take_bad_data_with_a_reason(hub: HubProcess) -> None:
    ran = hub.cli("service", "call", "message.send", "--data", '{"txt": "hi"}')
    not_json = hub.cli("event", "fire", "x", "--data", "{")

    assert ran.returncode == 2
    assert "txt" in ran.stderr
    assert not_json.returncode == 2


# --- from the network ---


def test_a_webhook_is_closed_to_the_network_without_its_secret(tmp_path: Path) -> None:
    address = own_address()
    home = seeded_home(tmp_path / "home")
    file = home / "configuration.yaml"
    file.write_text(file.read_text().replace("host: 127.0.0.1", "host: 0.0.0.0"))
    write(
        home,
        """
        - id: near
          triggers: [{trigger: webhook, webhook_id: near}]
          actions: [{event: told}]
        """,
        """
        - id: far
          triggers: [{trigger: webhook, webhook_id: far, local_only: false, secret: a-long-enough-secret}]
          actions: [{event: told}]
        """,
    )

    with HubProcess(home) as hub:
        near = call_webhook(hub, "near", host=address)
        far = call_webhook(hub, "far", host=address, headers={"X-Webhook-Secret": "a-long-enough-secret"})
        local = call_webhook(hub, "near")
        tries = [call_webhook(hub, f"guess-{number}", host=address) for number in range(25)]

        assert (near, far, local) == (404, 200, 200)
        assert tries[-1] == 429
        assert call_webhook(hub, "near") == 200
        assert len(traces(hub, "near")) >= 1


def test_listing_tells_times_that_lie_ahead(hub: HubProcess) -> None:
    add(
        hub,
        """
        - id: tomorrow
          triggers: [{trigger: time, at: "07:30"}]
          actions: [{event: told}]
        """,
    )

    found = status(hub, "tomorrow")

    assert found["next_run"].startswith("20")
    assert found["last_triggered"] is None
