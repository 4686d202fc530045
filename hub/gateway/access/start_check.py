"""Settings that keep the gateway from starting: reported by `homarus check`, and refused at the start."""

from __future__ import annotations

import errno
import ipaddress
import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.config.sections import CheckReport, CrossCheck
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.weak_secrets import WeakSecret
from hub.gateway.access.unix_socket import PATH_LIMIT_BYTES, group_id
from hub.gateway.calls.settings import AuthMode, HttpSettings
from hub.security.passwords import refuse_weak_password


class StartRefused(HubError):
    """The gateway does not start with these settings; the message says what to set."""

    code = "START_REFUSED"


class StartRefusal(Struct, frozen=True):
    """A reason why the gateway does not start, and the key to change, below `http`."""

    keys: tuple[str, ...]
    message: str


def refuse_unsafe(settings: HttpSettings) -> None:
    """Raise when the gateway must not start with these settings.

    Raises:
        StartRefused: With the first of `refusals`.
    """
    for found in refusals(settings):
        raise StartRefused(found.message)


def refusals(settings: HttpSettings) -> Iterator[StartRefusal]:
    """Return the refusals, except for an address or a port that is unavailable at the moment."""
    yield from _mode_refusals(settings)
    if settings.password is not None:
        try:
            refuse_weak_password(settings.password)
        except WeakSecret as error:
            yield StartRefusal(("auth", "password"), error.message)
    if settings.proxy_socket is not None:
        yield from _socket_refusals(*settings.proxy_socket)
    if settings.tls is not None:
        yield from _tls_refusals(*settings.tls)


def tls_context(settings: HttpSettings) -> ssl.SSLContext | None:
    """Return the TLS context of the gateway, or None when it serves plain HTTP.

    Raises:
        StartRefused: A file cannot be used.
    """
    if settings.tls is None:
        return None
    try:
        return _load(*settings.tls)
    except (OSError, ssl.SSLError) as error:
        raise StartRefused(
            phrase(
                "http.tls: {certificate} and {key} cannot be used: {error}",
                certificate=settings.tls[0],
                key=settings.tls[1],
                error=error,
            )
        ) from error


def _mode_refusals(settings: HttpSettings) -> Iterator[StartRefusal]:
    mode, keys = settings.mode, ("auth", "mode")
    if mode is AuthMode.NONE and not settings.loopback:
        yield StartRefusal(
            keys,
            phrase(
                "http.host is {host}, which others can reach, and http.auth.mode is none. Set `http: auth: {{mode: "
                "token}}` (or password), or `http: host: 127.0.0.1`.",
                host=settings.host,
            ),
        )
    if mode is AuthMode.PASSWORD and settings.password is None:
        yield StartRefusal(
            keys,
            phrase(
                "http.auth.mode is password and there is no password. Set `http: auth: password: !secret "
                "http_password`."
            ),
        )
    if mode is not AuthMode.TRUSTED_PROXY or settings.proxy_socket is not None:
        return
    if not settings.trusted_proxies:
        yield StartRefusal(
            keys,
            phrase(
                "http.auth.mode is trusted_proxy and no proxy is trusted. Set `http: trusted_proxies: [ADDRESS]`, "
                "or `http: auth: proxy_socket: FILE`."
            ),
        )
    elif settings.proxy_secret is None:
        yield StartRefusal(
            keys,
            phrase(
                "http.auth.mode is trusted_proxy and the proxy has no secret: whoever reaches the port could name "
                "a person. Set `http: auth: proxy_secret: !secret proxy_secret`, and have the proxy send it in "
                "X-Homarus-Proxy-Secret; or let it connect on `http: auth: proxy_socket: FILE`."
            ),
        )


def _socket_refusals(path: Path, group: str | None) -> Iterator[StartRefusal]:
    keys = ("auth", "proxy_socket")
    if len(str(path).encode()) > PATH_LIMIT_BYTES:
        yield StartRefusal(
            keys,
            phrase("The path {path} is too long for a Unix socket ({limit} bytes).", path=path, limit=PATH_LIMIT_BYTES),
        )
    elif not path.parent.is_dir():
        yield StartRefusal(
            keys, phrase("http.auth.proxy_socket is in {parent}, and there is no such folder.", parent=path.parent)
        )
    elif path.exists() and not path.is_socket():
        yield StartRefusal(
            keys, phrase("http.auth.proxy_socket is {path}, which is a file and not a socket.", path=path)
        )
    if group is not None and group_id(group) is None:
        yield StartRefusal(
            ("auth", "proxy_group"),
            phrase("http.auth.proxy_group is {group}, and there is no such group.", group=group),
        )


def _tls_refusals(certificate: Path, key: Path) -> Iterator[StartRefusal]:
    for file, name in ((certificate, "certificate"), (key, "key")):
        try:
            file.open("rb").close()
        except FileNotFoundError:
            yield StartRefusal(("tls", name), phrase("http.tls names {file}, and there is no such file.", file=file))
            return
        except OSError as error:
            yield StartRefusal(
                ("tls", name),
                phrase("http.tls names {file}, which cannot be read: {strerror}.", file=file, strerror=error.strerror),
            )
            return
    try:
        _load(certificate, key)
    except (OSError, ssl.SSLError) as error:
        yield StartRefusal(
            ("tls",),
            phrase(
                "http.tls: {certificate} and {key} cannot be used: {error}",
                certificate=certificate,
                key=key,
                error=error,
            ),
        )


def _load(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key, password=lambda: b"")  # never asks at the terminal
    return context


def _may_start(config: Mapping[str, Any], report: CheckReport) -> None:
    http, home = config.get("http"), getattr(config, "home", None)
    if http is None:
        return
    settings = HttpSettings.from_config(http, home or Path())
    for found in refusals(settings) if home is not None else _mode_refusals(settings):
        report.error(("http", *found.keys), found.message)
    address = _address_problem(settings.host, settings.port)
    if address is not None:
        report.warning(("http", address.keys[0]), address.message)


def _address_problem(host: str, port: int) -> StartRefusal | None:
    """Return a problem with an address, as a warning only: the address may exist later."""
    family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((host, port if port < 1024 else 0))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                return StartRefusal(
                    ("host",), phrase("This machine has no address {host}; the hub needs it to start.", host=host)
                )
            if error.errno == errno.EACCES:
                return StartRefusal(
                    ("port",), phrase("This user may not listen on port {port}; the hub needs it to start.", port=port)
                )
    return None


CROSS_CHECKS: Mapping[str, CrossCheck] = {"gateway": _may_start}
