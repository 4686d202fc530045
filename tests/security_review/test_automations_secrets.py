"""Secrets that stand in automations are in no trace, file of history, approval, notice, explanation or log."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from typing import Any

import orjson

from hub.core.surfaces import READ
from tests.security_review.automating import add, add_scripts, ended
from tests.security_review.besieged import SECRET, WAIT_LIMIT_S, Besieged, files_in

USES = """
id: uses
approval: {approval}
triggers: []
variables: {{word: !secret key}}
actions:
  - {{event: told, event_data: {{key: !secret key, again: "{{{{ word }}}}"}}}}
  - action: web.fetch
    data: {{url: "https://nowhere.invalid/", headers: {{Authorization: "Bearer {{{{ word }}}}"}}}}
    continue_on_error: true
  - {{action: persistent_notification.create, data: {{message: "the key is {{{{ word }}}}"}}}}
  - {{stop: "the key is {{{{ word }}}}", error: true}}
"""


async def test_a_secret_that_an_automation_uses_is_shown_and_kept_nowhere(house: Besieged) -> None:
    await add(house, USES.format(approval="none"))
    run = (await house.rpc("automation.trigger", {"id": "uses"}))["run_id"]
    trace = (await ended(house, "uses"))[0]
    assert trace["outcome"] == "failed"
    asks: list[tuple[str, dict[str, Any]]] = [("automation.list", {}), ("automation.history", {}), ("state.list", {})]
    asks += [(f"automation.{each}", {"id": "uses"}) for each in ("get", "trace", "explain", "test", "not_run", "yaml")]
    asks += [("automation.trace.get", {"run_id": run}), ("automation.trace.export", {"run_id": run}), ("status", {})]
    asks += [("cron.runs", {"id": "uses"}), ("cron.list", {"enabled": "all"}), ("logs.tail", {})]
    for method, params in asks:
        assert SECRET not in str(await house.rpc(method, params)), method

    assert await house.hub.history.traces("uses", 5)  # reading writes first what waits
    files = [(path, data) for path, data in files_in(house.hub.home.storage) if path.name != "secrets.yaml"]
    assert [str(path) for path, data in files if SECRET.encode() in data] == []
    assert files


PIN = "4821"
OPENS = """
id: opens
triggers: []
variables: {door_pin: !secret door_pin}
actions:
  - {event: opened, event_data: {code: !secret door_pin, again: "{{ door_pin }}", told: ["it is {{ door_pin }}"]}}
  - {action: script.unlock, data: {code: !secret door_pin}}
  - {variables: {wanted: "{{ door_pin }}", told: "the PIN is {{ door_pin }}", all: "{{ [door_pin] }}"}}
  - {stop: "no door takes {{ door_pin }}", error: true}
"""
UNLOCK = """
  unlock:
    variables: {door_pin: !secret door_pin}
    sequence:
      - {variables: {wanted: "{{ door_pin }}", given: "{{ code }}"}}
"""


async def test_a_pin_of_four_digits_is_shown_and_kept_in_no_place_that_shows_automations(house: Besieged) -> None:
    secrets = house.hub.home.path / "secrets.yaml"
    secrets.write_text(f"{secrets.read_text()}\ndoor_pin: {PIN}\n")
    await add_scripts(house, UNLOCK)
    await add(house, OPENS)
    _, read = await house.token(READ)

    run = (await house.rpc("automation.trigger", {"id": "opens"}))["run_id"]
    trace = (await ended(house, "opens"))[0]
    asks: list[tuple[str, dict[str, Any]]] = [("automation.list", {}), ("automation.history", {}), ("script.list", {})]
    asks += [(f"automation.{each}", {"id": "opens"}) for each in ("get", "trace", "explain", "not_run")]
    asks += [("automation.explain", {"id": "script.unlock"}), ("automation.trace", {"id": "script.unlock"})]
    asks += [("automation.trace.get", {"run_id": run}), ("automation.trace.export", {"run_id": run})]
    asks += [("script.get", {"id": "unlock"}), ("blueprint.list", {}), ("state.list", {}), ("cron.list", {})]
    told = [(method, await house.rpc(method, params, read)) for method, params in asks]
    tried = await house.rpc("automation.test", {"id": "opens"})

    assert trace["outcome"] == "failed"
    assert trace["variables"]["door_pin"] == trace["variables"]["wanted"] == "[redacted]"
    assert trace["variables"]["told"] == "the PIN is [redacted]"
    assert "script.unlock" in str(trace)
    for method, answer in [*told, ("automation.test", tried)]:
        assert not isinstance(answer.get("error"), dict), (method, answer)
        assert not holds_pin(answer), (method, answer)
    assert await house.hub.history.traces("opens", 5)  # reading writes first what waits
    with sqlite3.connect(house.hub.home.storage / "history.db") as history:
        rows = history.execute("SELECT data FROM traces UNION ALL SELECT data FROM events").fetchall()
    assert any("[redacted]" in row[0] for row in rows)
    assert not any(holds_pin(orjson.loads(row[0])) for row in rows)


async def test_a_secret_that_is_read_as_a_number_is_not_shown(house: Besieged) -> None:
    secrets = house.hub.home.path / "secrets.yaml"
    secrets.write_text(f"{secrets.read_text()}\nrounds: {PIN}\n")
    await add(house, "id: often\ntriggers: []\nactions: [{repeat: {count: !secret rounds, sequence: [{stop: x}]}}]\n")

    await house.rpc("automation.trigger", {"id": "often"})
    await ended(house, "often")

    for method in ("get", "trace", "explain"):
        answer = await house.rpc(f"automation.{method}", {"id": "often"})
        assert "error" not in answer or not isinstance(answer["error"], dict), answer
        assert not holds_pin(answer), (method, answer)


def holds_pin(value: Any) -> bool:
    """Whether any text or number in data shows the PIN; times and ids may hold its digits."""
    if isinstance(value, dict):
        return any(holds_pin(each) for each in value.values())
    if isinstance(value, list):
        return any(holds_pin(each) for each in value)
    return re.search(rf"(?<![\w.]){PIN}(?!\w)", str(value)) is not None


async def test_an_approval_shows_no_secret_of_what_it_asks_for(house: Besieged) -> None:
    await add(house, USES.format(approval="required"))

    asking = asyncio.create_task(house.hub.bus.wait_for("approval_requested", timeout_s=WAIT_LIMIT_S))
    await asyncio.sleep(0)
    await house.rpc("automation.trigger", {"id": "uses"})
    asked = await asking
    waiting = await house.rpc("approval.get", {"id": asked.data["id"]})

    assert SECRET not in str(waiting)
    assert "web.fetch" in str(waiting)
