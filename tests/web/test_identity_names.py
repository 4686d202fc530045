"""How people of chat apps are called on pages: never by a raw id where a name is known."""

from __future__ import annotations

from typing import Any

from web.channels.identity_names import IdentityNames

ACCESS: dict[str, Any] = {
    "requests": [
        {"identity": "telegram:user:1", "name": "Ann K.", "state": "approved"},
        {"identity": "telegram:user:2", "name": "Bo", "state": "approved"},
        {"identity": "signal:user:+49", "name": "", "state": "denied"},
    ],
    "people": [{"id": "ann", "name": "Ann", "identities": ["telegram:user:1"]}],
}
NAMES = IdentityNames(ACCESS, {"telegram": "Telegram"})


def test_a_person_goes_before_what_somebody_calls_themselves_and_that_before_an_id() -> None:
    shown = {each: NAMES.shown(each) for each in ("telegram:user:1", "telegram:user:2", "signal:user:+49")}

    assert [each["name"] for each in shown.values()] == ["Ann", "Bo", "+49"]
    assert [each["label"] for each in shown.values()] == ["Ann", "Bo (2)", "+49"]
    assert [each["place"] for each in shown.values()] == ["Telegram", "Telegram", "Signal"]
    assert [each["identity"] for each in shown.values()] == list(shown)


def test_an_id_of_a_list_is_known_by_its_channel() -> None:
    assert NAMES.shown("2", "telegram")["identity"] == "telegram:user:2"
    assert NAMES.shown("9", "telegram")["label"] == "9"


def test_an_account_keeps_the_name_it_has_in_its_app() -> None:
    assert NAMES.name_of("telegram:user:1") == "Ann K."
    assert [each["name"] for each in NAMES.free()] == ["Bo"]
