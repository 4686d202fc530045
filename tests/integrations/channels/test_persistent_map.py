"""Tables that an account knows after a restart: the last values, and nothing of a damaged one."""

from __future__ import annotations

import pytest

from integrations.channels.persistent_map import PersistentMap
from tests.channels.kit import Heard


async def loaded(heard: Heard) -> PersistentMap[int]:
    values = PersistentMap(heard, "numbers", 2, int)
    await values.load()
    return values


async def test_the_last_values_are_known_after_a_restart() -> None:
    heard = Heard()
    values = await loaded(heard)
    for number, name in enumerate(("one", "two", "three")):
        await values.put(name, number)

    again = await loaded(heard)

    assert [again.get(name) for name in ("one", "two", "three")] == [None, 1, 2]


async def test_a_value_that_is_stored_before_the_others_are_read_is_stored_beside_them() -> None:
    heard = Heard()
    await (await loaded(heard)).put("one", 1)
    values = PersistentMap(heard, "numbers", 2, int)

    await values.put("two", 2)

    assert [(await loaded(heard)).get(name) for name in ("one", "two")] == [1, 2]


@pytest.mark.parametrize("kept", ["{", "[]", '{"one": "text"}'])
async def test_a_damaged_table_is_forgotten(kept: str) -> None:
    heard = Heard()
    await heard.keep_cursor(kept, "numbers")

    values = await loaded(heard)
    await values.put("two", 2)

    assert (values.get("one"), values.get("two")) == (None, 2)
