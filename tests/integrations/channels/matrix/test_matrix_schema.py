"""The configuration of Matrix accounts: what it takes, and what it says about what it does not take."""

from __future__ import annotations

from typing import Any

import pytest
from voluptuous import MultipleInvalid

from integrations.channels.matrix.login import MatrixAccount
from integrations.channels.matrix.schema import CONFIG_SCHEMA

ACCOUNT = {"homeserver": "https://matrix.example.org", "user_id": "@homarus:example.org", "password": "correct horse"}


def test_one_account_may_stand_alone() -> None:
    (config,) = CONFIG_SCHEMA(ACCOUNT)

    account = MatrixAccount.from_config(config)

    assert (account.name, account.user_id, account.encryption) == ("default", "@homarus:example.org", False)
    assert account.password is not None
    assert account.access_token is None


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ACCOUNT | {"user_id": "homarus"}, "a Matrix id such as @homarus:example.org"),
        (ACCOUNT | {"access_token": "abcdefgh"}, "access_token .*, and only one of them"),
        (
            {key: value for key, value in ACCOUNT.items() if key != "password"},
            "access_token .*, and only one of them",
        ),
        (ACCOUNT | {"account": "Über"}, "an identifier"),
        (ACCOUNT | {"homeserver": "example.org"}, "http:// or https://"),
        (ACCOUNT | {"encryption": "perhaps"}, "encryption"),
    ],
)
def test_what_is_wrong_is_named(config: Any, said: str) -> None:
    with pytest.raises(MultipleInvalid, match=said):
        CONFIG_SCHEMA(config)
