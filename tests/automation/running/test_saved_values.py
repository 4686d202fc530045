"""Values of runs that wait: kept as JSON, and the text of a secret keeps its origin."""

from __future__ import annotations

import json

import msgspec
import pytest

from hub.automation.running.saved_values import pack, unpack
from hub.core.secret import MASK, SecretFloat, SecretInt, SecretMask, SecretText
from hub.messaging.contract import Address, InboundMessage
from hub.messaging.inbox.inbox_rows import dump_inbound, load_message
from hub.security.redaction import Redactor

SECRETS = [SecretText("4821"), SecretInt(4821), SecretFloat(48.5)]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda each: type(each).__name__)
def test_a_secret_keeps_its_origin_while_a_run_waits(secret: object) -> None:
    stored = json.loads(json.dumps(pack({"pin": secret, "all": [secret]})))

    found = unpack(stored)

    assert found == {"pin": secret, "all": [secret]}
    assert type(found["pin"]) is type(found["all"][0]) is type(secret)


@pytest.mark.parametrize("secret", SECRETS, ids=lambda each: type(each).__name__)
def test_a_secret_is_shown_nowhere_however_short(secret: object) -> None:
    assert Redactor().redact_data({"pin": secret, "all": [secret]}) == {"pin": MASK, "all": [MASK]}
    assert SecretMask({"pin": secret}).data == {"pin": MASK}
    assert SecretMask({"pin": secret}).text(f"the PIN is {secret} now") == f"the PIN is {MASK} now"


def test_the_text_of_a_secret_is_kept_as_text_in_an_inbox_row() -> None:
    message = InboundMessage(Address("platform", "1"), "m1", "platform:user:1", SecretText("4821"))

    stored = dump_inbound(message)

    assert msgspec.json.decode(stored)["text"] == "4821"
    assert load_message(stored).text == "4821"
