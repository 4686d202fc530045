"""Where a request comes from: pure rules."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, strategies as st

from hub.gateway.access.guarded_socket import address_group
from hub.gateway.access.hosts import (
    client_address,
    host_allowed,
    is_loopback,
    is_loopback_host,
    is_trusted_proxy,
    same_origin,
    split_host,
)

PROXIES = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("localhost", ("localhost", None)),
        ("LOCALHOST:18789", ("localhost", 18789)),
        ("homarus.local.", ("homarus.local", None)),
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("[::1]:80", ("::1", 80)),
        ("[0:0:0:0:0:0:0:1]", ("::1", None)),
        ("", None),
        ("[::1", None),
        ("a b", None),
        ("a@b", None),
        ("a/b", None),
        ("localhost:port", None),
        ("localhost:", None),
        ("x" * 300, None),
    ],
)
def test_a_host_header_is_split(header: str, found: object) -> None:
    assert split_host(header) == found


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("localhost:1", True),
        ("[::1]", True),
        ("192.168.1.5:18789", True),
        ("home.example", True),
        ("HOME.example:443", True),
        ("192.168.1.6", False),
        ("home.example.evil", False),
        ("evil.home.example", False),
        ("127.0.0.2", False),
        ("", False),
    ],
)
def test_only_the_hubs_own_names_are_allowed(header: str, allowed: bool) -> None:
    assert host_allowed(header, "192.168.1.5", frozenset({"home.example"})) is allowed


@pytest.mark.parametrize(
    ("origin", "scheme", "host", "same"),
    [
        ("http://localhost:18789", "http", "localhost:18789", True),
        ("https://home.example", "https", "home.example", True),
        ("https://home.example", "https", "home.example:443", True),
        ("http://home.example", "http", "home.example:80", True),
        ("http://LOCALHOST:1", "http", "localhost:1", True),
        ("http://localhost:1", "http", "localhost:2", False),
        ("http://localhost", "https", "localhost", False),
        ("null", "http", "localhost", False),
        ("", "http", "localhost", False),
        ("http://evil.example", "http", "localhost", False),
        ("http://localhost@evil.example", "http", "localhost", False),
        ("file://localhost", "http", "localhost", False),
        ("http://localhost/", "http", "localhost", False),
    ],
)
def test_an_origin_is_the_same_or_it_is_not(origin: str, scheme: str, host: str, same: bool) -> None:
    assert same_origin(origin, scheme, host) is same


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.5", "1.1.1.1", "203.0.113.5"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "9.9.9.9, 1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "9.9.9.9, 1.1.1.1, 10.0.0.2", "1.1.1.1"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "127.0.0.1, evil", "10.0.0.1"),
        ("10.0.0.1", "1.1.1.1, unknown, 10.0.0.2", "10.0.0.2"),
        ("::ffff:10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("fd00::1", "[2001:db8::1]", "2001:db8::1"),
    ],
)
def test_the_client_is_read_from_the_right(peer: str, forwarded: str, client: str) -> None:
    assert client_address(peer, forwarded, PROXIES, trusted=is_trusted_proxy(peer, PROXIES)) == client


@given(st.text(max_size=200))
def test_forwarded_headers_count_for_nothing_from_others(forwarded: str) -> None:
    assert client_address("203.0.113.5", forwarded, PROXIES, trusted=False) == "203.0.113.5"


@given(st.text(max_size=200), st.ip_addresses())
def test_nothing_left_of_an_untrusted_address_is_believed(left: str, address: ipaddress.IPv4Address) -> None:
    trusted = any(address.version == network.version and address in network for network in PROXIES)
    mapped = getattr(address, "ipv4_mapped", None)
    if trusted or mapped is not None:
        return

    assert client_address("10.0.0.1", f"{left},{address}", PROXIES, trusted=True) == str(address)


@given(st.text(max_size=80))
def test_odd_text_is_never_a_loopback_name(text: str) -> None:
    assert not is_loopback_host(text) or text.lower().strip("[]").startswith(("localhost", "127.0.0.1", "::1", "0"))


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("", False),
    ],
)
def test_loopback_is_known(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


def test_addresses_of_one_ipv6_network_count_as_one() -> None:
    assert address_group("2001:db8::1") == address_group("2001:db8::ffff")
    assert address_group("2001:db8::1") != address_group("2001:db8:0:1::1")
    assert address_group("::ffff:1.2.3.4") == "1.2.3.4"
