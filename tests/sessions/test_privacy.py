"""Whose memory a session sees: by its key and by who speaks."""

from __future__ import annotations

import pytest

from hub.core.context import Authority
from hub.memory.contract import Scope
from hub.security.people import People, Person
from hub.sessions.privacy import NOBODY, is_private, scope_of

PEOPLE = People(
    [
        Person("me", "Me", owner=True, identities=("telegram:user:1",)),
        Person("anna", "Anna", identities=("telegram:user:2", "matrix:user:@anna:home")),
    ]
)
ME = Authority("owner", person="me", owner=True)
ANNA = Authority("peer:telegram:user:2", person="anna")
STRANGER = Authority("peer:telegram:user:9")


@pytest.mark.parametrize(
    ("key", "authority", "scope"),
    [
        ("agent:main:main", ME, Scope("me", private=True)),
        ("agent:main:main", ANNA, Scope("anna", private=False)),
        ("agent:main:main", STRANGER, NOBODY),
        ("agent:main:telegram:direct:1", ME, Scope("me", private=True)),
        ("agent:main:telegram:direct:2", ANNA, Scope("anna", private=False)),
        ("agent:main:matrix:direct:@anna%3Ahome", ANNA, Scope("anna", private=False)),
        ("agent:main:direct:me", ME, Scope("me", private=True)),
        ("agent:main:direct:telegram%3Auser%3A1", ME, Scope("me", private=True)),
        ("agent:main:webchat:direct:0190", ME, Scope("me", private=True)),
        ("agent:main:subagent:0190", ME, Scope("me", private=True)),
        ("agent:main:cron:morning", ME, Scope("me", private=True)),
        ("agent:main:telegram:direct:2", ME, NOBODY),
        ("agent:main:telegram:direct:9", ME, NOBODY),
        ("agent:main:telegram:work:direct:2", ME, NOBODY),
        ("agent:main:direct:anna", ME, NOBODY),
        ("agent:main:direct:telegram%3Auser%3A2", ME, NOBODY),
        ("agent:main:telegram:direct:1", ANNA, NOBODY),
        ("agent:main:telegram:group:-100", ME, NOBODY),
        ("agent:main:telegram:channel:-100:topic:1", ME, NOBODY),
        ("agent:main:hook:door", ME, NOBODY),
        ("agent:main:node:phone", ME, NOBODY),
        ("no key", ME, NOBODY),
        ("", ME, NOBODY),
    ],
)
def test_a_session_sees_the_memory_of_whom_it_belongs_to(key: str, authority: Authority, scope: Scope) -> None:
    assert scope_of(key, authority, PEOPLE) == scope
    assert is_private(key, authority, PEOPLE) is scope.private
