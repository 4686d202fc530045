"""A certificate authority of this home, which can vouch for names and addresses of a home network and for no others.

Its certificate carries critical name constraints (RFC 5280, 4.2.1.10): a phone that trusts it does not have to trust it
with the rest of the internet, not even when its key is stolen.
"""

from __future__ import annotations

import hashlib
import ipaddress
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hub.core.errors import HubError, InvalidRequest
from hub.gateway.access.hosts import lan_address, own_names
from hub.storage.files import write_atomic

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CA_FILE, CA_KEY_FILE = "ca.crt", "ca.key"
LEAF_FILE, LEAF_KEY_FILE = "hub.crt", "hub.key"
CA_DAYS = 3_650
LEAF_DAYS = 397
"""The most that browsers take."""
DOMAINS = ("local", "home.arpa", "lan", "internal", "localhost")
NETWORKS = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8"),
    *("fc00::/7", "fe80::/10", "::1/128"),
)


def issue(folder: Path, names: Sequence[str]) -> None:
    """Make a certificate for the hub, signed by the authority in `folder`, which is made when it is not there.

    Args:
        names: Host names and addresses of the hub.

    Raises:
        InvalidRequest: A name is not one of a home network.
        HubError: A file cannot be read or written.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    wanted = [_general_name(each) for each in names]
    ca, ca_key = _authority(folder)
    key = ec.generate_private_key(ec.SECP256R1())
    built = _builder(x509.Name([_common(names[0])]), ca.subject, key, LEAF_DAYS)
    built = built.add_extension(x509.SubjectAlternativeName(wanted), critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    built = built.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    _store(folder, LEAF_FILE, LEAF_KEY_FILE, _signed(built.add_extension(issuer, critical=False), ca_key), key)


def fingerprint(certificate: Path) -> str:
    """Return the SHA-256 of the first certificate of a PEM file, as clients pin it, in hexadecimal digits.

    Raises:
        HubError: It cannot be read.
    """
    end = "-----END CERTIFICATE-----"
    try:
        pem = certificate.read_text(encoding="ascii")
        pem = pem[pem.index("-----BEGIN CERTIFICATE-----") : pem.index(end) + len(end)]
    except (OSError, ValueError) as error:
        raise HubError(f"{certificate} is not a readable certificate: {error}") from error
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def own_home_names() -> list[str]:
    """Return the names and addresses of this machine that the authority may vouch for."""
    return [each for each in (*sorted(own_names()), lan_address(), "localhost") if is_home_name(each)]


def is_home_name(name: str) -> bool:
    """Whether the authority may vouch for a host name or address."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name.isascii() and any(name == each or name.endswith(f".{each}") for each in DOMAINS)
    return any(address in ipaddress.ip_network(each) for each in NETWORKS)


def _authority(folder: Path) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        kept = load_pem_private_key((folder / CA_KEY_FILE).read_bytes(), None)
        ca = x509.load_pem_x509_certificate((folder / CA_FILE).read_bytes())
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise HubError(f"{folder} has an authority that cannot be read: {error}; remove it to make another") from error
    else:
        if isinstance(kept, ec.EllipticCurvePrivateKey):
            return ca, kept
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([_common(f"Homarus home authority {datetime.now(UTC):%Y-%m-%d}")])
    allowed: list[x509.GeneralName] = [x509.DNSName(each) for each in DOMAINS]
    allowed += [x509.IPAddress(ipaddress.ip_network(each)) for each in NETWORKS]
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    built = _builder(name, name, key, CA_DAYS)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    built = built.add_extension(x509.NameConstraints(allowed, excluded_subtrees=None), critical=True)
    ca = _signed(built.add_extension(usage, critical=True), key)
    _store(folder, CA_FILE, CA_KEY_FILE, ca, key)
    return ca, key


def _general_name(name: str) -> x509.GeneralName:
    """Return a host name or address as a certificate has it.

    Raises:
        InvalidRequest: The authority may not vouch for it.
    """
    from cryptography import x509

    if not is_home_name(name):
        told = f"expected one that ends in {', '.join(DOMAINS)}, or a private address"
        raise InvalidRequest(f"{name!r:.100} is not a name of a home network; {told}")
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.now(UTC)
    built = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=days))
    return built.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _common(name: str) -> x509.NameAttribute[str]:
    from cryptography import x509

    return x509.NameAttribute(x509.NameOID.COMMON_NAME, name[:64])


def _signed(built: x509.CertificateBuilder, key: EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography.hazmat.primitives.hashes import SHA256

    return built.sign(key, SHA256())


def _store(folder: Path, file: str, key_file: str, certificate: x509.Certificate, key: EllipticCurvePrivateKey) -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_atomic(folder / key_file, secret)
        write_atomic(folder / file, certificate.public_bytes(Encoding.PEM))
    except OSError as error:
        raise HubError(f"{folder} cannot be written: {error}") from error
