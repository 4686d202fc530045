from __future__ import annotations

from pathlib import Path

import pytest

from web.home.choices import CARDS, COLUMNS, ChoiceStore, HomeChoices


@pytest.mark.parametrize(
    ("card", "move", "columns"),
    [
        ("devices", "up", (("start", "devices", "answers"), ("next", "assistant", "week"))),
        ("start", "up", COLUMNS),
        ("week", "down", COLUMNS),
        ("next", "down", (("start", "answers", "devices"), ("assistant", "next", "week"))),
        ("week", "across", (("start", "answers", "devices", "week"), ("next", "assistant"))),
    ],
)
def test_a_card_moves_by_one_place_or_to_the_other_side(card: str, move: str, columns: object) -> None:
    assert HomeChoices().move_card(card, move).columns == columns


def test_cards_are_put_in_order_and_those_that_are_not_named_stay() -> None:
    ordered = HomeChoices().reorder((["week", "start"], ["next"]))

    assert ordered.columns == (("week", "start", "answers", "devices"), ("next", "assistant"))


def test_a_hidden_card_keeps_its_place() -> None:
    hidden = HomeChoices().move_card("next", "hide")

    assert hidden.columns == COLUMNS
    assert hidden.hidden == {"next"}
    assert hidden.move_card("next", "show") == HomeChoices()


def test_cards_that_are_new_come_in_and_unknown_ones_go() -> None:
    old = HomeChoices(columns=(("week", "gone"), ()))

    columns = old.complete().columns

    assert sorted(card for column in columns for card in column) == sorted(CARDS)
    assert columns[0][0] == "week"


async def test_each_person_has_their_own_and_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "home_page.json"
    chosen = HomeChoices(favourites=("light.sofa",)).move_card("week", "hide")

    await ChoiceStore(path).put("ada", chosen)

    again = ChoiceStore(path)
    assert await again.of("ada") == chosen
    assert await again.of("ben") == HomeChoices()


async def test_what_cannot_be_read_is_chosen_again(tmp_path: Path) -> None:
    path = tmp_path / "home_page.json"
    path.write_text('{"version": 1, "data": {"ada": {"columns": 3}}}')

    assert await ChoiceStore(path).of("ada") == HomeChoices()
