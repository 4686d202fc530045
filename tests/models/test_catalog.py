"""The catalog knows facts, and only of those it knows."""

from __future__ import annotations

from hub.models.catalog import known_model, known_models
from hub.models.vendors import OFFLINE, VENDORS


def test_every_default_model_of_a_vendor_is_known() -> None:
    unknown = [
        vendor.name
        for vendor in VENDORS.values()
        if vendor.default_model and vendor.name not in {OFFLINE, "openrouter"}
        if known_model(vendor.name, vendor.default_model) is None
    ]

    assert unknown == []


def test_every_row_makes_sense() -> None:
    for vendor in VENDORS:
        for info in known_models(vendor):
            assert info.context_window >= 16_000, info.ref
            assert info.input_usd is None or 0 <= info.input_usd <= (info.output_usd or 0), info.ref


def test_a_dated_id_is_its_undated_one() -> None:
    dated = known_model("anthropic", "claude-opus-4-6-20260205")

    assert dated is not None
    assert (dated.id, dated.context_window) == ("claude-opus-4-6-20260205", 1_000_000)


def test_a_reseller_has_the_abilities_but_not_the_prices() -> None:
    info = known_model("openrouter", "anthropic/claude-opus-4.6")

    assert info is not None
    assert (info.ref, info.context_window, info.input_usd) == (
        "openrouter/anthropic/claude-opus-4.6",
        1_000_000,
        None,
    )


def test_others_are_not_known() -> None:
    assert known_model("mine", "gpt-5") is None
    assert known_model("openai", "gpt-99") is None
