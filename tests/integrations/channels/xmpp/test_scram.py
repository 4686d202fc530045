"""The password of an XMPP account is salted as the standard says, in one step."""

from __future__ import annotations

import base64

import pytest
from slixmpp.util.sasl.client import MECHANISMS

from integrations.channels.xmpp.scram import Scram

SECURITY = {"encrypted": True, "unencrypted_scram": False, "tls_version": "TLSv1.3", "binding_proposed": False}


@pytest.mark.parametrize(
    ("name", "salt", "salted"),
    [
        ("SCRAM-SHA-1", "QSXCR+Q6sek8bf92", "HZbuOlKbWl+eR8AfIposuKbhX30="),  # RFC 5802, section 5
        ("SCRAM-SHA-256", "W22ZaJ0SNY7soEsUEjb6gQ==", "xKSVEDI6tPlSysH6mUQZOeeOp01r6B3fcJbodRPcYV0="),  # RFC 7677
    ],
)
def test_a_password_is_salted_as_in_the_examples_of_the_standard(name: str, salt: str, salted: str) -> None:
    mechanism = MECHANISMS[name](name, {"username": b"user", "password": b"pencil", "authzid": b""}, SECURITY)

    assert isinstance(mechanism, Scram)
    assert base64.b64encode(mechanism.Hi("pencil", base64.b64decode(salt), 4_096)).decode() == salted
