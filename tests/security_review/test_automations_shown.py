"""What anybody writes into an automation, a trace, an event or a state is text on every page that shows it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from hub.automation.contract import NotRun
from tests.lengths import some
from tests.security_review.automating import add_scripts, ended, not_run
from tests.security_review.besieged import Besieged
from tests.security_review.test_routes import INJECTED, Markup, routes

LINK = "javascript:alert(1)"


@pytest.mark.timeout(600)
async def test_what_anybody_writes_is_text_on_the_pages_of_automations(house: Besieged) -> None:
    written: dict[str, Any] = {
        "id": "evil",
        "alias": INJECTED,
        "description": f"{INJECTED} [x]({LINK}) ![y](https://evil.example/z)",
        "triggers": [
            {"trigger": "webhook", "webhook_id": "evil", "alias": INJECTED, "id": INJECTED},
            {"trigger": "event", "event_type": "bell", "event_data": {INJECTED: INJECTED}},
        ],
        "conditions": [{"condition": "template", "value_template": "{{ not trigger.no }}", "alias": INJECTED}],
        "variables": {"a": "{{ trigger.json }}"},
        "actions": [
            {"variables": {"b": INJECTED}, "alias": INJECTED},
            {"event": "told", "event_data": {INJECTED: "{{ a }}"}},
            {"stop": INJECTED, "error": True},
        ],
    }
    saved = await house.rpc("automation.save", {"automation": written})
    assert "id" in saved, saved
    script = {"alias": INJECTED, "fields": {"a": {"name": INJECTED}}, "sequence": [{"stop": INJECTED}]}
    await add_scripts(house, f"  evil: {json.dumps(script)}\n")
    shown = {INJECTED: INJECTED, "link": LINK, "no": ""}
    async with house.http.post(f"{house.url}/api/webhook/evil", json=shown, headers={"User-Agent": INJECTED}) as told:
        assert told.status == 200
    run = (await ended(house, "evil"))[0]["run_id"]
    await house.rpc("automation.trigger", {"id": "evil", "skip_conditions": False, "variables": {"trigger": {"no": 1}}})
    await not_run(house, NotRun.CONDITIONS)
    await house.rpc("script.run", {"id": "evil"})
    attributes = {INJECTED: INJECTED, "friendly_name": INJECTED, "entity_picture": LINK, "icon": LINK}
    await house.rpc("state.set", {"entity_id": "sensor.evil", "state": INJECTED, "attributes": attributes})
    await house.rpc("event.fire", {"type": "told", "data": {INJECTED: INJECTED}})
    exported = await house.rpc("automation.trace.export", {"run_id": run})
    steps = {INJECTED: [{"error": INJECTED, "child": {"run_id": LINK}}]}
    exported["trace"] |= {"alias": INJECTED, "automation_id": "evil", "steps": steps}
    imported = (await house.rpc("automation.trace.import", {"trace": exported}))["run_id"]
    broken = house.hub.home.path / "automations.yaml"
    item = {"id": f"b{INJECTED}", "alias": INJECTED, "triggers": [{"trigger": INJECTED}]}
    broken.write_text(f"{broken.read_text()}\n- {json.dumps(item)}\n")
    await house.rpc("service.call", {"service": "hub.reload"})
    cookie = await house.cookie()
    seen = 0
    opened: set[str] = set()
    for turn, route in enumerate(routes(house)):
        if route.method != "GET" or route.websocket or route.owner != "web" or route.path.startswith("/static/"):
            continue
        for id in ("evil", quote(INJECTED, safe=""), quote(f"b{INJECTED}", safe="")):
            path = route.path.replace("{id}", id).replace("{path:*}", "x")
            keys = ("id", "script", "key", "path", "entity", "service", "q", "type")
            asked = (run, imported, quote(INJECTED))
            queries = (
                "",
                "?view=yaml",
                "?view=not_run",
                *(f"?run={each}" for each in asked),
                "?" + "&".join(f"{key}={id}" for key in keys),
                "?" + "&".join(f"{key}={quote(INJECTED)}" for key in keys),
            )
            for query in some(queries, turn, one_of=3):
                if (address := f"{path}{query}") in opened:
                    continue
                opened.add(address)
                page = await house.go(route, cookie | {"Accept": "text/html"}, path=address)
                if not page.headers.get("Content-Type", "").startswith("text/html"):
                    continue
                markup = Markup()
                markup.feed(page.body.decode())

                assert page.status < 500, (address, page.body[:300])
                assert markup.found == set(), address
                seen += b"onerror=alert" in page.body
    assert seen > 10
