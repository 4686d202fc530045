"""Satellites that announce themselves are adopted in one click, beside what the section has."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.config.plain_data import plain
from hub.core.errors import Conflict
from hub.host import IntegrationHost
from hub.integration.catalog import find
from hub.integration.registrations import Registrations
from integrations.devices.wyoming.schema import CONFIG_SCHEMA
from integrations.network.discovery.found import FoundService, FoundServices, matchers, read_service
from tests.hub_fixture import HubFixture


def satellite(name: str, address: str) -> FoundService:
    matcher = matchers(find(None), [])["_wyoming._tcp"]
    service = read_service(f"{name}._wyoming._tcp.local.", [address], 10_700, matcher, {})
    assert service is not None
    return service


@pytest.mark.parametrize(("section", "serves"), [("", False), ("wyoming:\n  listen: 127.0.0.1\n", True)])
async def test_two_are_adopted_one_after_the_other(tmp_path: Path, section: str, serves: bool) -> None:
    first, second = satellite("020000aabbcc", "10.0.0.1"), satellite("Küche 2", "10.0.0.2")

    async with HubFixture(
        tmp_path, "http://127.0.0.1:9/v1", integrations=(), files={"configuration.yaml": section}
    ) as hub:
        found = FoundServices(IntegrationHost("discovery", Registrations("discovery"), hub))
        for each in (first, second):
            found.put(each.name, each)
            await found.set_up(each.id, {})
        with pytest.raises(Conflict, match="already"):
            await found.set_up(second.id, {})
        config = CONFIG_SCHEMA(plain(hub.config.current.raw["wyoming"]))

    assert config["satellites"] == [
        {"url": "tcp://10.0.0.1:10700", "id": "020000aabbcc"},
        {"url": "tcp://10.0.0.2:10700", "id": "kuche_2"},
    ]
    assert ("listen" in config) is serves


@pytest.mark.parametrize(
    ("written", "serves"),
    [
        ({}, True),
        ({"satellites": [{"url": "tcp://box"}]}, False),
        ({"satellites": [{"url": "tcp://box"}], "agent": "main"}, True),
        ({"port": 10_501}, True),
    ],
)
def test_a_section_with_satellites_alone_offers_nothing(written: dict[str, object], serves: bool) -> None:
    assert ("listen" in CONFIG_SCHEMA(written)) is serves
