"""Automations from Home Assistant notify phones: buttons come back as events, pictures at an address of their own."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import InvalidRequest, NotFound
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.entities.description import DeviceInfo
from hub.integration.json_storage import JsonStorage
from hub.nodes.component import NodesComponent
from hub.nodes.node_phones import PAGE_CLIENT
from hub.nodes.notification import Notification, notification
from hub.nodes.phones import Phone
from hub.nodes.shown import EVENT_ACTION, EVENT_CLEARED, LIFE_MS, MEDIA_LIFE_MS, Shown, ShownNotifications
from tests.hub_fixture import HubFixture
from tests.nodes.making import Cable, ScriptedNode, admit
from tests.until import until

UNUSED = ("config watch", "memory", "model accounts", "pairing", "sandboxes", "skills")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
YES_NO = [{"action": "YES", "title": "Yes"}, {"action": "NO", "title": "No"}]
HEARD = {"event": "heard", "event_data": {}}
SHAPES: dict[str, dict[str, Any]] = {
    "waits": {
        "variables": {"yes": "{{ 'YES_' ~ context.id }}", "no": "{{ 'NO_' ~ context.id }}"},
        "actions": [
            {
                "action": "notify.mobile_app_anna_s_phone",
                "data": {
                    "title": "Garage",
                    "message": "Close it?",
                    "data": {
                        "tag": "garage",
                        "actions": [{"action": "{{ yes }}", "title": "Yes"}, {"action": "{{ no }}", "title": "No"}],
                    },
                },
            },
            {
                "wait_for_trigger": [
                    {"platform": "event", "event_type": EVENT_ACTION, "event_data": {"action": "{{ yes }}"}},
                    {"platform": "event", "event_type": EVENT_ACTION, "event_data": {"action": "{{ no }}"}},
                ],
                "timeout": {"minutes": 10},
            },
            {
                "choose": [
                    {
                        "conditions": "{{ wait.trigger.event.data.action == yes }}",
                        "sequence": [{"event": "heard", "event_data": {"by": "waits"}}],
                    }
                ]
            },
        ],
    },
    "answers": {
        "triggers": [{"platform": "event", "event_type": EVENT_ACTION, "event_data": {"action": "SNOOZE"}}],
        "actions": [{"event": "heard", "event_data": {"by": "answers", "tag": "{{ trigger.event.data.tag }}"}}],
    },
    "snoozes": {
        "actions": [
            {
                "device_id": "the phone's",
                "domain": "mobile_app",
                "type": "notify",
                "message": "Wake up",
                "data": {"tag": "alarm", "actions": [{"action": "SNOOZE", "title": "Later"}]},
            }
        ]
    },
    "asks": {
        "actions": [
            {
                "service": "notify.notify",
                "data": {
                    "message": "What shall I buy?",
                    "data": {
                        "actions": [
                            {
                                "action": "REPLY",
                                "title": "Tell",
                                "behavior": "textInput",
                                "textInputPlaceholder": "Milk",
                            }
                        ]
                    },
                },
            },
            {
                "wait_for_trigger": [
                    {"platform": "event", "event_type": EVENT_ACTION, "event_data": {"action": "REPLY"}}
                ]
            },
            {"event": "heard", "event_data": {"by": "asks", "text": "{{ wait.trigger.event.data.reply_text }}"}},
        ]
    },
    "alarms": {
        "actions": [
            {
                "action": "notify.mobile_app_anna_s_phone",
                "data": {
                    "title": "Leak",
                    "message": "Water in the cellar",
                    "data": {
                        "image": "/local/leak.png",
                        "url": "/lovelace/cellar",
                        "group": "water",
                        "ttl": 0,
                        "priority": "high",
                        "push": {"sound": {"name": "default", "critical": 1, "volume": 1.0}},
                    },
                },
            }
        ]
    },
    "clears": {
        "actions": [
            {
                "action": "notify.mobile_app_anna_s_phone",
                "data": {"message": "clear_notification", "data": {"tag": "garage"}},
            }
        ]
    },
}


class Bench(HubFixture):
    """A hub with those automations, and a phone that the test connects and takes away."""

    clock: ManualClock

    def __init__(self, folder: Path) -> None:
        automations = [{"id": name, "alias": name, "triggers": [], **each} for name, each in SHAPES.items()]
        (folder / "www").mkdir(parents=True)
        (folder / "www" / "leak.png").write_bytes(PIXEL)
        sections = {"automation": automations, "people": [{"id": "anna", "name": "Anna", "owner": True}]}
        super().__init__(folder, "http://127.0.0.1:9", sections=sections, without=UNUSED, clock=ManualClock())
        self.cable = Cable()
        self.phone = ScriptedNode("f" * 64, "Anna's phone", "android", {"system.notify": {}})
        self.phone.about = {"clientId": PAGE_CLIENT}  # type: ignore[attr-defined]
        self.heard: list[dict[str, Any]] = []

    async def begin(self) -> None:
        await self.nodes.add(self.cable)
        self.leave = self.cable.connect(self.phone)
        admit(self.nodes, self.phone.id)
        for type in ("heard", EVENT_ACTION, EVENT_CLEARED):
            self.bus.listen(type, lambda event: self.heard.append(event.data))

    async def notify(self, message: str, data: dict[str, Any] | None = None, name: str = "anna_s_phone") -> Any:
        said = {"message": message, "data": data or {}}
        return await self.services.call(
            "notify", f"mobile_app_{name}", said, context=Context(SYSTEM), wants_response=True
        )

    async def run(self, name: str) -> None:
        await self.services.call("automation", "trigger", {"entity_id": f"automation.{name}"}, context=Context(SYSTEM))

    @property
    def shown(self) -> list[Any]:
        return [params for _, params in self.phone.asked]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path / "home")
    async with made:
        await made.begin()
        yield made


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_the_usual_automations_of_home_assistant_do_here_what_they_did_there(
    bench: Bench, http: aiohttp.ClientSession
) -> None:
    async def press(index: int, reply: str | None = None) -> int:
        button = bench.shown[-1]["buttons"][index]
        body = {"reply_text": reply} if reply is not None else None
        async with http.post(f"{bench.url}{button['press']}", json=body) as answer:
            return answer.status

    def told() -> list[dict[str, Any]]:
        return [each for each in bench.heard if "by" in each]

    def waiting() -> int:
        return bench.bus.listener_counts().get(EVENT_ACTION, 0)

    before = waiting()
    await bench.run("waits")
    await until(lambda: waiting() > before)
    assert bench.shown[0]["title"] == "Garage"
    assert [each["title"] for each in bench.shown[0]["buttons"]] == ["Yes", "No"]
    assert await press(0) == 200
    await until(lambda: told() == [{"by": "waits"}])

    [device] = bench.component(NodesComponent)._sensors._entities.registry.devices
    data = {"device_id": device, "message": "Wake up", "data": SHAPES["snoozes"]["actions"][0]["data"]}
    await bench.services.call("mobile_app", "notify", data, context=Context(SYSTEM))
    assert await press(0) == 200
    await until(lambda: told()[-1] == {"by": "answers", "tag": "alarm"})

    before = waiting()
    await bench.run("asks")
    await until(lambda: waiting() > before)
    assert bench.shown[-1]["buttons"][0]["placeholder"] == "Milk"
    assert await press(0, "Bread") == 200
    await until(lambda: told()[-1] == {"by": "asks", "text": "Bread"})

    await bench.run("alarms")
    await until(lambda: len(bench.shown) == 4)
    alarm = bench.shown[-1]
    assert (alarm["urgent"], alarm["url"], alarm["group"]) == (True, "/", "water")
    async with http.get(f"{bench.url}{alarm['image']}") as answer:
        assert (answer.status, answer.content_type) == (200, "image/png")
        assert await answer.read() == PIXEL

    await bench.run("clears")
    await until(
        lambda: bench.shown[-1] == {"title": "Homarus", "body": "clear_notification", "tag": "garage", "clear": True}
    )


async def test_a_button_tells_which_phone_and_whose_and_is_pressed_once(
    bench: Bench, http: aiohttp.ClientSession
) -> None:
    contexts = []
    bench.bus.listen(EVENT_ACTION, lambda event: contexts.append(event.context))
    await bench.notify("Open?", {"tag": "t", "action_data": {"door": 2}, "actions": YES_NO})
    yes, no = (each["press"] for each in bench.shown[0]["buttons"])

    key, press = yes.rsplit("/", 1)
    wrong = f"{key[:-1]}{'1' if key.endswith('0') else '0'}/{press}"

    statuses = []
    for path in (yes.replace("press-0", "far-0"), wrong, yes, no, yes):
        async with http.post(f"{bench.url}{path}") as answer:
            statuses.append(answer.status)

    assert statuses == [404, 404, 200, 404, 404]
    [event] = bench.heard
    assert event == {"action": "YES", "tag": "t", "action_data": {"door": 2}, "device_id": event["device_id"]}
    assert event["device_id"] in bench.entities.registry.devices
    assert contexts[0].authority.principal == f"device:{bench.phone.id}"


async def test_a_dismissed_notification_is_told(bench: Bench, http: aiohttp.ClientSession) -> None:
    await bench.notify("Look", {"tag": "t", "actions": YES_NO})

    async with http.post(f"{bench.url}{bench.shown[0]['cleared']}") as answer:
        assert answer.status == 200
    assert [each["tag"] for each in bench.heard] == ["t"]


async def test_addresses_end_those_of_pictures_sooner(tmp_path: Path) -> None:
    now = [1_000_000.0]
    bus = EventBus(TaskOwner("test"), lambda: now[0])
    kept = ShownNotifications(bus, lambda: now[0], JsonStorage(tmp_path / "kept.json"), lambda principal: SYSTEM, _sign)
    note = notification("Look", None, {"image": "https://example.org/a", "actions": YES_NO})
    made = await kept.keep(note, phone_id="p", device_id="d", principal="owner")

    async def good(what: str) -> bool:
        try:
            return bool(await kept.find(f"{made.id}.{made.signature(what)}", what))
        except NotFound:
            return False

    first = [await good("image"), await good("press-0")]
    now[0] += MEDIA_LIFE_MS / 1000 + 1
    then = [await good("image"), await good("press-0")]
    now[0] += LIFE_MS / 1000

    assert (first, then, await good("press-0")) == ([True, True], [False, True], False)


async def test_buttons_are_known_after_a_restart(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    before = Bench(tmp_path / "home")
    async with before:
        await before.begin()
        await before.notify("Open?", {"actions": YES_NO})
        path = before.shown[0]["buttons"][1]["press"]
    (tmp_path / "home" / "www" / "leak.png").unlink()
    (tmp_path / "home" / "www").rmdir()
    after = Bench(tmp_path / "home")
    async with after:
        await after.begin()
        async with http.post(f"{after.url}{path}") as answer:
            assert answer.status == 200
        assert after.heard[-1]["action"] == "NO"


@pytest.mark.parametrize("source", ["file:///etc/passwd", "/api/states", "leak.png"])
async def test_a_picture_is_one_of_the_homes_or_of_elsewhere(bench: Bench, source: str) -> None:
    with pytest.raises(InvalidRequest, match="expected https"):
        await bench.notify("Look", {"image": source})
    assert bench.shown == []


async def test_a_picture_from_elsewhere_goes_through_the_address_policy(
    bench: Bench, http: aiohttp.ClientSession
) -> None:
    await bench.notify("Look", {"image": "http://127.0.0.1:9/x"})

    async with http.get(f"{bench.url}{bench.shown[0]['image']}") as answer:
        assert answer.status >= 400
        assert "127.0.0.1" in await answer.text()


async def test_a_phone_that_is_away_gets_it_when_it_connects(bench: Bench) -> None:
    bench.leave("gone")
    answer = await bench.notify("Later", {"tag": "t"})
    assert bench.shown == []

    bench.cable.connect(bench.phone)
    await until(lambda: len(bench.shown) == 1)

    assert answer == {"shown_on": "Anna's phone", "way": "when it connects"}
    assert bench.shown[0]["body"] == "Later"


async def test_a_phone_has_a_service_and_an_entity_under_its_present_name(bench: Bench) -> None:
    record = bench.nodes.surfaces.require(bench.phone.id)
    assert bench.states.get("notify.anna_s_phone") is not None
    call = {"entity_id": "notify.anna_s_phone", "message": "Tea", "title": "Kitchen"}
    await bench.services.call("notify", "send_message", call, context=Context(SYSTEM))

    phones = bench.component(NodesComponent)._node_phones
    assert phones is not None
    phones.follow(replace(record, label="Anna"))

    assert (bench.shown[0]["title"], bench.shown[0]["body"]) == ("Kitchen", "Tea")
    assert bench.services.get("notify", "mobile_app_anna") is not None
    assert bench.services.get("notify", "mobile_app_anna_s_phone") is None
    phones.forget(record.id)
    assert bench.services.get("notify", "mobile_app_anna") is None
    said = {"device_id": "plug", "message": "Tea"}
    with pytest.raises(NotFound, match="there is no phone plug"):
        await bench.services.call("mobile_app", "notify", said, context=Context(SYSTEM))


def _sign(path: str, life_s: float) -> str:
    return path


class Other:
    """A second way, which may fail."""

    name, rank, takes_commands = "other", 5, True

    def __init__(self, phone: str, error: Exception | None = None) -> None:
        self.phone, self.error, self.notes = phone, error, list[Notification]()

    async def carry(self, phone: Phone, note: Notification, shown: Shown) -> bool:
        if phone.id != self.phone:
            return False
        self.notes.append(note)
        if self.error is not None:
            raise self.error
        return True


def another(person: str | None) -> Phone:
    return Phone("app", "Anna's phone", "app", DeviceInfo(frozenset({"app"}), name="Anna's phone"), person, "token:1")


async def test_one_name_and_person_is_one_phone_and_the_next_way_is_taken_when_one_fails(bench: Bench) -> None:
    way = Other("app", InvalidRequest("it does not answer"))
    bench.phones_here().carry(way)
    bench.phones_here().add(another(None))

    answer = await bench.notify("Hello")
    way.error = None
    first = await bench.notify("command_bluetooth", {"command": "turn_off"})

    assert answer["way"] == "page"
    assert first["way"] == "other"
    assert [each.message for each in way.notes] == ["Hello", "command_bluetooth"]
    assert bench.services.get("notify", "mobile_app_anna_s_phone_2") is None


async def test_another_persons_phone_of_the_same_name_gets_nothing_of_it(bench: Bench) -> None:
    way = Other("app")
    bench.phones_here().carry(way)
    remove = bench.phones_here().add(another("ben"))

    await bench.notify("For Anna")
    await bench.notify("For Ben", name="anna_s_phone_2")
    remove()

    assert [each.message for each in way.notes] == ["For Ben"]
    assert bench.services.get("notify", "mobile_app_anna_s_phone_2") is None


@pytest.mark.parametrize("message", ["command_flashlight", "request_location_update", "TTS"])
async def test_what_only_an_app_can_do_is_refused_with_the_reason(bench: Bench, message: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{message} is for Home Assistant's app: the page of Anna's phone"):
        await bench.notify(message, {"command": "turn_on"})
    assert bench.shown == []


@pytest.mark.parametrize(
    ("message", "data", "told"),
    [
        ("clear_notification", {}, "needs the tag"),
        ("Hi", {"actions": [{"title": "Yes"}]}, r"actions\[0\].*action"),
        ("Hi", {"actions": YES_NO * 6}, "actions"),
        ("Hi", {"ttl": "soon"}, "ttl"),
        ("Hi", {"x": "y" * 40_000}, "32768 bytes"),
    ],
)
def test_data_that_cannot_be_understood_is_refused(message: str, data: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        notification(message, None, data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"push": {"sound": {"critical": 1}}}, {"level": 5}),
        ({"push": {"interruption-level": "time-sensitive"}}, {"level": 4}),
        ({"channel": "alarm_stream"}, {"level": 5}),
        ({"importance": "low"}, {"level": 2}),
        ({"clickAction": "/lovelace/0"}, {"url": "/"}),
        ({"clickAction": "noAction"}, {"url": ""}),
        ({"clickAction": "app://org.example"}, {"url": ""}),
        ({"url": "https://example.org/a"}, {"url": "https://example.org/a"}),
        ({"url": "//example.org"}, {"url": ""}),
        ({"attachment": {"url": "/local/a.jpg", "content-type": "jpeg"}}, {"image": "/local/a.jpg"}),
        ({"attachment": {"url": "https://x/a.mp4"}}, {"video": "https://x/a.mp4", "image": ""}),
        ({"entity_id": "camera.door"}, {"image": "/api/camera_proxy/camera.door"}),
        ({"push": {"thread-id": "g"}, "apns_headers": {"apns-collapse-id": "t"}}, {"group": "g", "tag": "t"}),
        ({"ttl": "60", "sticky": "true"}, {"ttl_s": 60, "sticky": True}),
    ],
)
def test_the_data_of_both_apps_is_understood(data: dict[str, Any], expected: dict[str, Any]) -> None:
    read = notification("Hi", None, data)

    assert {key: getattr(read, key) for key in expected} == expected
