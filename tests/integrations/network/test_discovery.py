"""Discovery between two network namespaces: what the hub announces, what it finds, and that it trusts none of it."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from zeroconf import IPVersion, ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from hub.cli.client import HubClient
from hub.cli.configured import check_home
from hub.cli.exits import CommandFailed
from hub.core.errors import Conflict, InvalidRequest
from hub.doctor.check_context import CheckContext
from hub.gateway.calls.settings import HttpSettings
from hub.host import IntegrationHost
from hub.integration.catalog import find
from hub.integration.errors import ManifestError
from hub.integration.manifest import ServiceMatcher, read_manifest
from hub.integration.registrations import Registrations
from hub.sections import needed_domains
from hub.storage.homedir import Home
from integrations.network.discovery.doctor import CHECKS
from integrations.network.discovery.found import FoundService, FoundServices, matchers, read_service
from integrations.network.discovery.lan import txt_record
from tests.e2e.talk import until
from tests.hub_fixture import HubFixture
from tests.integrations.network.namespaces import HUBS, OTHERS, Cable, running_in

KEY = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
HOME = """\
hub: {name: Our place}
http: {host: 0.0.0.0, port: 18789}
memory: {embeddings: {provider: none}}
"""
MACHINE = socket.gethostname().partition(".")[0]


@pytest.fixture(scope="module")
def cable() -> Iterator[Cable]:
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces")
    laid = Cable()
    try:
        laid.lay()
    except (OSError, subprocess.CalledProcessError) as error:
        laid.remove()
        pytest.skip(f"this machine makes no network namespaces: {error}")
    yield laid
    laid.remove()


@pytest.fixture(scope="module")
def hub(cable: Cable, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of a hub that runs in the first namespace."""
    home = tmp_path_factory.mktemp("discovery") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(HOME)
    command = ("ip", "netns", "exec", cable.first, sys.executable, "-m", "hub", "start", "--config", str(home))
    with (home.parent / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            until(lambda: answers(home))
            yield home
        finally:
            process.terminate()


class Neighbour:
    """Another machine: a server that counts who connects, services that it announces, and what it hears of the hub."""

    def __init__(self) -> None:
        self.connections = 0
        self.heard: dict[str, AsyncServiceInfo] = {}
        self.port = 0

    async def run(self, end: asyncio.Event) -> None:
        server = await asyncio.start_server(self._connected, OTHERS, 0)
        self.port = server.sockets[0].getsockname()[1]
        zeroconf = AsyncZeroconf(interfaces=[OTHERS], ip_version=IPVersion.V4Only)
        types = ["_homarus._tcp.local.", "_openclaw-gw._tcp.local."]
        browser = AsyncServiceBrowser(zeroconf.zeroconf, types, handlers=[self._changed])
        announced = (
            ("Study", "_ollama", OTHERS),
            ("Foreign", "_mqtt", "9.9.9.9"),
            ("Inward", "_home-assistant", "127.0.0.1"),
            ("<b>Our place</b>", "_homarus", OTHERS),
            ("kitchen-voice", "_esphomelib", OTHERS),
        )
        for registered in [await self._announce(zeroconf, *each) for each in announced]:
            await registered
        await end.wait()
        for name in self.heard:
            info = AsyncServiceInfo(name.partition(".")[2], name)
            await info.async_request(zeroconf.zeroconf, 30_000)
            self.heard[name] = info
        await browser.async_cancel()
        await zeroconf.async_close()
        server.close()

    async def _announce(self, zeroconf: AsyncZeroconf, name: str, kind: str, address: str) -> Any:
        type = f"{kind}._tcp.local."
        text = {"base_url": f"http://{OTHERS}:1", "gatewayTls": "1", "gatewayTlsSha256": "0" * 64}
        text |= {"mac": "020000aabbcc", "api_encryption": "Noise_NNpsk0_25519_ChaChaPoly_SHA256"}
        info = AsyncServiceInfo(
            type, f"{name}.{type}", self.port, properties=text, server=f"{kind}.local.", parsed_addresses=[address]
        )
        return await zeroconf.async_register_service(info)

    def _changed(self, zeroconf: Any, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        if name.startswith(f"{MACHINE}."):
            self.heard[name] = AsyncServiceInfo(service_type, name)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.close()


def test_the_hub_finds_a_neighbour_trusts_nothing_and_writes_what_a_person_wants(hub: Path, cable: Cable) -> None:
    neighbour = Neighbour()
    client = HubClient(hub)

    with running_in(cable.second, neighbour.run):
        until(lambda: len(found(client)) >= 3 and len(neighbour.heard) >= 2)
        seen = found(client)
        page = get(hub, "/devices/found")
        home = CheckContext(Home(hub), lambda: check_home(hub), needed_domains, client.call)
        warned = [each.what for each in CHECKS["second_hub"].look(home)]
        before = neighbour.connections
        chosen = next(each for each in seen if each["kind"] == "Ollama server")
        with pytest.raises(CommandFailed, match="no integration sets up a Homarus hub"):
            client.call("discovery.set_up", {"id": next(each["id"] for each in seen if each["state"] == "seen")})
        assert post(hub, "/discovered/ignore", id=chosen["id"]) == 303
        ignored = {each["name"]: each["state"] for each in found(client)}
        assert post(hub, "/discovered/set-up", id=chosen["id"], at=f"{OTHERS}:1") == 409
        assert post(hub, "/discovered/set-up", id=chosen["id"], at=f"{OTHERS}:{neighbour.port}") == 303
        adopted = {"id": seen[0]["id"], "secret.encryption_key": KEY}
        assert post(hub, "/discovered/set-up", at=f"{OTHERS}:{neighbour.port}", **adopted) == 303
        until(lambda: neighbour.connections)
        # It looks for seconds only, in which a busy machine may hear of one hub.
        laptop = until(lambda: with_both(discover(cable.second, hub.parent / "none", "--json").stdout))
        shown = until(lambda: with_both(discover(cable.second, hub.parent / "none").stdout))
        refused = discover(cable.second, hub.parent / "none", "--ignore", chosen["id"])

    assert json.loads(laptop) == {
        "hubs": sorted(
            [
                {"name": "<b>Our place</b>", "address": OTHERS, "port": neighbour.port, "tls": True}
                | {"url": f"https://{OTHERS}:{neighbour.port}"},
                {"name": MACHINE, "address": HUBS, "port": 18789, "tls": False, "url": f"http://{HUBS}:18789"},
            ],
            key=lambda each: str(each["name"]),
        )
    }
    assert f"homarus --url wss://{OTHERS}:{neighbour.port} --token TOKEN status" in shown
    assert "docs/remote.md" in shown
    assert refused.returncode == 4
    assert "No hub runs on" in refused.stderr
    assert [(each["kind"], each["name"], each["address"], each["state"]) for each in seen] == [
        ("ESPHome device", "kitchen-voice", OTHERS, "new"),
        ("Homarus hub", "<b>Our place</b>", OTHERS, "seen"),
        ("Ollama server", "Study", OTHERS, "new"),
    ]
    assert before == 0
    assert "We found Ollama server" in page
    assert "&lt;b&gt;Our place&lt;/b&gt;" in page
    assert '<b class="count">2</b>' in page
    assert 'name="secret.encryption_key"' in page
    assert seen[0]["value"] == {
        "host": OTHERS,
        "port": neighbour.port,
        "name": "kitchen-voice",
        "mac": "020000aabbcc",
    }
    assert "api_encryption" not in str(seen[0])
    assert ignored["Study"] == "ignored"
    written = (hub / "configuration.yaml").read_text()
    assert f"http://{OTHERS}:{neighbour.port}/v1" in written
    assert "encryption_key: !secret esphome_kitchen_voice_encryption_key" in written
    assert f'esphome_kitchen_voice_encryption_key: "{KEY}"' in (hub / "secrets.yaml").read_text()
    assert ["<b>Our place</b>" in each for each in warned] == [True]
    told = {
        name: {k.decode(): v and v.decode() for k, v in info.properties.items()}
        for name, info in neighbour.heard.items()
    }
    text = {"role": "gateway", "transport": "gateway", "gatewayPort": "18789", "lanHost": f"{MACHINE}.local"}
    assert told == {f"{MACHINE}.{each}._tcp.local.": text for each in ("_homarus", "_openclaw-gw")}
    assert all(info.parsed_addresses() == [HUBS] for info in neighbour.heard.values())


@pytest.mark.parametrize(
    ("http", "used"),
    [
        *[({"host": each}, True) for each in ("lan", "0.0.0.0", "192.168.1.5", "::")],
        *[({"host": each}, False) for each in ("loopback", "127.0.0.1", "::1", "tailnet", "auto", "nonsense")],
        ({}, False),
        (None, False),
    ],
)
def test_a_hub_that_serves_its_network_announces_itself_and_looks_without_being_told(http: Any, used: bool) -> None:
    assert ("discovery" in needed_domains({"http": http}, find(None), {})) is used


def test_the_home_is_named_only_where_that_was_asked_for() -> None:
    named, unnamed = (txt_record(HttpSettings(), 80, each, "box") for each in ("Our place", None))

    assert (named[0], named[1]["displayName"]) == ("Our place", "Our place")
    assert unnamed == ("box", {each: text for each, text in named[1].items() if each != "displayName"})


@pytest.mark.parametrize(
    ("address", "believed"),
    [
        *[(each, True) for each in ("192.168.1.7", "10.0.0.1", "172.16.0.9", "169.254.3.4")],
        *[
            (each, False)
            for each in ("127.0.0.1", "0.0.0.0", "8.8.8.8", "100.64.0.1", "224.0.0.251", "255.255.255.255")
        ],
    ],
)
def test_only_an_address_of_a_local_network_is_believed(address: str, believed: bool) -> None:
    matcher = ServiceMatcher("_mqtt._tcp", "MQTT broker")

    assert (read_service("Hall._mqtt._tcp.local.", [address], 1883, matcher) is not None) is believed


def test_a_name_shows_no_control_characters_and_stays_short() -> None:
    service = read_service(
        f"a\x1b[31m\n{'b' * 500}._mqtt._tcp.local.", ["10.0.0.1"], 1883, ServiceMatcher("_mqtt._tcp", "")
    )

    assert service is not None
    assert service.name == f"a [31m {'b' * 56}"


PLAYER = ServiceMatcher(
    "_mpd._tcp",
    "Player",
    "mpd",
    {"host": "{address}", "port": "{port}", "name": "{name}", "mac": "{txt.mac}"},
    is_list=True,
    secrets=("password",),
    secrets_if="locked",
)


def player(name: str, address: str, **txt: str) -> FoundService:
    service = read_service(f"{name}._mpd._tcp.local.", [address], 6600, PLAYER, txt)
    assert service is not None
    return service


def test_a_service_says_what_its_manifest_asks_for_and_nothing_else() -> None:
    locked = player("Hall", "10.0.0.1", mac="0a:1\x00b", locked="yes", host="8.8.8.8")
    plain = player("Hall", "10.0.0.1")

    assert locked.value() == {"host": "10.0.0.1", "port": 6600, "name": "Hall", "mac": "0a:1 b"}
    assert locked.txt.keys() == {"mac", "locked"}
    assert locked.secrets == ("password",)
    assert plain.value() == {"host": "10.0.0.1", "port": 6600, "name": "Hall"}
    assert plain.secrets == ()


async def test_devices_of_a_list_are_set_up_one_after_the_other(tmp_path: Path) -> None:
    hall, kitchen, bath = player("Hall", "10.0.0.1", locked="yes"), player("Bar", "10.0.0.2"), player("x", "10.0.0.3")

    async with HubFixture(tmp_path, "http://127.0.0.1:9/v1", integrations=()) as hub:
        found = FoundServices(IntegrationHost("discovery", Registrations("discovery"), hub))
        for each in (hall, kitchen, bath):
            found.put(each.name, each)
        with pytest.raises(InvalidRequest, match="password is missing"):
            await found.set_up(hall.id, {})
        await found.set_up(hall.id, {"password": "open sesame"})
        await found.set_up(kitchen.id, {})
        with pytest.raises(Conflict, match="in the configuration already"):
            await found.set_up(kitchen.id, {})
        states = {each.name: found.state(each) for each in (hall, kitchen, bath)}

    written = (tmp_path / "configuration.yaml").read_text()
    assert written.count("- host: 10.0.0.") == 2
    assert "password: !secret mpd_hall_password" in written
    assert "mpd_hall_password: open sesame" in (tmp_path / "secrets.yaml").read_text()
    assert states == {"Hall": "configured", "Bar": "configured", "x": "new"}


def test_what_has_no_place_in_the_configuration_cannot_be_set_up() -> None:
    catalog = find(None)

    assert matchers(catalog, ["models"])["_ollama._tcp"].key == "models.providers.ollama_lan"
    assert matchers(catalog, [])["_ollama._tcp"].key == ""


@pytest.mark.parametrize(
    ("matcher", "what"),
    [
        ('{"type": "mqtt", "name": "x"}', "zeroconf.0.type: expected a type of services, such as _mqtt._tcp"),
        ('{"type": "_mqtt._tcp"}', "zeroconf.0.name is missing"),
        ('{"type": "_mqtt._tcp", "name": "x", "value": {"broker": [1]}}', "zeroconf.0.value.broker"),
    ],
)
def test_a_manifest_with_a_wrong_service_is_refused_by_name(tmp_path: Path, matcher: str, what: str) -> None:
    folder = tmp_path / "garden"
    folder.mkdir()
    (folder / "manifest.json").write_text(f'{{"domain": "garden", "name": "Garden", "zeroconf": [{matcher}]}}')

    with pytest.raises(ManifestError, match=what):
        read_manifest(folder)


def found(client: HubClient) -> list[dict[str, Any]]:
    return list(client.call("discovery.list")["found"])


def discover(namespace: str, home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `homarus discover` on a machine without a hub."""
    command = (sys.executable, "-m", "hub", "discover", "--config", str(home), *options)
    return subprocess.run(("ip", "netns", "exec", namespace, *command), capture_output=True, text=True, check=False)


def with_both(said: str) -> str:
    """Return what was said if it names two hubs."""
    return said if "<b>Our place</b>" in said and MACHINE in said else ""


def answers(home: Path) -> bool:
    try:
        HubClient(home).call("discovery.list")
    except CommandFailed:
        return False
    return True


def connected(home: Path) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(Home(home).socket))
    return connection


def post(home: Path, path: str, **form: str) -> int:
    connection = connected(home)
    connection.request("POST", path, urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"})
    return connection.getresponse().status


def get(home: Path, path: str) -> str:
    connection = connected(home)
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    return answer.read().decode()
