"""How many changes a draft makes, as people count them."""

from __future__ import annotations

from typing import Any

import pytest

from web.automations.draft_changes import count_changes

A, B, C = ({"action": name} for name in ("light.a", "light.b", "light.c"))
ITEM = {"alias": "Lamp", "actions": [A, B, C]}


@pytest.mark.parametrize(
    ("new", "count"),
    [
        (ITEM, 0),
        (ITEM | {"alias": "Hall", "mode": "queued"}, 2),
        (ITEM | {"actions": [B, A, C]}, 1),
        (ITEM | {"actions": [C, A, B]}, 1),
        (ITEM | {"actions": [A, C]}, 1),
        (ITEM | {"actions": [A, {"action": "light.x"}, C, B]}, 2),
        (ITEM | {"conditions": ["{{ true }}"]}, 1),
        ({"alias": "Lamp", "action": [A, B, C]}, 0),
        ({"alias": "Lamp", "actions": A}, 2),
    ],
)
def test_a_card_or_a_setting_is_one_change(new: dict[str, Any], count: int) -> None:
    assert count_changes(ITEM, new) == count
