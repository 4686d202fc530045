"""The gateway: where it listens, how one signs in, and whom it believes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.listening import lan_address
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot
from hub.gateway.calls.settings import AuthMode

WIDE_V4, WIDE_V6 = 24, 64
"""Prefixes of the smallest networks that hold more than one household's proxy."""


def _no_sign_in(context: AuditContext) -> Iterator[Spot]:
    if context.http.mode is AuthMode.NONE:
        keys = ("http", "auth", "mode")
        yield Spot(phrase("Nobody has to sign in"), keys, edits={keys: "token"})


def _public(context: AuditContext) -> Iterator[Spot]:
    settings = context.http
    address = ipaddress.ip_address(settings.host)
    reached = lan_address() if address.is_unspecified else settings.host
    if reached is not None and ipaddress.ip_address(reached).is_global:
        keys = ("http", "host")
        what = phrase("The hub listens at {address}, an address of the internet", address=reached)
        yield Spot(what, keys, edits={keys: "127.0.0.1"})


def _clear(context: AuditContext) -> Iterator[Spot]:
    settings = context.http
    if settings.loopback or settings.tls is not None or settings.tailnet:
        return
    by_password = settings.mode is AuthMode.PASSWORD
    what = phrase("The network carries everything unencrypted, from {host}", host=settings.host)
    if by_password:
        what = phrase("The password of the home crosses the network unencrypted, to {host}", host=settings.host)
    milder = None if by_password else AuditSeverity.WARNING
    yield Spot(what, ("http", "host"), severity=milder, command="homarus tls")


def _proxies(context: AuditContext) -> Iterator[Spot]:
    for at, written in enumerate(context.section("http").get("trusted_proxies", ())):
        network = ipaddress.ip_network(written)
        if network.prefixlen >= (WIDE_V4 if network.version == 4 else WIDE_V6):
            continue
        keys = context.written(("http", "trusted_proxies", at))
        what = phrase("Every machine in {network} is believed to be your proxy", network=str(network))
        yield Spot(what, keys, severity=None if network.prefixlen == 0 else AuditSeverity.WARNING)


def _other_pages(context: AuditContext) -> Iterator[Spot]:
    for at, origin in enumerate(context.section("http").get("cors_origins", ())):
        keys = context.written(("http", "cors_origins", at))
        what = phrase("Pages of {origin} may use the API", origin=origin)
        yield Spot(what, keys, severity=AuditSeverity.WARNING if origin.startswith("http://") else None)


CHECKS = (
    AuditCheck(
        "http.no_sign_in",
        AuditSeverity.CRITICAL,
        phrase("Whether one has to sign in"),
        phrase(
            "Every program on this machine, and every user of it, may do all that you may: read conversations, change "
            "the configuration, run commands."
        ),
        phrase("Have people sign in: with the hub's token on this machine, or with a password."),
        _no_sign_in,
    ),
    AuditCheck(
        "http.public",
        AuditSeverity.CRITICAL,
        phrase("Whether the internet reaches the hub"),
        phrase("Everybody in the world can try passwords, and use a mistake of the hub as soon as it is known."),
        phrase("Listen on this machine only, and use a VPN on the way; or put a reverse proxy with TLS in front."),
        _public,
    ),
    AuditCheck(
        "http.clear",
        AuditSeverity.CRITICAL,
        phrase("Whether the network is encrypted"),
        phrase("Whoever shares the network can read along, take over a sign-in, and then do all that you may."),
        phrase("Make a certificate, or listen on 127.0.0.1 behind a reverse proxy with TLS."),
        _clear,
    ),
    AuditCheck(
        "http.proxies",
        AuditSeverity.CRITICAL,
        phrase("Which machines are believed to be your proxy"),
        phrase(
            "A machine that is believed can say that a request came from anywhere, and dodge the lock after wrong "
            "passwords."
        ),
        phrase("Name the address of the proxy alone."),
        _proxies,
    ),
    AuditCheck(
        "http.other_pages",
        AuditSeverity.WARNING,
        phrase("Which pages of others may use the API"),
        phrase(
            "With a token that somebody gave it, such a page can use your assistant. An unencrypted one can be "
            "changed on its way."
        ),
        phrase("Remove the pages that you do not use, and name others by https."),
        _other_pages,
    ),
)
