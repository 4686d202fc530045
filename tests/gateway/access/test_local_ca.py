"""The home's own authority vouches for home networks and for nothing else, even when its key is misused."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from hub.core.errors import HubError, InvalidRequest
from hub.gateway.access.local_ca import CA_FILE, CA_KEY_FILE, LEAF_FILE, LEAF_KEY_FILE, issue


async def status_of(folder: Path, host: str) -> int:
    """Ask a server that shows the certificate, as a client that trusts this authority alone."""
    server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_tls.load_cert_chain(folder / LEAF_FILE, folder / LEAF_KEY_FILE)
    client_tls = ssl.create_default_context(cafile=str(folder / CA_FILE))
    app = web.Application()
    app.router.add_get("/", _answer)
    server = TestServer(app)
    await server.start_server(ssl=server_tls)
    url = f"https://127.0.0.1:{server.port}/"
    try:
        async with aiohttp.ClientSession() as session, session.get(url, ssl=client_tls, server_hostname=host) as answer:
            return answer.status
    finally:
        await server.close()


async def _answer(request: web.Request) -> web.Response:
    return web.Response()


async def test_a_client_that_trusts_the_authority_trusts_the_hub(tmp_path: Path) -> None:
    issue(tmp_path, ["hub.local", "127.0.0.1", "fd00::1"])

    assert await status_of(tmp_path, "127.0.0.1") == 200
    assert await status_of(tmp_path, "hub.local") == 200
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await status_of(tmp_path, "other.local")


async def test_its_word_for_any_other_place_is_worth_nothing(tmp_path: Path) -> None:
    issue(tmp_path, ["hub.local"])
    # Whoever stole the key would not ask this program, which refuses.
    ca = x509.load_pem_x509_certificate((tmp_path / CA_FILE).read_bytes())
    stolen = load_pem_private_key((tmp_path / CA_KEY_FILE).read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("bank.example")])
    forged = x509.CertificateBuilder(ca.subject, x509.Name([]), key.public_key(), 1, now, now + timedelta(days=1))
    assert isinstance(stolen, ec.EllipticCurvePrivateKey)
    signed = forged.add_extension(names, critical=True).sign(stolen, SHA256())
    (tmp_path / LEAF_FILE).write_bytes(signed.public_bytes(Encoding.PEM))
    (tmp_path / LEAF_KEY_FILE).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    with pytest.raises(aiohttp.ClientConnectorCertificateError, match="permitted subtree"):
        await status_of(tmp_path, "bank.example")


def test_a_new_certificate_keeps_the_authority_that_phones_trust(tmp_path: Path) -> None:
    issue(tmp_path, ["hub.local"])
    before = (tmp_path / CA_FILE).read_bytes()
    first = (tmp_path / LEAF_FILE).read_bytes()

    issue(tmp_path, ["hub.local", "192.168.1.5"])

    leaf = x509.load_pem_x509_certificate((tmp_path / LEAF_FILE).read_bytes())
    assert (tmp_path / CA_FILE).read_bytes() == before
    assert (tmp_path / LEAF_FILE).read_bytes() != first
    assert (leaf.not_valid_after_utc - datetime.now(UTC)).days == 396
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in (CA_KEY_FILE, LEAF_KEY_FILE)} == {0o600}


@pytest.mark.parametrize("name", ["example.org", "evil-local", "8.8.8.8", "*.org", "", "local.example", "hüb.local"])
def test_it_vouches_for_no_public_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match="not a name of a home network"):
        issue(tmp_path, [name])
    assert not (tmp_path / LEAF_FILE).exists()


def test_an_authority_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    issue(tmp_path, ["hub.local"])
    (tmp_path / CA_KEY_FILE).write_text("nothing")

    with pytest.raises(HubError, match="remove it to make another"):
        issue(tmp_path, ["hub.local"])
