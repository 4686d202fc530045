"""Pushes go to the browsers that asked for them, through the address policy, and end with the credential that asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hub.core.context import SCOPES, SYSTEM, Authority, Context
from hub.core.errors import NotFound
from hub.core.services import ServiceRegistry
from hub.entities.description import DeviceInfo
from hub.integration.json_storage import JsonStorage
from hub.nodes.contract import EVENT_NOTICE
from hub.nodes.notification import notification
from hub.nodes.phones import Phone
from hub.nodes.shown import Shown
from hub.security.egress import Egress
from hub.security.people import People, Person
from integrations.nodes.phone.push import WebPush
from tests.gateway.rig import Client, Device, Rig, client_of, connected, running
from tests.hosting import host_on
from tests.until import until

KEYS = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}


class Service:
    """A push service with scripted answers."""

    def __init__(self) -> None:
        self.status = 201
        self.received: list[web.Request] = []
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        self.received.append(request)
        return web.Response(status=self.status)


class Ways:
    """Takes the ways to phones."""

    def carry(self, carrier: Any) -> Any:
        return bool


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    found, app = Service(), web.Application()
    app.router.add_post("/{id}", found.take)
    async with TestServer(app) as server:
        found.url = f"http://127.0.0.1:{server.port}"
        yield found


@pytest.fixture
async def rig(tmp_path: Path, service: Service) -> AsyncIterator[Rig]:
    people = People([Person("ada", "Ada", owner=True), Person("ben", "Ben", owner=True), Person("kim", "Kim")])
    async with running(tmp_path, people=people) as rig, serving(rig, service):
        yield rig


@asynccontextmanager
async def serving(rig: Rig, service: Service) -> AsyncIterator[None]:
    """Serve pushes, instead of what served them before."""
    if (before := getattr(rig, "registrations", None)) is not None:
        await before.undo_all()
    egress = Egress(lambda: frozenset({service.url.removeprefix("http://")}))
    parts = SimpleNamespace(**vars(rig) | {"services": ServiceRegistry(rig.bus), "egress": egress, "phones_here": Ways})
    host, registrations = host_on(parts, "phone")
    rig.registrations = registrations  # type: ignore[attr-defined]
    push = rig.push = WebPush(host, "mailto:owner@example.org")  # type: ignore[attr-defined]
    await push.open()
    rig.services = parts.services  # type: ignore[attr-defined]
    yield
    await registrations.undo_all()
    await egress.close()


async def paired(rig: Rig, owner: Authority, endpoint: str) -> Device:
    """Pair a phone as the page does, with a limited code of an owner, and subscribe it."""
    phone = Device()
    _, code = rig.gateway.handshake.setup_codes.make("limited", owner, frozenset())
    async with client_of(rig) as node:
        hello = await node.connect(phone, role="node", scopes=[], auth={"bootstrapToken": code})
    (operator,) = hello["payload"]["auth"]["deviceTokens"]
    async with client_of(rig) as chat:
        scopes = ["operator.read", "operator.write"]
        await chat.connect(phone, scopes=scopes, auth={"deviceToken": operator["deviceToken"]})
        assert (await subscribed(chat, endpoint))["ok"]
    return phone


async def subscribed(owner: Client, endpoint: str) -> Any:
    return await owner.call("push.web.subscribe", {"endpoint": endpoint, "keys": KEYS})


async def notify(rig: Rig, **data: str) -> None:
    """Send as automations do."""
    services: ServiceRegistry = rig.services  # type: ignore[attr-defined]
    await services.call("phone", "notify", data, context=Context(SYSTEM))


async def results(owner: Client) -> Any:
    return (await owner.call("push.web.test", {"title": "Hello", "body": "x"}))["payload"]["results"]


async def test_a_push_is_signed_for_its_service_and_sealed(rig: Rig, service: Service) -> None:
    async with connected(rig) as owner:
        first = (await owner.call("push.web.vapidPublicKey", {}))["payload"]
        again = (await owner.call("push.web.vapidPublicKey", {}))["payload"]
        await subscribed(owner, f"{service.url}/1")
        await subscribed(owner, f"{service.url}/1")
        sent = await results(owner)

    (request,) = service.received
    assert first == again
    assert len(first["vapidPublicKey"]) == 87
    assert sent == [{"service": "127.0.0.1", "ok": True, "status": 201}]
    assert f"k={first['vapidPublicKey']}" in request.headers["Authorization"]
    assert (request.headers["TTL"], request.headers["Content-Encoding"]) == ("86400", "aes128gcm")


@pytest.mark.parametrize(("status", "left"), [(410, 0), (404, 0), (413, 1), (429, 1), (500, 1)])
async def test_a_browser_that_is_gone_is_forgotten_and_others_are_kept(
    rig: Rig, service: Service, status: int, left: int
) -> None:
    async with connected(rig) as owner:
        await subscribed(owner, f"{service.url}/1")
        service.status = status
        assert await results(owner) == [{"service": "127.0.0.1", "ok": False, "status": status}]
        assert len(await results(owner)) == left


async def test_an_endpoint_of_the_home_network_gets_nothing(rig: Rig, service: Service) -> None:
    async with connected(rig) as owner:
        await subscribed(owner, "http://127.0.0.1:9/x")
        (refused,) = await results(owner)

    assert not refused["ok"]
    assert "127.0.0.1" in refused["error"]
    assert service.received == []


async def test_a_subscription_ends_with_its_credential(rig: Rig, service: Service) -> None:
    token, secret = await rig.tokens.create("phone", {"operator.write"})
    async with connected(rig, token=secret.reveal(), scopes=["operator.write"]) as phone:
        await subscribed(phone, f"{service.url}/1")
        assert len(await results(phone)) == 1
    await rig.tokens.revoke(token.id)

    assert await rig.push.send("Hello", "x", lambda subscription: True) == []  # type: ignore[attr-defined]


async def test_a_browser_gets_nothing_that_is_for_another(rig: Rig, service: Service) -> None:
    _, secret = await rig.tokens.create("helper", {"operator.write"})
    async with connected(rig, token=secret.reveal(), scopes=["operator.write"]) as stranger:
        await subscribed(stranger, f"{service.url}/stranger")
        with pytest.raises(NotFound, match="no owner's phone is subscribed"):
            await notify(rig, message="the alarm code is 4821")
        async with connected(rig) as owner:
            await subscribed(owner, f"{service.url}/owner")
            await notify(rig, message="the alarm code is 4821")
            assert len(await results(owner)) == 1
        assert [request.path for request in service.received] == ["/owner", "/owner"]
        await results(stranger)

    assert service.received[-1].path == "/stranger"
    with pytest.raises(NotFound, match="no phone of anna is subscribed"):
        await notify(rig, message="for anna", target="anna")


async def test_a_paired_phone_gets_what_is_for_whoever_paired_it_as_long_as_they_are_an_owner(
    rig: Rig, service: Service
) -> None:
    people = rig.gateway.authenticator.people
    ben = Authority("person:ben", "ben", SCOPES, owner=True)
    await paired(rig, people.owner_authority(), f"{service.url}/ada")
    await paired(rig, ben, f"{service.url}/ben")

    await notify(rig, message="for the owners")
    assert sorted(each.path for each in service.received) == ["/ada", "/ben"]
    await notify(rig, message="for ben", target="ben")
    assert [each.path for each in service.received[2:]] == ["/ben"]

    rig.gateway.authenticator.people = People([Person("ada", "Ada", owner=True), Person("ben", "Ben")])
    await notify(rig, message="for the owners")
    await notify(rig, message="for ben", target="ben")
    assert [each.path for each in service.received[3:]] == ["/ada", "/ben"]


async def test_a_phone_that_subscribed_before_its_person_was_kept_gets_what_is_for_the_owners(
    rig: Rig, service: Service
) -> None:
    await paired(rig, rig.gateway.authenticator.people.owner_authority(), f"{service.url}/old")
    storage = JsonStorage(rig.home.storage / "integrations" / "phone" / "push.json")
    kept = await storage.load({})
    names = ("endpoint", "keys", "principal", "links")
    await storage.save(
        {**kept, "subscriptions": [{name: each[name] for name in names} for each in kept["subscriptions"]]}
    )

    async with serving(rig, service):
        await notify(rig, message="for the owners")

    assert [each.path for each in service.received] == ["/old"]


async def test_a_topic_reaches_the_browsers_that_chose_it(rig: Rig, service: Service) -> None:
    send = {"topic": "approvals", "title": "Run it?", "body": "ls", "path": "/chat?session=x", "ttl_s": 60}
    async with connected(rig) as owner:
        for name, topics in (("chose", ["approvals"]), ("other", ["answers"]), ("phone", [])):
            params = {"endpoint": f"{service.url}/{name}", "keys": KEYS, "topics": topics}
            assert (await owner.call("push.web.subscribe", params))["ok"]
        state = (await owner.call("push.web.state", {"endpoint": f"{service.url}/chose"}))["payload"]
        unknown = (await owner.call("push.web.state", {"endpoint": f"{service.url}/nobody"}))["payload"]
        assert len((await owner.call("push.web.send", send))["payload"]["results"]) == 1
        assert (await owner.call("push.web.send", {**send, "person": "kim"}))["payload"]["results"] == []
        refused = await owner.call("push.web.send", {**send, "path": "//elsewhere.example"})

    assert (state, unknown) == (
        {"subscribed": True, "topics": ["approvals"]},
        {"subscribed": False, "topics": []},
    )
    assert [(each.path, each.headers["TTL"], each.headers["Urgency"]) for each in service.received] == [
        ("/chose", "60", "high")
    ]
    assert "path" in refused["error"]["message"]


async def test_notices_are_heard_while_a_browser_is_subscribed(rig: Rig, service: Service) -> None:
    endpoint = {"endpoint": f"{service.url}/1"}
    async with connected(rig) as owner:
        assert not rig.bus.has_listeners(EVENT_NOTICE)
        await owner.call("push.web.subscribe", {**endpoint, "keys": KEYS, "topics": ["answers"]})
        notice = {"topic": "answers", "title": "Boiler", "body": "It is due.", "path": "/", "tag": "x", "person": "ada"}
        rig.bus.fire(EVENT_NOTICE, notice)
        await until(lambda: service.received)
        async with serving(rig, service):
            assert rig.bus.has_listeners(EVENT_NOTICE)
            await owner.call("push.web.unsubscribe", endpoint)
            assert not rig.bus.has_listeners(EVENT_NOTICE)


async def test_only_whoever_subscribed_takes_it_back(rig: Rig, service: Service) -> None:
    endpoint = {"endpoint": f"{service.url}/1"}
    _, secret = await rig.tokens.create("other", {"operator.write"})
    async with connected(rig) as owner, connected(rig, token=secret.reveal(), scopes=["operator.write"]) as other:
        await subscribed(owner, endpoint["endpoint"])
        assert (await other.call("push.web.unsubscribe", endpoint))["payload"] == {"removed": False}
        assert (await owner.call("push.web.unsubscribe", endpoint))["payload"] == {"removed": True}


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"endpoint": "ftp://x", "keys": KEYS}, "endpoint"),
        ({"endpoint": "https://x", "keys": {"auth": KEYS["auth"]}}, "p256dh"),
        ({"endpoint": "https://x", "keys": {**KEYS, "auth": "<script>"}}, "auth"),
    ],
)
async def test_what_is_no_subscription_is_refused(rig: Rig, params: dict[str, Any], named: str) -> None:
    async with connected(rig) as owner:
        answer = await owner.call("push.web.subscribe", params)

    assert named in answer["error"]["message"]


async def test_a_notification_for_a_closed_page_is_pushed_to_that_phone_alone(rig: Rig, service: Service) -> None:
    ada, ben = [
        await paired(rig, Authority(f"person:{name}", name, SCOPES, owner=True), f"{service.url}/{name}")
        for name in ("ada", "ben")
    ]
    note = notification(
        "Open", "Door", {"tag": "door", "ttl": 60, "priority": "high", "actions": [{"action": "SHUT", "title": "Shut"}]}
    )
    shown = Shown("id", "ab" * 32, ada.id, "device", f"device:{ada.id}", 0, "door", note.buttons)
    phones = [Phone(id, "Phone", "nodes", DeviceInfo(), None, "") for id in (ada.id, "unknown")]

    taken = [await rig.push.carry(each, note, shown) for each in phones]  # type: ignore[attr-defined]

    (request,) = service.received
    assert taken == [True, False]
    assert request.path == "/ada"
    assert (request.headers["TTL"], request.headers["Urgency"]) == ("60", "high")
    assert len(request.headers["Topic"]) == 32
    assert ben.id != ada.id
