"""Tailscale as the hub finds it: an interface of its own, and what its program says of Serve and Funnel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.gateway.access.tailscale import ServedName, served_names
from hub.gateway.calls.settings import HttpSettings
from hub.gateway.connection.listeners import tell_lacks_tailnet, tell_plain_http

CHECKOUT = Path(__file__).parents[3]
PROXY = {"Handlers": {"/": {"Proxy": "http://127.0.0.1:18789"}}}
SERVED = {
    "TCP": {"443": {"HTTPS": True}, "8443": {"HTTPS": True}},
    "Web": {
        "hub.tail1234.ts.net:443": PROXY,
        "hub.tail1234.ts.net:8443": {"Handlers": {"/": {"Proxy": "http://127.0.0.1:3000"}, "/x": {"Text": "hello"}}},
    },
}
READ = """
import sys
from pathlib import Path
from hub.gateway.calls.settings import HttpSettings
settings = HttpSettings.from_config({"host": sys.argv[1]}, Path())
print(settings.host, settings.tailnet)
"""
needs_root = pytest.mark.skipif(os.getuid() != 0 or shutil.which("ip") is None, reason="makes an interface: root, ip")


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a `tailscale` on the path."""
    file = folder / "tailscale"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def serving(folder: Path, monkeypatch: pytest.MonkeyPatch, told: Any) -> None:
    (folder / "told.json").write_text(json.dumps(told))
    program(folder, monkeypatch, f'[ "$*" = "serve status --json" ] && cat {folder}/told.json')


def listening(word: str, name: str, address: str) -> list[str]:
    """Return host and whether it is the tailnet's, on a machine with one interface, of this name and address."""
    make = f"ip tuntap add dev {name} mode tun && ip addr add {address}/32 dev {name} && ip link set {name} up && "
    done = subprocess.run(
        ["unshare", "-n", "--", "sh", "-c", f'{make} exec "$0" "$@"', sys.executable, "-c", READ, word],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.split()


@needs_root
@pytest.mark.parametrize("word", ["tailnet", "auto"])
def test_it_listens_on_the_address_that_tailscale_gave(word: str) -> None:
    assert listening(word, "tailscale0", "100.101.102.103") == ["100.101.102.103", "True"]


@needs_root
@pytest.mark.parametrize(("word", "tailnet"), [("tailnet", "False"), ("auto", "None")])
@pytest.mark.parametrize(("name", "address"), [("ppp0", "100.101.102.103"), ("tailscale0", "10.0.0.7")])
def test_an_address_of_another_network_is_never_taken_for_it(word: str, tailnet: str, name: str, address: str) -> None:
    assert listening(word, name, address) == ["127.0.0.1", tailnet]


@pytest.mark.parametrize(("word", "host"), [("loopback", "127.0.0.1"), ("lan", "0.0.0.0"), ("10.0.0.7", "10.0.0.7")])
def test_the_other_words_are_addresses(tmp_path: Path, word: str, host: str) -> None:
    settings = HttpSettings.from_config({"host": word}, tmp_path)

    assert (settings.host, settings.tailnet) == (host, None)


async def test_a_missing_tailnet_is_a_repair_until_it_is_there() -> None:
    repairs = Repairs(EventBus(TaskOwner("test")))

    tell_lacks_tailnet(HttpSettings(tailnet=False), repairs, "gateway")
    (told,) = repairs.all()
    tell_lacks_tailnet(HttpSettings(host="100.64.0.1", tailnet=True), repairs, "gateway")
    tell_plain_http(HttpSettings(host="100.64.0.1", tailnet=True), repairs, "gateway")

    assert told.id == "no_tailnet"
    assert repairs.all() == []  # a tailnet encrypts what goes through it


def test_the_names_that_lead_here_are_those_with_our_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serving(tmp_path, monkeypatch, SERVED | {"AllowFunnel": {"hub.tail1234.ts.net:8443": True}})

    assert served_names(18789) == [ServedName("hub.tail1234.ts.net", public=False)]
    assert served_names(3000) == [ServedName("hub.tail1234.ts.net", public=True)]
    assert served_names(1) == []


def test_a_command_in_the_foreground_serves_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = "hub.tail1234.ts.net:10000"
    serving(tmp_path, monkeypatch, {"Foreground": {"6a1f": {"Web": {address: PROXY}, "AllowFunnel": {address: True}}}})

    assert served_names(18789) == [ServedName("hub.tail1234.ts.net", public=True)]


@pytest.mark.parametrize(("ended_here", "name"), [("bytes.tail1234.ts.net", "bytes"), ("", "hub")])
def test_services_and_bytes_lead_here_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended_here: str, name: str
) -> None:
    services = {"svc:home": {"TCP": {"443": {"HTTPS": True}}, "Web": {"home.tail1234.ts.net:443": PROXY}}}
    forward = {"TCPForward": "127.0.0.1:18789"}
    told = {
        "TCP": {"8443": forward | {"TerminateTLS": ended_here}, "22": forward},
        "AllowFunnel": {f"{name}.tail1234.ts.net:8443": True},
        "Services": services,
    }
    serving(tmp_path, monkeypatch, told)

    assert {each.name: each.public for each in served_names(18789)} == {
        "home.tail1234.ts.net": False,
        f"{name}.tail1234.ts.net": True,
    }


@pytest.mark.parametrize(
    "script", ["exit 1", "echo not JSON", "echo '[]'", 'echo \'{"Web": {"a:443": 7}}\'', "true", "echo null"]
)
def test_what_cannot_be_read_is_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program(tmp_path, monkeypatch, script)

    assert served_names(18789) == []
