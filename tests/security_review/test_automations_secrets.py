"""Secrets that stand in automations are in no trace, file of history, approval, notice, explanation or log."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.security_review.automating import add, ended
from tests.security_review.besieged import SECRET, WAIT_LIMIT_S, Besieged

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
    for file in house.hub.home.storage.rglob("*"):
        if file.is_file() and file.name != "secrets.yaml":
            assert SECRET.encode() not in file.read_bytes(), file


async def test_an_approval_shows_no_secret_of_what_it_asks_for(house: Besieged) -> None:
    await add(house, USES.format(approval="required"))

    asking = asyncio.create_task(house.hub.bus.wait_for("approval_requested", timeout_s=WAIT_LIMIT_S))
    await asyncio.sleep(0)
    await house.rpc("automation.trigger", {"id": "uses"})
    asked = await asking
    waiting = await house.rpc("approval.get", {"id": asked.data["id"]})

    assert SECRET not in str(waiting)
    assert "web.fetch" in str(waiting)
