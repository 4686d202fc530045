"""Whose memory a session sees: by its key and by who speaks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hub.core.context import Authority
from hub.memory.scope import NOBODY, MemoryScope
from hub.security.people import People, Person
from hub.sessions.privacy import is_private, scope_of

PEOPLE = People(
    [
        Person("me", "Me", owner=True, identities=("telegram:user:1",)),
        Person("anna", "Anna", identities=("telegram:user:2", "matrix:user:@anna:home")),
    ],
    {"webchat"}.__contains__,
)
ME = Authority("owner", person="me", owner=True)
ANNA = Authority("peer:telegram:user:2", person="anna")
STRANGER = Authority("peer:telegram:user:9")
MINE = MemoryScope("me", private=True, shared=True)
ANNAS = MemoryScope("anna", private=False, shared=True)
ROOM = MemoryScope(None, private=False, group="telegram--100-aa590b0ee9cff01f2251", shared=True)


@pytest.mark.parametrize(
    ("key", "authority", "scope"),
    [
        ("agent:main:main", ME, MINE),
        ("agent:main:main", ANNA, ANNAS),
        ("agent:main:main", STRANGER, NOBODY),
        ("agent:main:telegram:direct:1", ME, MINE),
        ("agent:main:telegram:direct:2", ANNA, ANNAS),
        ("agent:main:matrix:direct:@anna%3Ahome", ANNA, ANNAS),
        ("agent:main:direct:me", ME, MINE),
        ("agent:main:direct:telegram%3Auser%3A1", ME, MINE),
        ("agent:main:webchat:direct:0190", ME, MINE),
        ("agent:main:subagent:0190", ME, MINE),
        ("agent:main:cron:morning", ME, MINE),
        ("agent:main:telegram:direct:2", ME, NOBODY),
        ("agent:main:telegram:direct:9", ME, NOBODY),
        ("agent:main:telegram:work:direct:2", ME, NOBODY),
        ("agent:main:direct:anna", ME, NOBODY),
        ("agent:main:direct:telegram%3Auser%3A2", ME, NOBODY),
        ("agent:main:direct:telegram%3Auser%3A9", ME, NOBODY),
        ("agent:main:matrix:direct:@bob%3Ahome", ME, NOBODY),
        ("agent:main:telegram:direct:9", Authority("system", owner=True), NOBODY),
        ("agent:main:direct:reading", ME, MINE),
        ("agent:main:api:direct:phone", ME, MINE),
        ("agent:main:tui-0190", ME, MINE),
        ("agent:main:anna", ME, MINE),
        ("agent:main:me", ANNA, ANNAS),
        ("agent:main:telegram:user:2", ME, MINE),
        ("agent:main:Trip to Rome", STRANGER, NOBODY),
        ("agent:main:incognito-1", ME, NOBODY),
        ("agent:main:telegram:direct:1", ANNA, NOBODY),
        ("agent:main:telegram:group:-100", ME, ROOM),
        ("agent:main:telegram:group:-100", ANNA, ROOM),
        ("agent:main:telegram:group:-100", STRANGER, replace(ROOM, shared=False)),
        ("agent:main:telegram:channel:-100:topic:1", ME, ROOM),
        ("agent:main:hook:door", ME, NOBODY),
        ("agent:main:node:phone", ME, NOBODY),
        ("no key", ME, NOBODY),
        ("", ME, NOBODY),
    ],
)
def test_a_session_sees_the_memory_of_whom_it_belongs_to(key: str, authority: Authority, scope: MemoryScope) -> None:
    assert scope_of(key, authority, PEOPLE) == scope
    assert is_private(key, authority, PEOPLE) is scope.private


def test_two_rooms_never_share_a_memory() -> None:
    keys = [f"agent:main:telegram:group:{id}" for id in ("-100", "100", "a.b", "a-b", "%C3%A4", "A")]

    groups = {scope_of(key, ANNA, PEOPLE).group for key in keys}

    assert len(groups) == len(keys)
