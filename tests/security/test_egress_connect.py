"""Connections for programs that make their own requests: judged like what the hub fetches."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hub.core.errors import InvalidRequest
from hub.security.egress import ConfiguredTarget, Egress, EgressRefused
from hub.security.egress_dial import source_of
from tests.security.web_servers import WebServer, started
from tests.servers.ports import free_port

HOSTS = [
    *("127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0.0.0.0", "0"),
    *("[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254", "[fe80::1]"),
    *("１２７.0.0.1", "10.0.0.1", "100.64.0.1", "[fd00::1]", "[::]", "224.0.0.1", "255.255.255.255"),
]


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    found, runner = await started()
    yield found
    await runner.cleanup()


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("host", HOSTS)
async def test_no_way_of_writing_a_private_address_is_dialled(server: WebServer, host: str, private: bool) -> None:
    port = server.target.rpartition(":")[2]

    with pytest.raises(EgressRefused):
        await Egress(list).connect(f"{host}:{port}", private=private)


async def test_a_named_target_is_dialled_only_where_private_ones_are(server: WebServer) -> None:
    egress = Egress(lambda: {server.target})

    (await egress.connect(server.target, private=True)).close()
    await egress.check(server.target, private=True)
    with pytest.raises(EgressRefused):
        await egress.connect(server.target)


async def test_where_private_targets_are_reached_no_public_one_is() -> None:
    async def look_up(host: str, port: int) -> list[str]:
        return ["93.184.216.34"]

    egress = Egress(lambda: {"nas.example:80"}, look_up)

    with pytest.raises(EgressRefused, match="only private ones"):
        await egress.connect("nas.example:80", private=True)
    with pytest.raises(EgressRefused, match="only the targets in network"):
        await egress.connect("other.example:80", private=True)


async def test_a_name_is_looked_up_once_and_all_its_addresses_are_judged() -> None:
    asked = 0

    async def look_up(host: str, port: int) -> list[str]:
        nonlocal asked
        asked += 1
        return ["93.184.216.34", "127.0.0.1"]

    with pytest.raises(EgressRefused, match="this machine itself"):
        await Egress(list, look_up).connect("rebinding.example:80")
    assert asked == 1


async def test_a_public_address_of_the_home_is_reached_only_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hub.security.egress_dial.source_of", lambda address: "2a02:810:1:2::9")
    device = "[2a02:810:1:2::5]:80"

    for reach in (Egress(list).check, Egress(lambda: {device}).check):
        with pytest.raises(EgressRefused, match="this home's own network"):
            await reach(device)
    with pytest.raises(EgressRefused, match="this home's own network"):
        await Egress(list).fetch(f"http://{device}/")

    await Egress(lambda: {device}).check(device, private=True)
    await Egress(list).check("[2a02:810:1:3::5]:80")


def test_the_address_that_another_is_called_from_is_asked_of_the_system() -> None:
    assert source_of("127.0.0.1") == "127.0.0.1"
    assert source_of("255.255.255.255") is None


@pytest.mark.parametrize(
    "place",
    [
        *("host", "host:0", "host:99999", "user@host:80", "host:80/path?x", "", "a b:80", "host/.allowed.example:80"),
        *("host#.allowed.example:80", "host?.allowed.example:80", "host:81#.allowed.example:80", "[::1]#x:80"),
    ],
)
async def test_what_is_not_a_place_is_refused_and_not_looked_up(place: str) -> None:
    async def look_up(host: str, port: int) -> list[str]:
        raise OSError("no address")

    with pytest.raises(InvalidRequest):
        await Egress(list, look_up).connect(place)


async def test_a_place_that_does_not_answer_is_an_error() -> None:
    port = free_port()

    with pytest.raises(ConnectionError):
        await Egress(lambda: {f"127.0.0.1:{port}"}).connect(f"127.0.0.1:{port}", private=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[fe80::1]", "169.254.1.2", "db.example"])
async def test_beside_other_homes_this_machine_itself_is_refused_though_it_is_named(host: str) -> None:
    async def look_up(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    egress = Egress(lambda: {f"{host}:80"}, look_up, apart=True)

    with pytest.raises(EgressRefused, match="a worker carries other homes too"):
        await egress.connect(f"{host}:80", private=True)
    with pytest.raises(EgressRefused, match="a worker carries other homes too"):
        await egress.fetch(f"http://{host}:80/", target=ConfiguredTarget(f"http://{host}:80/"))
