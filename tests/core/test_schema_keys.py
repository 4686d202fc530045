"""The keys of schemas."""

from __future__ import annotations

import pytest

from hub.core.schema import AnyOf, MultipleInvalid, Optional, Required, Schema


def test_a_key_with_a_default_fills_it_in() -> None:
    schema = Schema(
        {Required("name", default="home"): str, Optional("tags", default=list): [str], Optional("note"): str}
    )

    assert schema({}) == {"name": "home", "tags": []}


def test_a_required_key_is_missed_with_its_own_message() -> None:
    with pytest.raises(MultipleInvalid, match="say what it is called"):
        Schema({Required("name", msg="say what it is called"): str})({})


def test_one_of_several_required_keys_is_enough() -> None:
    schema = Schema({Required(AnyOf("color", "brightness")): str})

    assert schema({"brightness": "high"}) == {"brightness": "high"}
    with pytest.raises(MultipleInvalid, match="at least one of"):
        schema({})


def test_a_key_may_be_any_of_a_kind() -> None:
    schema = Schema({Optional(str): int})

    assert schema({"a": 1}) == {"a": 1}
    with pytest.raises(MultipleInvalid):
        schema({1: 1})


def test_keys_are_equal_to_what_they_name() -> None:
    assert Optional("a") in {"a": 1}
    assert Optional("a") == Required("a")
