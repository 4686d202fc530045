"""The addresses the hub may call on behalf of others: public ones; private ones only if the owner named them.

An IPv6 address is public only inside 2000::/3, so that unknown ones are refused. Addresses that hold another one
(mapped, NAT64, 6to4, Teredo, ISATAP) are refused whatever they hold.
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from msgspec import Struct


class Reach(StrEnum):
    """The origin of a request to call an address."""

    PUBLIC = "public"
    PRIVATE = "private"
    """Only when host and port are named in `network.allow_private`."""
    NEVER = "never"


class Judgement(Struct, frozen=True):
    """The class of an address, in words that end "it is …"."""

    reach: Reach
    kind: str


PUBLIC = Judgement(Reach.PUBLIC, "a public address")
OWN_NETWORK = Judgement(Reach.PRIVATE, "an address of this home's own network")

_METADATA = Judgement(Reach.NEVER, "where a cloud keeps its machines' credentials")
_METADATA_ADDRESSES = frozenset(
    ip_address(each)
    for each in (
        *("169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
        *("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"),
    )
)

_PRIVATE_4 = {
    "10.0.0.0/8": "a private address",
    "172.16.0.0/12": "a private address",
    "192.168.0.0/16": "a private address",
    "127.0.0.0/8": "this machine itself",
    "169.254.0.0/16": "a link-local address",
    "100.64.0.0/10": "an address of a provider's or a VPN's inner network",
}
_NEVER_4 = {
    "0.0.0.0/8": "an unspecified address",
    "192.0.0.0/24": "a reserved address",
    "192.0.2.0/24": "an address for documentation",
    "192.31.196.0/24": "a reserved address",
    "192.52.193.0/24": "a reserved address",
    "192.88.99.0/24": "a 6to4 relay",
    "192.175.48.0/24": "a reserved address",
    "198.18.0.0/15": "an address for benchmarks",
    "198.51.100.0/24": "an address for documentation",
    "203.0.113.0/24": "an address for documentation",
    "224.0.0.0/4": "a multicast address",
    "240.0.0.0/4": "a reserved address",
}
_PRIVATE_6 = {
    "::1/128": "this machine itself",
    "fc00::/7": "a private address",
    "fe80::/10": "a link-local address",
}
_NEVER_6 = {
    "::/128": "an unspecified address",
    "::ffff:0:0/96": "an IPv4 address written as IPv6",
    "::/96": "an IPv4 address written as IPv6",
    "64:ff9b::/96": "a NAT64 address",
    "64:ff9b:1::/48": "a NAT64 address",
    "2001::/32": "a Teredo address",
    "2001::/23": "a reserved address",
    "2001:db8::/32": "an address for documentation",
    "2002::/16": "a 6to4 address",
    "2620:4f:8000::/48": "a reserved address",
    "3fff::/20": "an address for documentation",
    "fec0::/10": "a site-local address",
    "ff00::/8": "a multicast address",
}
_RULES_4 = [
    (IPv4Network(network), Judgement(reach, kind))
    for reach, table in ((Reach.NEVER, _NEVER_4), (Reach.PRIVATE, _PRIVATE_4))
    for network, kind in table.items()
]
# The smaller network speaks first: Teredo before what it is a part of, ::1 before the old form of mapped addresses.
_RULES_6 = sorted(
    (
        (IPv6Network(network), Judgement(reach, kind))
        for reach, table in ((Reach.NEVER, _NEVER_6), (Reach.PRIVATE, _PRIVATE_6))
        for network, kind in table.items()
    ),
    key=lambda rule: -rule[0].prefixlen,
)
_GLOBAL_6 = IPv6Network("2000::/3")
_ISATAP_MARK = 0x5EFE
_UNIVERSAL_BIT = 0x0200
_HOST_BITS = 64


def judge(address: str) -> Judgement:
    """Return the class of an IP address, written in the usual form, with or without a zone (`fe80::1%eth0`).

    Anything but an address is judged `Reach.NEVER`.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return Judgement(Reach.NEVER, "not an IP address in its usual form")
    if found in _METADATA_ADDRESSES:
        return _METADATA
    return _judge_4(found) if isinstance(found, IPv4Address) else _judge_6(found)


def is_in_own_network(address: str, own: str) -> bool:
    """Whether a public address is this machine's, or in the same IPv6 network, as a home's devices are.

    Args:
        own: The address from which this machine calls it.
    """
    here, there = ip_address(own.partition("%")[0]), ip_address(address.partition("%")[0])
    if isinstance(here, IPv6Address) and isinstance(there, IPv6Address):
        return int(here) >> _HOST_BITS == int(there) >> _HOST_BITS
    return here == there


def _judge_4(address: IPv4Address) -> Judgement:
    return next((judgement for network, judgement in _RULES_4 if address in network), PUBLIC)


def _judge_6(address: IPv6Address) -> Judgement:
    if _is_isatap(address):
        return Judgement(Reach.NEVER, "an ISATAP address")
    for network, judgement in _RULES_6:
        if address in network:
            return judgement
    return PUBLIC if address in _GLOBAL_6 else Judgement(Reach.NEVER, "not a known kind of address")


def _is_isatap(address: IPv6Address) -> bool:
    """Whether the lower half is `0:5efe:a.b.c.d` or `200:5efe:a.b.c.d`."""
    upper = int(address) >> 48 & 0xFFFF
    return int(address) >> 32 & 0xFFFF == _ISATAP_MARK and upper & ~_UNIVERSAL_BIT == 0
