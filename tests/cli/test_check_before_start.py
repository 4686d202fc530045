"""What keeps the gateway from starting is said by `homarus check` first: every refusal, from one list."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hub.core.errors import HubError
from hub.gateway.access import start_check
from hub.gateway.access.start_check import refuse_unsafe
from hub.gateway.calls.settings import HttpSettings
from hub.gateway.connection import server
from tests.cli.terminal import Terminal
from tests.gateway.certificates import certificate

Arrange = Callable[[Path], object]


def nothing(home: Path) -> None:
    """Leave the home as it is."""


def pair(home: Path) -> None:
    certificate(home, "c.pem", "k.pem")


def two_pairs(home: Path) -> None:
    certificate(home, "c.pem", "other.pem")
    certificate(home, "other_c.pem", "k.pem")


def certificate_alone(home: Path) -> None:
    certificate(home, "c.pem", "k.pem")
    (home / "k.pem").unlink()


def folder(home: Path) -> None:
    certificate(home, "c.pem", "k.pem")
    (home / "k.pem").unlink()
    (home / "k.pem").mkdir()


def nonsense(home: Path) -> None:
    for name in ("c.pem", "k.pem"):
        (home / name).write_text("-----BEGIN NONSENSE-----\n", encoding="utf-8")


def file_for_socket(home: Path) -> None:
    (home / "proxy.sock").write_text("", encoding="utf-8")


TLS = "{tls: {certificate: c.pem, key: k.pem}}"
PROXY = "{auth: {mode: trusted_proxy, proxy_socket: %s}}"
REFUSALS: list[tuple[str, Arrange, str, str]] = [
    ("{host: 0.0.0.0, auth: {mode: none}}", nothing, "http.auth.mode", "mode is none"),
    ("{auth: {mode: password}}", nothing, "http.auth.mode", "no password"),
    ("{auth: {mode: password, password: changeme}}", nothing, "http.auth.password", "http.auth.password"),
    ("{auth: {mode: trusted_proxy}}", nothing, "http.auth.mode", "no proxy is trusted"),
    ("{auth: {mode: trusted_proxy}, trusted_proxies: [127.0.0.1]}", nothing, "http.auth.mode", "has no secret"),
    (PROXY % "none/proxy.sock", nothing, "http.auth.proxy_socket", "no such folder"),
    (PROXY % "proxy.sock", file_for_socket, "http.auth.proxy_socket", "not a socket"),
    (PROXY % ("x" * 120), nothing, "http.auth.proxy_socket", "too long"),
    (PROXY % "proxy.sock, proxy_group: no-such-group", nothing, "http.auth.proxy_group", "no such group"),
    (TLS, nothing, "http.tls.certificate", "c.pem, and there is no such file"),
    (TLS, certificate_alone, "http.tls.key", "k.pem, and there is no such file"),
    (TLS, folder, "http.tls.key", "k.pem, which cannot be read"),
    (TLS, nonsense, "http.tls", "cannot be used"),
    (TLS, two_pairs, "http.tls", "cannot be used"),
]
"""The `http` section, what is in the home, and the path and words of the error."""


@pytest.mark.parametrize(("http", "arrange", "path", "words"), REFUSALS)
def test_what_a_start_refuses_check_says_first(
    type_: Terminal, http: str, arrange: Arrange, path: str, words: str
) -> None:
    arrange(type_.home)
    (type_.home / "configuration.yaml").write_text(f"http: {http}\n", encoding="utf-8")

    ran = type_("check", "--json")

    assert ran.code == 3
    (error,) = ran.json["errors"]
    assert (error["path"], error["file"], error["line"]) == (path, "configuration.yaml", 1)
    assert words in error["message"]


def test_every_refusal_in_the_code_is_in_the_list() -> None:
    source = Path(start_check.__file__).read_text(encoding="utf-8")
    checks, _, addresses = source.partition("def _address_problem")

    assert checks.count("StartRefusal(") - checks.count("class StartRefusal(") == len(REFUSALS) - 2  # nonsense, files
    assert addresses.count("StartRefusal(") == 2


def test_the_gateway_refuses_a_start_only_by_the_checks_and_where_it_listens() -> None:
    source = Path(server.__file__).read_text(encoding="utf-8")

    refusing = [source[match.end() : match.end() + 120] for match in re.finditer(r"raise StartRefused\(", source)]

    assert all("told" in each or "cannot listen on" in each for each in refusing)


def test_good_files_of_tls_are_valid(type_: Terminal) -> None:
    pair(type_.home)
    (type_.home / "configuration.yaml").write_text(f"http: {TLS}\n", encoding="utf-8")

    assert type_("check").code == 0


def test_an_address_that_is_not_there_is_a_warning(type_: Terminal) -> None:
    (type_.home / "configuration.yaml").write_text("http: {host: 192.0.2.1}\n", encoding="utf-8")

    ran = type_("check", "--json")

    assert ran.code == 0
    assert "no address 192.0.2.1" in ran.json["warnings"][0]["message"]


def test_the_same_settings_are_refused_at_the_start(tmp_path: Path) -> None:
    settings = HttpSettings.from_config({"tls": {"certificate": "c.pem", "key": "k.pem"}}, tmp_path)

    with pytest.raises(HubError, match=r"c\.pem"):
        refuse_unsafe(settings)
