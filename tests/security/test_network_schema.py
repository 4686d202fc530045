"""The section `network`."""

from __future__ import annotations

import pytest

from hub.core.schema import SchemaError
from hub.sections import core_sections
from hub.security.network_schema import NETWORK_SCHEMA


def test_targets_are_host_and_port_in_lower_case() -> None:
    section = NETWORK_SCHEMA({"allow_private": ["Printer.LAN:080", "192.168.1.2:8080", "[FD00::1]:80"]})

    assert section["allow_private"] == ["printer.lan:80", "192.168.1.2:8080", "[fd00::1]:80"]


def test_one_target_needs_no_list_and_none_is_fine() -> None:
    assert NETWORK_SCHEMA({"allow_private": "nas:80"}) == {"allow_private": ["nas:80"]}
    assert NETWORK_SCHEMA({}) == {"allow_private": []}


@pytest.mark.parametrize(
    "target",
    ["printer", "http://printer:80", "printer:0", "printer:70000", "*:80", "*.lan:80", "fd00::1:80", 80, ":80"],
)
def test_what_is_no_target_is_refused(target: object) -> None:
    with pytest.raises(SchemaError):
        NETWORK_SCHEMA({"allow_private": [target]})


def test_the_hub_knows_the_section() -> None:
    assert "network" in [section.name for section in core_sections()]
