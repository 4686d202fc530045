"""The Unix socket of a trusted proxy: what comes over it is the person that the proxy names, and never local."""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hub.core.errors import HubError
from hub.core.schema import Schema
from hub.core.surfaces import Method, MethodCall
from hub.gateway.access.start_check import StartRefused
from hub.gateway.access.unix_socket import listen_for_proxy
from hub.gateway.calls.settings import HttpSettings
from hub.security.people import People, Person
from tests.gateway.rig import Client, Rig, connect_params, running

PEOPLE = People([Person("ada", "Ada", owner=True), Person("guest", "Guest")])
ADA = {"X-Forwarded-User": "ada", "X-Forwarded-For": "203.0.113.9", "Sec-Fetch-Site": "same-origin"}


async def _who(call: MethodCall) -> list[object]:
    return [call.caller.credential_id, call.caller.local, call.caller.address]


def settings(home: Path, **auth: Any) -> HttpSettings:
    section = {"port": 0, "auth": {"mode": "trusted_proxy", "proxy_socket": "proxy.sock", **auth}}
    return HttpSettings.from_config(section, home)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with running(tmp_path, settings(tmp_path), PEOPLE) as made:
        made.gateway.methods.add(Method("who", _who, "test", Schema({})))
        yield made


async def ask(rig: Rig, headers: Mapping[str, str]) -> tuple[int, Any]:
    connector = aiohttp.UnixConnector(str(rig.home.path / "proxy.sock"))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post("http://localhost/api/rpc", json={"method": "who"}, headers=headers) as answer,
    ):
        return answer.status, (await answer.json()).get("payload")


async def test_the_proxy_names_an_owner_without_a_secret(rig: Rig) -> None:
    assert await ask(rig, ADA) == (200, ["proxy:ada", False, "203.0.113.9"])


@pytest.mark.parametrize("user", ["guest", "nobody", ""])
async def test_nobody_else_is_let_in(rig: Rig, user: str) -> None:
    assert (await ask(rig, {**ADA, "X-Forwarded-User": user}))[0] == 401


async def test_nothing_over_it_is_local(rig: Rig) -> None:
    plain = await ask(rig, {})
    token = await ask(rig, rig.bearer)
    page_of_another_site = await ask(rig, {**ADA, "Sec-Fetch-Site": "cross-site"})

    assert (plain[0], token[0], page_of_another_site[0]) == (401, 401, 403)


async def test_the_port_names_nobody(rig: Rig) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{rig.url}/api/rpc", json={"method": "who"}, headers=ADA) as answer,
    ):
        assert answer.status == 401


async def test_a_websocket_over_it_is_the_persons(rig: Rig) -> None:
    connector = aiohttp.UnixConnector(str(rig.home.path / "proxy.sock"))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.ws_connect("http://localhost/", headers=ADA) as ws,
    ):
        client = Client(ws)
        await client.frame()
        hello = await client.call("connect", connect_params())
        who = await client.call("who")

    assert hello["ok"]
    assert who["payload"][0] == "proxy:ada"


async def test_guesses_over_it_are_counted_per_client(rig: Rig) -> None:
    def guess(address: str) -> dict[str, str]:
        return {"X-Forwarded-For": address, "Authorization": "Bearer wrong"}

    codes = [(await ask(rig, guess("203.0.113.1")))[0] for _ in range(11)]

    assert codes == [401] * 10 + [429]
    assert (await ask(rig, guess("203.0.113.2")))[0] == 401


async def test_it_is_for_the_hubs_user_alone_or_for_a_group(tmp_path: Path) -> None:
    own = grp.getgrgid(os.getegid()).gr_name
    for group, mode in ((None, 0o600), (own, 0o660)):
        made = listen_for_proxy(tmp_path / "proxy.sock", group)
        found = (tmp_path / "proxy.sock").stat()
        made.close()
        assert stat.S_IMODE(found.st_mode) == mode
        assert found.st_gid == os.getegid()


async def test_a_file_in_its_place_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "proxy.sock").write_text("mine", encoding="utf-8")
    rig = Rig(tmp_path, settings(tmp_path), PEOPLE)

    with pytest.raises(StartRefused, match=r"proxy\.sock"):
        await rig.gateway.start()

    assert (tmp_path / "proxy.sock").read_text(encoding="utf-8") == "mine"


async def test_without_a_secret_or_a_socket_it_does_not_start(tmp_path: Path) -> None:
    section = {"port": 0, "auth": {"mode": "trusted_proxy"}, "trusted_proxies": ["127.0.0.1"]}
    rig = Rig(tmp_path, HttpSettings.from_config(section, tmp_path), PEOPLE)

    with pytest.raises(HubError, match="proxy_socket"):
        await rig.gateway.start()
