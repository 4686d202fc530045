"""Which addresses may be called."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, strategies as st

from hub.security.addresses import Reach, is_in_own_network, judge


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::1"])
def test_a_public_address_may_be_called(address: str) -> None:
    assert judge(address).reach is Reach.PUBLIC


@pytest.mark.parametrize(
    "address",
    [
        *("10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.9.9.9", "169.254.3.4"),
        *("100.64.0.1", "100.127.255.255", "::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0"),
    ],
)
def test_a_private_address_needs_to_be_named(address: str) -> None:
    assert judge(address).reach is Reach.PRIVATE


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("::ffff:127.0.0.1", "IPv4"),
        ("::ffff:8.8.8.8", "IPv4"),
        ("::127.0.0.1", "IPv4"),
        ("64:ff9b::7f00:1", "NAT64"),
        ("64:ff9b:1::a00:1", "NAT64"),
        ("2002:7f00:1::", "6to4"),
        ("192.88.99.1", "6to4"),
        ("2001:0:4136:e378::1", "Teredo"),
        ("fe80::5efe:10.0.0.1", "ISATAP"),
        ("2606:4700::200:5efe:10.0.0.1", "ISATAP"),
        ("fd00::5efe:c0a8:1", "ISATAP"),
        ("224.0.0.251", "multicast"),
        ("ff02::fb", "multicast"),
        ("fec0::1", "site-local"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("255.255.255.255", "reserved"),
        ("2001:db8::1", "documentation"),
        ("2620:4f:8000::1", "reserved"),
        ("198.18.0.1", "benchmarks"),
        ("169.254.169.254", "credentials"),
        ("fd00:ec2::254", "credentials"),
        ("100.100.100.200", "credentials"),
        ("168.63.129.16", "credentials"),
        ("4000::1", "not a known kind"),
        ("localhost", "not an IP address"),
        ("0x7f000001", "not an IP address"),
        ("", "not an IP address"),
    ],
)
def test_some_addresses_are_never_called(address: str, kind: str) -> None:
    judgement = judge(address)

    assert judgement.reach is Reach.NEVER
    assert kind in judgement.kind


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_no_address_that_python_calls_private_or_special_is_public_in_version_4(number: int) -> None:
    address = IPv4Address(number)
    special = not address.is_global or address.is_multicast or address.is_reserved

    assert not (special and judge(str(address)).reach is Reach.PUBLIC)


@given(st.integers(min_value=0, max_value=2**128 - 1))
def test_no_address_that_python_calls_private_or_special_is_public_in_version_6(number: int) -> None:
    address = IPv6Address(number)
    special = not address.is_global or address.is_multicast or address.ipv4_mapped is not None

    assert not (special and judge(str(address)).reach is Reach.PUBLIC)


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_no_clothes_make_an_address_of_version_4_callable(number: int) -> None:
    address = IPv4Address(number)
    clothed = [f"::ffff:{address}", f"64:ff9b::{address}", f"::{address}", f"2a00::5efe:{address}"]
    sixtofour = IPv6Address(0x2002 << 112 | number << 80)

    assert {judge(each).reach for each in [*clothed, str(sixtofour)]} <= {Reach.NEVER, judge("::1").reach}


@pytest.mark.parametrize(
    ("address", "own", "same"),
    [
        ("2a02:810:1:2::5", "2a02:810:1:2:aaaa::9", True),
        ("2a02:810:1:2::5", "2a02:810:1:2::9%eth0", True),
        ("2a02:810:1:3::5", "2a02:810:1:2::9", False),
        ("81.2.69.142", "81.2.69.142", True),
        ("81.2.69.143", "81.2.69.142", False),
        ("81.2.69.142", "10.0.0.2", False),
    ],
)
def test_a_public_address_is_of_the_home_when_it_is_its_own_or_in_its_network(
    address: str, own: str, same: bool
) -> None:
    assert is_in_own_network(address, own) is same
