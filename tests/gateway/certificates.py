"""Certificates of a test's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def certificate(directory: Path, cert_name: str = "cert.pem", key_name: str = "key.pem") -> tuple[Path, Path]:
    """Write a certificate for localhost, which vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    return _stored(directory, _signed("localhost", key, "localhost", key), key, cert_name, key_name)


def issued(directory: Path, host: str) -> tuple[Path, Path, Path]:
    """Write the certificate of an authority, one that it issued for a host, and the key of that."""
    issuer, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority, _ = _stored(directory, _signed("An authority", issuer, None, issuer), issuer, "ca.pem", "ca-key.pem")
    return authority, *_stored(directory, _signed(host, key, host, issuer, "An authority"), key, "cert.pem", "key.pem")


def _signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    host: str | None,
    issuer_key: ec.EllipticCurvePrivateKey,
    issuer: str | None = None,
) -> x509.Certificate:
    """Return a certificate for a host, or of an authority."""
    now = datetime.now(UTC)
    common = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (name, issuer or name)]
    built = (
        x509.CertificateBuilder()
        .subject_name(common[0])
        .issuer_name(common[1])
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(days=1))
    )
    if host is None:
        built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    else:
        built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    return built.sign(issuer_key, hashes.SHA256())


def _stored(
    directory: Path, made: x509.Certificate, key: ec.EllipticCurvePrivateKey, cert_name: str, key_name: str
) -> tuple[Path, Path]:
    cert, private = directory / cert_name, directory / key_name
    cert.write_bytes(made.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return cert, private
