"""What is configured: errors, how the hub listens, integrations."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hub.config.doctor import CONFIGURATION
from hub.core.repairs import Severity
from hub.gateway.doctor import NETWORK, certificate_findings
from hub.integration.doctor import CUSTOM, REQUIREMENTS
from hub.storage.homedir import Home
from tests.doctor.conftest import See
from tests.doctor.looking import found, words
from tests.gateway.access.test_tailscale import SERVED, serving


def test_errors_of_the_configuration_are_told_with_their_place(home: Home, see: See) -> None:
    home.configuration.write_text("hub: {}\nsession: {dm_scope: everyone}\n", encoding="utf-8")

    (finding,) = found(CONFIGURATION, see)

    assert finding.where == "configuration.yaml:2:21"
    assert finding.severity is Severity.ERROR


def test_errors_that_mean_recovery_mode_are_critical(home: Home, see: See) -> None:
    home.configuration.write_text("http: {port: x}\n", encoding="utf-8")

    (finding,) = found(CONFIGURATION, see)

    assert finding.severity is Severity.CRITICAL
    assert found(NETWORK, see) == []


def test_an_open_door_is_critical(home: Home, see: See) -> None:
    home.configuration.write_text("http: {host: 0.0.0.0, port: 0, auth: {mode: none}}\n", encoding="utf-8")

    (finding,) = found(CONFIGURATION, see)

    assert finding.severity is Severity.CRITICAL
    assert "http.auth.mode" in f"{finding.what} {finding.where}"


def test_a_bind_to_the_lan_without_tls_is_a_warning(home: Home, see: See) -> None:
    home.configuration.write_text("http: {host: 0.0.0.0, port: 0}\n", encoding="utf-8")

    (finding,) = found(NETWORK, see)

    assert finding.severity is Severity.WARNING
    assert "TLS" in finding.what


def test_a_weak_password_is_critical(home: Home, see: See) -> None:
    home.secrets.write_text("door: changeme\n", encoding="utf-8")
    home.configuration.write_text("http: {port: 0, auth: {mode: password, password: !secret door}}\n", encoding="utf-8")

    (finding,) = found(CONFIGURATION, see)

    assert finding.severity is Severity.CRITICAL
    assert "changeme" not in finding.what


def test_a_port_that_is_taken_is_an_error(home: Home, see: See) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        home.configuration.write_text(f"http: {{port: {port}}}\n", encoding="utf-8")

        (finding,) = found(NETWORK, see)

    assert str(port) in finding.where
    assert found(NETWORK, see) == []


def test_an_address_of_somebody_else_is_critical(home: Home, see: See) -> None:
    home.configuration.write_text(
        "http: {host: 192.0.2.1, port: 0, tls: {certificate: c.pem, key: k.pem}}\n", encoding="utf-8"
    )
    certificate(home.path / "c.pem", ends_in=timedelta(days=90))

    (finding,) = found(NETWORK, see)

    assert finding.where.startswith("192.0.2.1")


def certificate(path: Path, *, ends_in: timedelta) -> None:
    """Write a certificate that began a year before it ends, and its key beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "home.local")])
    ends = datetime.now(UTC) + ends_in
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(ends - timedelta(days=365))
        .not_valid_after(ends)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.with_name("k.pem").write_bytes(key.private_bytes(*form))
    path.with_name("k.pem").chmod(0o600)


@pytest.mark.parametrize(
    ("ends_in", "severity"),
    [
        (timedelta(days=-1), Severity.ERROR),
        (timedelta(days=5), Severity.WARNING),
        (timedelta(days=400), Severity.ERROR),
    ],
)
def test_a_certificate_is_judged_by_its_dates(tmp_path: Path, ends_in: timedelta, severity: Severity) -> None:
    certificate(tmp_path / "c.pem", ends_in=ends_in)

    (finding,) = certificate_findings(tmp_path / "c.pem", datetime.now(UTC))

    assert finding.severity is severity


def test_a_certificate_that_is_none_is_critical(tmp_path: Path) -> None:
    (tmp_path / "c.pem").write_text("-----BEGIN NONSENSE-----\n", encoding="utf-8")

    (finding,) = certificate_findings(tmp_path / "c.pem", datetime.now(UTC))

    assert finding.severity is Severity.CRITICAL


def test_a_key_that_others_can_read_is_an_error(home: Home, see: See) -> None:
    home.configuration.write_text("http: {port: 0, tls: {certificate: c.pem, key: k.pem}}\n", encoding="utf-8")
    certificate(home.path / "c.pem", ends_in=timedelta(days=90))
    (home.path / "k.pem").chmod(0o644)

    (finding,) = found(NETWORK, see)

    assert "k.pem" in finding.where


def test_files_of_tls_that_are_missing_are_named(home: Home, see: See) -> None:
    home.configuration.write_text("http: {port: 0, tls: {certificate: c.pem, key: k.pem}}\n", encoding="utf-8")

    assert "c.pem" in words(CONFIGURATION, see)


def integration(home: Home, domain: str, *, code: str, **manifest: object) -> Path:
    """Write an integration of one's own and name it in the configuration."""
    folder = home.custom_integrations / domain
    folder.mkdir(parents=True)
    said = {"domain": domain, "name": domain.title(), "kind": "tool", "version": "1.0.0", **manifest}
    (folder / "manifest.json").write_text(json.dumps(said), encoding="utf-8")
    (folder / "__init__.py").write_text(code, encoding="utf-8")
    with home.configuration.open("a", encoding="utf-8") as file:
        file.write(f"\n{domain}: {{}}\n")
    return folder


GOOD = "async def setup(host, config): ...\n"


def test_a_good_integration_of_ones_own_is_no_finding(home: Home, see: See) -> None:
    integration(home, "doorbell", code=GOOD)

    assert found(CUSTOM, see) == []
    assert found(REQUIREMENTS, see) == []


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def setup(host, config): ...\n", "async def setup"),
        ("async def setup(host, config:\n", "Not valid Python"),
        ("raise SystemExit\n", "async def setup"),
    ],
)
def test_an_integration_that_cannot_be_loaded_is_found_and_not_run(home: Home, see: See, code: str, told: str) -> None:
    integration(home, "doorbell", code=code)

    assert told in words(CUSTOM, see)


def test_setup_may_come_from_a_module_beside(home: Home, see: See) -> None:
    folder = integration(home, "doorbell", code="from .life import setup\n")
    (folder / "life.py").write_text(GOOD, encoding="utf-8")

    assert found(CUSTOM, see) == []


def test_a_manifest_that_is_wrong_is_named(home: Home, see: See) -> None:
    folder = integration(home, "doorbell", code=GOOD)
    (folder / "manifest.json").write_text('{"domain": "doorbell", "nam": "x"}', encoding="utf-8")

    assert "doorbell/manifest.json" in words(CUSTOM, see)


def test_a_schema_that_falls_is_told_with_its_line(home: Home, see: See) -> None:
    folder = integration(home, "doorbell", code=GOOD)
    (folder / "schema.py").write_text("x = 1\nCONFIG_SCHEMA = 1 / 0\n", encoding="utf-8")

    assert "line 2" in words(CUSTOM, see)


def test_a_missing_package_is_told_with_the_command(home: Home, see: See) -> None:
    integration(home, "doorbell", code=GOOD, requirements=["no-such-package-anywhere>=1"])

    (finding,) = found(REQUIREMENTS, see)

    assert "no-such-package-anywhere" in finding.what
    assert "uv pip install" in finding.command


def test_a_disabled_integration_needs_nothing(home: Home, see: See) -> None:
    integration(home, "doorbell", code=GOOD, requirements=["no-such-package-anywhere>=1"])
    text = home.configuration.read_text(encoding="utf-8")
    home.configuration.write_text(text.replace("hub:\n", "hub:\n  disabled: [doorbell]\n"), encoding="utf-8")

    assert found(REQUIREMENTS, see) == []


def test_a_dependency_that_does_not_exist_is_found(home: Home, see: See) -> None:
    integration(home, "doorbell", code=GOOD, dependencies=["gate"])

    assert "gate" in words(REQUIREMENTS, see)


def test_what_serve_still_needs_and_what_funnel_opens_is_told(
    home: Home, see: See, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.configuration.write_text("http: {port: 18789}\n", encoding="utf-8")
    serving(tmp_path, monkeypatch, SERVED)
    by_name = words(NETWORK, see)
    home.configuration.write_text("http: {port: 18789, allowed_hosts: [hub.tail1234.ts.net]}\n", encoding="utf-8")
    right = words(NETWORK, see)
    serving(tmp_path, monkeypatch, SERVED | {"AllowFunnel": {"hub.tail1234.ts.net:443": True}})
    public = words(NETWORK, see)

    assert "not in http.allowed_hosts" in by_name
    assert "ts.net" not in right
    assert "whole internet" in public
