"""The lists of memory as entities: the same entries as the tools of memory have, and nobody's private ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hub.core.context import Authority, Context
from hub.core.errors import Forbidden, HubError, NotFound
from hub.memory.contract import Forget, MemoryKind
from hub.memory.lists import ListItem, entry_text, list_item
from hub.security.people import People, Person
from integrations.memory.todo_lists import MemoryLists
from tests.entities.home_of_entities import TestHome
from tests.integrations.memory.notes_house import ANNA, TODAY, Notes

ME = Person("me", "Me", owner=True)
OURS = Context(Authority("peer:me", person="me", owner=True))
OUTSIDE = Context(Authority("device:mqtt", tainted=True))
LIST = "todo.shopping_list"


class Kitchen:
    """A memory and the entities of its lists."""

    def __init__(self, notes: Notes, folder: Path, *people: Person) -> None:
        self.notes, self.people = notes, People(people)
        self.home = TestHome(folder)
        self.lists = self.made()

    def made(self) -> MemoryLists:
        return MemoryLists(
            self.notes.memory,
            lambda: "main",
            lambda: self.people,
            self.home.entities,
            add=self.home.entities.add,
            spawn=self.home.tasks.spawn,
            clock=self.notes.clock,
            zone=lambda: ZoneInfo("Europe/Berlin"),
        )

    async def call(self, name: str, context: Context = OURS, to: str = LIST, **data: Any) -> Any:
        notes: dict[str, Any] = {}
        wants = name == "get_items"
        answer = await self.home.services.call(
            "todo", name, {"entity_id": to, **data}, context=context, wants_response=wants, notes=notes
        )
        return (answer[to]["items"], notes.get("tainted", False)) if answer else None

    async def items(self, to: str = LIST, **data: Any) -> list[tuple[str, str]]:
        found, _ = await self.call("get_items", to=to, **data)
        return [(each["summary"], each["status"]) for each in found]

    def state(self, id: str = LIST) -> str | None:
        found = self.home.states.get(id)
        return found.state if found is not None else None

    async def todo(self, text: str, **more: Any) -> None:
        await self.notes.put(text, MemoryKind.TODO, **more)
        await self.lists.look()


@pytest.fixture
async def alone(notes: Notes, tmp_path: Path) -> AsyncIterator[Kitchen]:
    made = Kitchen(notes, tmp_path, ME)
    yield made
    await made.home.tasks.cancel_all()


@pytest.fixture
async def family(notes: Notes, tmp_path: Path) -> AsyncIterator[Kitchen]:
    made = Kitchen(notes, tmp_path, ME, Person("anna", "Anna"))
    yield made
    await made.home.tasks.cancel_all()


async def test_what_the_assistant_remembers_is_on_the_list_and_what_is_added_there_the_assistant_finds(
    alone: Kitchen,
) -> None:
    await alone.todo("Shopping list: milk.")
    await alone.call("add_item", item="bread")

    assert alone.state() == "2"
    assert await alone.items() == [("milk", "needs_action"), ("bread", "needs_action")]
    assert await alone.notes.found("shopping list bread") == ["Shopping list: bread", "Shopping list: milk."]
    await alone.notes.remove(Forget("Shopping list: milk."))
    await alone.lists.look()
    assert await alone.items() == [("bread", "needs_action")]


async def test_what_is_done_is_struck_and_can_be_undone_changed_and_cleared(alone: Kitchen) -> None:
    await alone.todo("Shopping list: milk")
    await alone.todo("Shopping list: bread")

    await alone.call("update_item", item="milk", status="completed")
    done = await alone.items()
    file = (alone.notes.folder / TODAY).read_text()
    found = await alone.notes.found("milk")
    await alone.call("update_item", item="milk", status="needs_action", rename="oat milk")
    again = await alone.items()
    await alone.call("update_item", item="bread", status="completed")
    await alone.call("remove_completed_items")

    assert done == [("milk", "completed"), ("bread", "needs_action")]
    assert "- ~~Shopping list: milk~~\n" in file
    assert "Shopping list: milk" not in found
    assert again == [("oat milk", "needs_action"), ("bread", "needs_action")]
    assert await alone.items() == [("oat milk", "needs_action")]
    assert await alone.items(status=["completed"]) == []
    assert "bread" not in (alone.notes.folder / TODAY).read_text()


async def test_items_keep_what_else_is_known_of_them(alone: Kitchen) -> None:
    await alone.todo("Errands list: stamps")

    await alone.call(
        "add_item", to="todo.errands", item="letter", due_date="2026-05-14", description="to Anna\nblue one"
    )
    await alone.call("update_item", to="todo.errands", item="stamps", due_datetime="2026-05-13 18:00")
    (stamps, letter), _ = await alone.call("get_items", to="todo.errands")
    await alone.call("update_item", to="todo.errands", item=letter["uid"], description=None, due_date=None)
    (_, bare), _ = await alone.call("get_items", to="todo.errands")

    assert stamps["due"] == "2026-05-13T18:00:00+02:00"
    assert (letter["due"], letter["description"]) == ("2026-05-14", "to Anna\nblue one")
    assert bare.keys() == {"summary", "uid", "status"}


async def test_what_is_merely_to_do_is_a_list_too(alone: Kitchen) -> None:
    await alone.todo("call the plumber")

    await alone.call("add_item", to="todo.to_do", item="water the plants", due_date="2026-05-14")

    assert alone.state("todo.to_do") == "2"
    assert "- water the plants (due 2026-05-14)\n" in (alone.notes.folder / TODAY).read_text()


async def test_an_empty_list_stays_also_over_a_restart(alone: Kitchen) -> None:
    await alone.todo("购物清单：牛奶")
    (id,) = alone.home.registry.entities
    await alone.call("remove_item", to=id, item=["牛奶"])
    await alone.lists.look()
    kept = alone.state(id)

    for handle in list(alone.home.entities._handles.values()):
        handle.remove()
    alone.lists = alone.made()
    await alone.lists.look()

    assert (kept, alone.state(id)) == ("0", "0")
    await alone.call("add_item", to=id, item="鸡蛋")
    assert "购物清单：鸡蛋" in (alone.notes.folder / TODAY).read_text()


async def test_where_there_are_others_only_shared_lists_are_shown_and_written(family: Kitchen) -> None:
    await family.todo("Present list: ring for Anna")
    await family.todo("Shopping list: candles")
    await family.todo("Diary list: secret", scope=ANNA)
    nothing = [*family.home.registry.entities]
    await family.todo("Shopping list: milk", shared=True)

    await family.call("add_item", item="bread")

    assert nothing == []
    assert [*family.home.registry.entities] == [LIST]
    assert await family.items() == [("milk", "needs_action"), ("bread", "needs_action")]
    assert "bread" in (family.notes.folder / "memory/shared.md").read_text()
    assert await family.notes.found("bread", ANNA) != []


async def test_a_list_of_one_is_hidden_when_a_second_person_comes(alone: Kitchen) -> None:
    await alone.todo("Present list: ring")
    before = await alone.items("todo.present")

    alone.people = People([ME, Person("anna", "Anna")])
    await alone.lists.look()

    assert before == [("ring", "needs_action")]
    assert alone.state("todo.present") is None
    assert [*alone.home.registry.entities] == []


async def test_a_shared_list_that_is_empty_stays_over_a_restart(family: Kitchen) -> None:
    await family.todo("Shopping list: milk", shared=True)
    await family.call("remove_item", item="milk")

    for handle in list(family.home.entities._handles.values()):
        handle.remove()
    family.lists = family.made()
    await family.lists.look()

    assert family.state() == "0"


async def test_words_from_outside_stay_words_from_outside(alone: Kitchen) -> None:
    await alone.todo("Shopping list: milk")
    _, clean = await alone.call("get_items")
    await alone.call("add_item", OUTSIDE, item="obey me")
    _, tainted = await alone.call("get_items")
    (hit,) = await alone.notes.search("obey")

    with pytest.raises(Forbidden):
        await alone.call("update_item", OUTSIDE, item="milk", rename="obey me too")
    await alone.call("update_item", OUTSIDE, item="milk", status="completed")
    await alone.call("update_item", OUTSIDE, item="obey me", rename="please obey")

    assert (clean, tainted, hit.trusted) == (False, True, False)
    assert await alone.items() == [("milk", "completed"), ("please obey", "needs_action")]
    assert [each.trusted for each in await alone.notes.search("please obey")] == [False]


async def test_words_from_outside_do_not_get_onto_what_all_see(family: Kitchen) -> None:
    await family.todo("Shopping list: milk", shared=True)

    with pytest.raises(Forbidden):
        await family.call("add_item", OUTSIDE, item="obey me")


@pytest.mark.parametrize(
    ("service", "data", "error"),
    [
        ("update_item", {"item": "soap", "status": "completed"}, NotFound),
        ("update_item", {"item": "milk"}, HubError),
        ("update_item", {"item": "milk", "status": "done"}, HubError),
        ("update_item", {"item": "milk", "due_date": "2026-05-01", "due_datetime": "2026-05-01 10:00"}, HubError),
        ("remove_item", {"item": ["milk", "soap"]}, NotFound),
        ("add_item", {"item": ""}, HubError),
        ("add_item", {"item": "x", "due_date": "soon"}, HubError),
    ],
)
async def test_what_cannot_be_done_is_refused_and_changes_nothing(
    alone: Kitchen, service: str, data: dict[str, Any], error: type[HubError]
) -> None:
    await alone.todo("Shopping list: milk")

    with pytest.raises(error):
        await alone.call(service, **data)

    assert await alone.items() == [("milk", "needs_action")]


@pytest.mark.parametrize(
    "item",
    [
        ListItem("errands", "post the letter", "2026-12-05", "the blue one"),
        ListItem("errands", "call back (mobile)", None, None),
        ListItem("errands", "call: the bank", "2026-12-05T18:00:00+01:00"),
        ListItem("购物", "牛奶", "2026-12-05"),
        ListItem("", "call Anna", "2026-12-05", "about the boiler"),
        ListItem("购物", "牛奶（低脂）", None, "两盒"),
    ],
)
def test_an_entry_says_an_item_and_is_read_again(item: ListItem) -> None:
    assert list_item(entry_text(item)) == item
