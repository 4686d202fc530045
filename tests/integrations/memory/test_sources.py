"""What is searched by the configuration: workspaces, further paths under their own names, and whose conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.agent.agents import Agents
from hub.core.clock import ManualClock
from hub.core.errors import NotFound
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.memory.schema import MEMORY_SCHEMA
from hub.models.provider_config import read_providers
from hub.models.schema import MODELS_SCHEMA
from hub.security.people import People
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from integrations.memory.notes.client.sources import JobSources, extra_sources, job_for, keys_elsewhere
from integrations.memory.notes.files.omissions import Omissions

OWNER = {"id": "me", "name": "Me", "owner": True, "identities": ["telegram:user:1"]}
ANNA = {"id": "anna", "name": "Anna", "owner": False, "identities": ["telegram:user:5"]}


class House:
    """The ground that jobs are made from."""

    def __init__(self, home: Home, sessions: SessionStore) -> None:
        self.home = home
        self.sessions = sessions
        self.section: Mapping[str, Any] = MEMORY_SCHEMA({})
        self.models: Mapping[str, Any] = MODELS_SCHEMA({})
        self.environment: dict[str, str] = {}
        people = People.from_config([OWNER, ANNA])
        self.ground = JobSources(
            home,
            Agents(None, home),
            sessions,
            lambda: people,
            lambda: self.section,
            lambda: read_providers(self.models, {}),
            self.environment,
            Omissions(home),
        )

    def configure(self, **memory: Any) -> None:
        """Set the section `memory`."""
        self.section = MEMORY_SCHEMA(memory)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    home = Home(tmp_path / "home")
    home.create()
    db = Database(home.hub_db, HUB_MIGRATIONS, synchronous="NORMAL")
    await db.open()
    sessions = SessionStore(db, home, ManualClock(), EventBus(TaskOwner("test")))
    await sessions.open()
    yield House(home, sessions)
    await sessions.close()
    await db.close()


def test_further_paths_are_below_the_home_unless_they_say_otherwise(tmp_path: Path) -> None:
    [below, whole, own] = extra_sources(tmp_path, ["notes", "/srv/wiki", "~/diary"])

    assert (below.name, below.root) == ("extra/notes", str(tmp_path / "notes"))
    assert whole.root == "/srv/wiki"
    assert own.root == str(Path("~/diary").expanduser())


def test_further_paths_are_private_and_from_outside_unless_the_owner_vouches_for_them(tmp_path: Path) -> None:
    [plain, vouched] = extra_sources(tmp_path, ["notes", {"path": "house", "trusted": True, "area": "shared"}])

    assert (plain.area, plain.trusted) == ("private", False)
    assert (vouched.area, vouched.trusted) == ("shared", True)


def test_two_paths_never_share_a_name_and_each_name_can_stand_in_a_result(tmp_path: Path) -> None:
    named: list[str | dict[str, str]] = [{"path": "c", "name": "notes"}, {"path": "d", "name": "notes-2"}]
    given = ["a/notes", "b/notes", *named, "笔记", "Übung 1.md"]

    names = [source.name for source in extra_sources(tmp_path, given)]

    assert len(set(names)) == len(given)
    assert names[:3] == ["extra/notes", "extra/notes-2", "extra/notes-3"]
    assert all(name.isascii() and " " not in name and name.count("/") == 1 for name in names)


async def test_a_job_names_the_workspace_first_and_holds_no_secret_objects(house: House) -> None:
    house.configure(embeddings={"provider": "openai", "api_key": "a-key"}, extra_paths=["notes"])

    job = job_for(house.ground, "main")

    assert [source.name for source in job.sources] == ["", "extra/notes"]
    assert Path(job.directory) == house.home.storage / "memory" / "main"
    assert job.settings["embeddings"]["api_key"] == "a-key"
    assert "a-key" not in repr(job)
    assert job.as_plain()["settings"]["search"]["limit"] == 6


async def test_there_is_no_job_for_an_agent_that_is_not(house: House) -> None:
    with pytest.raises(NotFound):
        job_for(house.ground, "nobody")


async def test_keys_of_models_and_of_the_environment_are_handed_on_with_their_address(house: House) -> None:
    house.models = MODELS_SCHEMA(
        {"providers": {"openai": {"api_key": "of-models", "base_url": "http://127.0.0.1:9/v1"}}}
    )
    house.environment |= {"OPENAI_API_KEY": "of-environment", "VOYAGE_API_KEY": "voyage", "GEMINI_API_KEY": ""}

    found = keys_elsewhere(house.ground)

    assert found["keys"] == {"openai": "of-models", "voyage": "voyage"}
    assert found["urls"] == {"openai": "http://127.0.0.1:9/v1"}


@pytest.mark.parametrize(
    ("embeddings", "asked"),
    [
        ({"provider": "gemini"}, True),
        ({"provider": "litellm", "model": "cohere/embed-v4.0"}, True),
        ({}, True),
        ({"provider": "openai"}, False),
        ({"provider": "local"}, False),
    ],
)
async def test_vendors_are_asked_through_litellm(house: House, embeddings: dict[str, Any], asked: bool) -> None:
    house.configure(embeddings=embeddings)
    house.environment["COHERE_API_KEY"] = "of-cohere"

    settings = job_for(house.ground, "main").settings

    assert ("litellm" in settings["engines"]) == asked
    assert ("cohere" in settings["embeddings"]["keys"]) == ("model" in embeddings)


async def test_conversations_are_left_out_unless_they_are_wanted(house: House) -> None:
    await house.sessions.ensure("agent:main:main")

    assert [source.name for source in job_for(house.ground, "main").sources] == [""]


@pytest.mark.parametrize(
    ("key", "person", "area"),
    [
        ("agent:main:main", "me", "private"),
        ("agent:main:telegram:direct:1", "me", "private"),
        ("agent:main:telegram:direct:5", "anna", "person-anna"),
        ("agent:main:telegram:direct:9", None, None),
        ("agent:main:telegram:direct:5", "me", None),
        ("agent:main:main", "gone", None),
        ("agent:main:hook:door", "me", None),
    ],
)
async def test_a_conversation_is_searched_by_whose_it_is_and_by_nobody_when_that_is_not_known(
    house: House, key: str, person: str | None, area: str | None
) -> None:
    house.configure(transcripts=True)
    session = await house.sessions.ensure(key, person=person)

    source = job_for(house.ground, "main").sources[-1]

    assert source.name == "transcripts"
    found = {file.id: file.area for file in source.files}
    assert found.get(session.session_id) == area


async def test_a_groups_conversation_is_the_groups_alone(house: House) -> None:
    house.configure(transcripts=True)
    await house.sessions.ensure("agent:main:telegram:group:-100", person="me")
    await house.sessions.ensure("agent:main:telegram:group:-200", person="anna")

    files = job_for(house.ground, "main").sources[-1].files

    assert len({file.area for file in files}) == len(files) == 2
    assert all(file.area.startswith("group-telegram") and file.person is None for file in files)
