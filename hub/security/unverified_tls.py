"""TLS without looking at who signed the certificate."""

from __future__ import annotations

import ssl


def unverified_tls() -> ssl.SSLContext:
    """Return a TLS context that takes any certificate.

    For listeners of this machine, whose certificate has its name in the network and not that of loopback; and where a
    known fingerprint is compared afterwards.
    """
    return ssl._create_unverified_context()  # noqa: S323
