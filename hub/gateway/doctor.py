"""Check that the hub listens safely: address, authentication, TLS, and a free port."""

from __future__ import annotations

import errno
import json
import socket
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, critical, error, warning
from hub.gateway.access.tailscale import served_names
from hub.gateway.calls.settings import HttpSettings

CERTIFICATE_LIMIT_BYTES = 1024 * 1024
ENDS_SOON = timedelta(days=14)
_WHERE = "configuration.yaml: http"


def _look(context: CheckContext) -> Iterator[Finding]:
    section = context.config.get("http")
    if section is None:
        return  # it is broken, and the configuration's errors say how
    settings = HttpSettings.from_config(section, context.home.path)
    in_clear = not (settings.loopback or settings.tls or settings.tailnet)
    if context.running is None and in_clear:  # a running hub says so itself
        yield warning(
            f"The hub listens on {settings.host} without TLS: anyone on the same network can read the traffic. "
            "Set http.tls, or keep 127.0.0.1 and put a reverse proxy with TLS in front.",
            f"{_WHERE}.tls",
        )
    if settings.tls is not None:
        yield from _tls(*settings.tls)
    running = context.running
    yield from _served(settings, settings.port if running is None else running.port or settings.port)
    if context.running is None:
        yield from _port(settings)


def _served(settings: HttpSettings, port: int) -> Iterator[Finding]:
    """Report how Tailscale Serve and Funnel, which forward from loopback, lead to the hub."""
    for each in served_names(port):
        where = f"https://{each.name}"
        if each.public:
            yield error(
                "Tailscale Funnel shows the sign-in page and the webhooks of the hub to the whole internet. Tailscale "
                "Serve shows them to your tailnet alone.",
                where,
                "tailscale funnel reset",
            )
        if each.name.lower() not in settings.allowed_hosts:
            names = json.dumps([*sorted(settings.allowed_hosts), each.name.lower()])
            yield warning(
                "Tailscale Serve leads to the hub by a name that is not in http.allowed_hosts: browsers are refused.",
                where,
                f"homarus config set http.allowed_hosts '{names}'",
            )


def _tls(certificate: Path, key: Path) -> Iterator[Finding]:
    mode = stat.S_IMODE(key.stat().st_mode)
    if mode & 0o077:
        yield error("Other users of this machine can read the TLS key.", f"{key} (mode {mode:o})", f"chmod 600 {key}")
    yield from certificate_findings(certificate, datetime.now(UTC))


def certificate_findings(certificate: Path, now: datetime) -> Iterator[Finding]:
    """Return findings about the dates of a certificate."""
    from cryptography import x509

    try:
        with certificate.open("rb") as file:
            read = x509.load_pem_x509_certificate(file.read(CERTIFICATE_LIMIT_BYTES))
    except ValueError as problem:
        yield critical(f"The TLS certificate is not in PEM format: {problem}.", str(certificate))
        return
    ends, begins = read.not_valid_after_utc, read.not_valid_before_utc
    if now > ends:
        yield error(f"The TLS certificate expired on {ends:%Y-%m-%d}.", str(certificate))
    elif now + ENDS_SOON > ends:
        yield warning(f"The TLS certificate expires on {ends:%Y-%m-%d}.", str(certificate))
    elif now < begins:
        yield error(f"The TLS certificate is valid only from {begins:%Y-%m-%d}. Is the clock right?", str(certificate))


def _port(settings: HttpSettings) -> Iterator[Finding]:
    """Report a port that is in use, by binding it for a moment."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    where = f"{settings.host} port {settings.port}"
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                yield error(
                    "Another program is listening there, so the hub cannot start. Stop it, or set http.port.",
                    where,
                    f"ss -ltnp 'sport = :{settings.port}'",
                )
            elif problem.errno == errno.EADDRNOTAVAIL:
                yield critical(
                    "This machine has no such address. Set http.host to one of its own.", where, "ip address"
                )
            elif problem.errno == errno.EACCES:
                yield critical(
                    "This user may not listen there; ports below 1024 are for the system. Set http.port.", where
                )
            else:
                yield error(f"The hub cannot listen there: {problem.strerror}.", where)


NETWORK = Check("network", "How the hub listens", _look)
