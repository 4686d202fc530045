"""The protocol's cron methods over the real door, engine and files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.automation.heartbeat.heartbeat_shape import heartbeat_payload
from hub.automation.methods.cron import CronMethods
from hub.automation.tracing.trace_store import TraceStore
from hub.core.context import Context
from hub.core.errors import HubError, InvalidRequest
from hub.core.events import Event
from hub.core.schema import SchemaError, describe_error
from hub.core.surfaces import ADMIN, READ, WRITE, Caller, MethodCall
from hub.security.redaction import Redactor
from tests.automation.ground import BERLIN, NEW_YEAR
from tests.automation.rigged_schedule import FIRST, Rig
from tests.automation.services.desk import Desk
from tests.servers.openai_server import OpenAIServer

EVERY = {"kind": "every", "everyMs": 7_200_000}
TELL = {"kind": "agentTurn", "message": "tell the news"}


class Client:
    """Calls the methods as the gateway does: parameters validated, with the owner's authority."""

    def __init__(self, rig: Rig, desk: Desk) -> None:
        self.rig = rig
        self.desk = desk
        self.traces = TraceStore(None, Redactor(), rig.clock.time, lambda: BERLIN)
        made = CronMethods(
            rig.door, rig.automations, self.traces, desk.post.agents, desk.events, heartbeats=desk.heartbeats
        )
        self.methods = {method.name: method for method in made.methods()}

    async def call(self, method_name: str, /, **params: Any) -> Any:
        method = self.methods[method_name]
        try:
            valid = method.schema(params)
        except SchemaError as error:
            raise InvalidRequest(describe_error(error)) from error
        caller = Caller(self.rig.owner, "hub", "127.0.0.1", True)
        return await method.handler(MethodCall(method_name, valid, caller, Context(self.rig.owner)))


@pytest.fixture
async def client(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Client]:
    desk = Desk(tmp_path / "desk", openai_server.base_url)
    rig = Rig(tmp_path / "home")
    await desk.open()
    await rig.open()
    yield Client(rig, desk)
    await rig.close()
    await desk.close()


async def test_a_job_is_added_listed_changed_and_removed(client: Client) -> None:
    job = await client.call("cron.add", name="News", schedule=EVERY, payload=TELL, sessionTarget="isolated")

    assert job["schedule"] == {**EVERY, "anchorMs": int(NEW_YEAR * 1000)}
    assert job["payload"] == TELL
    assert (job["sessionTarget"], job["delivery"]) == ("isolated", {"mode": "announce", "channel": "last"})
    assert job["state"]["nextRunAtMs"] == int(NEW_YEAR * 1000) + 7_200_000
    page = await client.call("cron.list")
    assert page["jobs"] == [await client.call("cron.get", id=job["id"])] == [job]
    assert (page["snapshotRevision"].startswith("sha256:"), page["hasMore"], page["nextOffset"]) == (True, False, None)

    patch = {
        "schedule": {"kind": "cron", "expr": "0 7 * * *", "tz": "UTC"},
        "payload": {"kind": "agentTurn", "model": "m"},
    }
    changed = await client.call("cron.update", id=job["id"], patch=patch)
    assert changed["schedule"] == {"kind": "cron", "expr": "0 7 * * *", "tz": "UTC"}
    assert changed["payload"] == {**TELL, "model": "m"}

    assert (await client.call("cron.remove", jobId=job["id"]))["removed"] is True
    assert client.rig.read() == FIRST


async def test_each_kind_of_job_becomes_what_it_says(client: Client) -> None:
    at = {"kind": "at", "at": "2026-01-01T10:00:00Z"}
    event = await client.call(
        "cron.add", schedule=at, payload={"kind": "systemEvent", "text": "look"}, sessionTarget="main", wakeMode="now"
    )
    reminder = await client.call(
        "cron.add",
        schedule={"kind": "at", "atMs": int(NEW_YEAR * 1000) + 60_000},
        payload={"kind": "message", "text": "cake"},
        delivery={"mode": "announce", "channel": "test", "to": "42"},
    )

    assert (event["wakeMode"], event["sessionTarget"], event["deleteAfterRun"]) == ("now", "main", True)
    items = client.rig.config.current.raw["automation"]
    assert items[1]["actions"][0]["data"] == {"text": "look", "agent": "main", "session": "main", "mode": "now"}
    assert items[2]["actions"][0]["data"] == {"text": "cake", "channel": "test", "to": "42"}
    assert reminder["delivery"] == {"mode": "announce", "channel": "test", "to": "42"}
    assert "made_by" not in items[1]


async def test_an_interval_may_be_text_and_a_time_in_another_zone(client: Client) -> None:
    every = await client.call("cron.add", schedule={"kind": "every", "every": "2h"}, payload=TELL)
    assert every["schedule"] == {**EVERY, "anchorMs": int(NEW_YEAR * 1000)}

    at = {"kind": "at", "at": "2026-01-01T18:00", "tz": "Asia/Tokyo"}
    assert (await client.call("cron.add", schedule=at, payload=TELL))["schedule"]["at"] == "2026-01-01T18:00:00+09:00"


async def test_a_job_runs_when_it_is_told_to(client: Client) -> None:
    job = await client.call("cron.add", schedule=EVERY, payload=TELL)

    assert (await client.call("cron.run", id=job["id"], mode="due"))["reason"] == "not-due"
    ran = await client.call("cron.run", id=job["id"])

    assert (ran["ok"], ran["ran"]) == (True, True)
    assert ran["runId"]


async def test_what_ran_is_told(client: Client) -> None:
    job = await client.call("cron.add", schedule=EVERY, payload=TELL)
    client.traces.add(
        {
            "run_id": "r1",
            "automation_id": job["id"],
            "alias": "News",
            "started": "2026-01-01T02:00:00.000+01:00",
            "finished": "2026-01-01T02:00:01.500+01:00",
            "outcome": "finished",
            "steps": {"action/0": [{"child": {"run_id": "auto-1"}}]},
        }
    )

    await client.rig.db.write(
        lambda connection: (
            connection.execute(
                "INSERT INTO runs(id, agent_id, session_key, kind, state, created_ms, reply)"
                " VALUES ('auto-1', 'main', 'k', 'message', 'answered', 0, 'all quiet')"
            ).rowcount
        )
    )

    entries = (await client.call("cron.runs", id=job["id"]))["entries"]

    assert entries[0]["status"] == "ok"
    assert (entries[0]["durationMs"], entries[0]["summary"], entries[0]["sessionKey"]) == (1_500, "all quiet", "k")
    assert (await client.call("cron.runs", status="error"))["entries"] == []


async def test_jobs_that_are_switched_off_are_listed_when_asked_for(client: Client) -> None:
    job = await client.call("cron.add", schedule=EVERY, payload=TELL, enabled=False)

    assert (await client.call("cron.list"))["jobs"] == []
    assert [each["id"] for each in (await client.call("cron.list", includeDisabled=True))["jobs"]] == [job["id"]]
    with pytest.raises(HubError):
        await client.call("cron.run", id=job["id"])
    assert (await client.call("cron.status"))["jobs"] == 1


async def test_pages_go_on(client: Client) -> None:
    for number in range(3):
        await client.call("cron.add", name=f"n{number}", schedule=EVERY, payload=TELL)

    page = await client.call("cron.list", limit=2, sortBy="name", sortDir="desc")

    assert [job["name"] for job in page["jobs"]] == ["n2", "n1"]
    assert (page["total"], page["hasMore"], page["nextOffset"]) == (3, True, 2)


async def test_wake_and_system_events_reach_the_agent(client: Client) -> None:
    woken: list[Event] = []
    client.desk.post.bus.listen("heartbeat_wake", woken.append)

    await client.call("wake", mode="next-heartbeat", text="later")
    await client.call("wake", text="now")
    await client.call("system-event", text="seen")
    await client.call("system-event", text="Node: a phone", deviceId="x", whatever=1)

    waiting = await client.desk.events.waiting(agent_id="main")
    assert [each.text for each in waiting] == ["later", "now", "seen"]
    assert len(woken) == 1


async def test_the_last_heartbeat_is_told(client: Client, openai_server: OpenAIServer) -> None:
    assert await client.call("last-heartbeat") is None
    client.desk.write_checks("- look")
    openai_server.queue("The door is open!")
    await client.desk.call("agent.heartbeat", {"target": {"channel": "test", "to": "42"}})

    told = await client.call("last-heartbeat")

    assert (told["status"], told["preview"], told["to"]) == ("sent", "The door is open!", "42")
    assert client.desk.heartbeats.last is not None
    assert "preview" not in heartbeat_payload(client.desk.heartbeats.last, preview=False)


async def test_heartbeats_are_switched_off_and_on(client: Client) -> None:
    beat = (
        "- {id: beat, triggers: [], actions: [{action: agent.heartbeat}]}\n- {id: other, triggers: [], actions: []}\n"
    )
    client.rig.write("automations.yaml", beat)
    await client.rig.reload()

    answer = await client.call("set-heartbeats", enabled=False)

    assert answer["automations"] == ["beat"]
    assert {each.id: each.state for each in client.rig.automations.all()} == {"beat": "off", "other": "on"}
    await client.call("set-heartbeats", enabled=True)
    assert client.rig.automations.status("beat").state == "on"


def test_who_may_only_read_changes_nothing(client: Client) -> None:
    scopes = {name: method.scope for name, method in client.methods.items()}

    assert {name for name, scope in scopes.items() if scope == READ} == {
        "cron.get",
        "cron.list",
        "cron.status",
        "cron.runs",
        "last-heartbeat",
    }
    assert scopes["wake"] == WRITE
    assert all(scopes[name] == ADMIN for name in ("cron.add", "cron.update", "cron.remove", "cron.run"))


async def test_a_job_posts_its_results_in_place_of_a_chat_and_is_tried_again(client: Client) -> None:
    hook = {"mode": "webhook", "to": "https://example.org/hook"}
    job = await client.call(
        "cron.add", schedule=EVERY, payload=TELL, delivery=hook, retry={"attempts": 3, "delay": "30s"}
    )

    assert (job["delivery"], job["retry"]) == (hook, {"attempts": 3, "delay": "30s"})
    assert client.rig.automations.get(job["id"]).config["notify"]["url"] == "https://example.org/hook"
    assert client.rig.automations.get(job["id"]).config["retry"]["delay"] == 30

    to_chat = {"mode": "announce", "channel": "test", "to": "1"}
    changed = await client.call("cron.update", id=job["id"], patch={"delivery": to_chat, "retry": None})
    assert (changed["delivery"], "retry" in changed) == (to_chat, False)
    assert client.rig.automations.get(job["id"]).config.get("notify") is None


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"schedule": EVERY},
        {"payload": TELL},
        {"schedule": {"kind": "every", "everyMs": 1_000}, "payload": TELL},
        {"schedule": {"kind": "every", "every": "often"}, "payload": TELL},
        {"schedule": {"kind": "at", "at": "18:00", "tz": "Asia/Nowhere"}, "payload": TELL},
        {"schedule": {"kind": "at", "at": "2020-01-01T00:00:00Z"}, "payload": TELL},
        {"schedule": {"kind": "cron", "expr": "nonsense"}, "payload": TELL},
        {"schedule": {"kind": "moon"}, "payload": TELL},
        {"schedule": EVERY, "payload": {"kind": "agentTurn"}},
        {"schedule": EVERY, "payload": {"kind": "systemEvent", "text": "x"}, "sessionTarget": "isolated"},
        {"schedule": EVERY, "payload": TELL, "delivery": {"mode": "webhook"}},
        {"schedule": EVERY, "payload": TELL, "delivery": {"mode": "webhook", "to": "ftp://example.org"}},
        {
            "schedule": EVERY,
            "payload": {"kind": "message", "text": "Tea"},
            "delivery": {"mode": "webhook", "to": "https://example.org"},
        },
        {"schedule": EVERY, "payload": TELL, "retry": {"attempts": 99}},
        {"schedule": EVERY, "payload": TELL, "delivery": {"channel": "test"}},
        {"schedule": EVERY, "payload": TELL, "agentId": "nobody"},
        {"schedule": EVERY, "payload": TELL, "sessionTarget": "somewhere"},
        {"schedule": EVERY, "payload": TELL, "what": 1},
    ],
)
async def test_what_does_not_fit_is_refused_and_nothing_is_written(client: Client, params: dict[str, Any]) -> None:
    with pytest.raises(HubError):
        await client.call("cron.add", **params)

    assert client.rig.read() == FIRST
