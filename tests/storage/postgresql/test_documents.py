"""Small files of a home as rows: whoever takes it over has them, and nobody else writes them."""

from __future__ import annotations

import ast
import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hub.core.errors import HubError, Unavailable
from hub.core.secret import Secret
from hub.entities.component import EntitiesComponent
from hub.integration.json_storage import JsonStorage
from hub.models.component.models import ModelsComponent
from hub.models.credential_file import CredentialKind, StoredCredential
from hub.storage.document_table import DocumentTable
from hub.storage.homedir import Home
from hub.storage.opening import read_documents
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.errors import OwnershipLost
from hub.storage.schema import STORAGE_SCHEMA
from hub.storage.versioned_file import VersionedFile
from tests.hub_fixture import HubFixture
from tests.servers.postgresql import PostgresqlServer
from tests.storage.postgresql.conftest import Open

ROOT = Path(__file__).parents[3]
SEAMS = {"VersionedFile", "JsonStorage"}
WRITERS = ("documents.write", "documents.rename", "documents.prune", "_file.write", "pins.put")
"""What ends in a change of documents, as its callers name it."""
FILES_ALWAYS = {
    "hub/agent/tidy/verdicts.py",  # disposable
    "hub/entities/helpers/home_helpers.py",  # written by a move from Home Assistant, taken over at once
    "integrations/devices/home_assistant/services.py",  # read where no hub runs
}


async def test_a_hub_in_another_folder_finds_what_the_one_before_kept(
    server: PostgresqlServer, name: str, tmp_path: Path
) -> None:
    sections = {"storage": {"postgresql": {"url": server.url(name), "home": "elm"}}}
    async with HubFixture(tmp_path / "one", "http://127.0.0.1:9", sections=sections) as hub:
        credentials = hub.component(ModelsComponent).credentials
        await credentials.put(StoredCredential("openai", "work", CredentialKind.API_KEY, Secret("sk-of-elm-street")))
        hub.component(EntitiesComponent).registry.create("area", "Kitchen")

    async with HubFixture(tmp_path / "two", "http://127.0.0.1:9", sections=sections) as hub:
        found = hub.component(ModelsComponent).credentials.get("openai", "work").access
        areas = [each.name for each in hub.component(EntitiesComponent).registry.areas.values()]
        hidden = hub.redactor.redact("sk-of-elm-street")

    assert (found.reveal(), areas) == ("sk-of-elm-street", ["Kitchen"])
    assert "sk-of" not in hidden
    assert [path.name for path in (tmp_path / "one" / ".storage").glob("*.json")] == []
    section = STORAGE_SCHEMA(sections["storage"])
    kept = read_documents(Home(tmp_path / "three"), section)
    assert kept.exists(tmp_path / "three/.storage/model_credentials.json")


async def test_a_damaged_one_is_set_aside_and_an_old_one_kept_beside(database: PostgresqlDatabase) -> None:
    folder = database.path.parent
    documents, file = database.documents, VersionedFile(folder / "skills.json", 2, documents=database.documents)
    await asyncio.to_thread(documents.write, file.path, b"{")
    missing = await asyncio.to_thread(file.read)
    aside = file.set_aside
    assert aside is not None
    await asyncio.to_thread(documents.write, file.path, b'{"version": 1, "data": [1]}')
    upgraded = VersionedFile(file.path, 2, lambda _, data: [*data, 2], documents=documents)

    found = await asyncio.to_thread(upgraded.read)

    assert (missing, found) == (None, [1, 2])
    assert documents.read(aside, 9) == b"{"
    assert documents.exists(folder / "skills.json.version-1")


async def test_one_that_is_not_kept_stays_as_it_was(open_home: Open, server: PostgresqlServer, name: str) -> None:
    database = await open_home()
    path = database.path.parent / "skills.json"
    await asyncio.to_thread(database.documents.write, path, b"old")
    server.execute("UPDATE homarus.owners SET owner = 'another'", name)

    with pytest.raises(OwnershipLost):
        await asyncio.to_thread(database.documents.write, path, b"new")

    assert database.documents.read(path, 9) == b"old"


async def test_those_that_wait_for_a_server_keep_no_thread_that_others_need(
    database: PostgresqlDatabase, server: PostgresqlServer
) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    folder = database.path.parent / "integrations/rss"
    stored = [JsonStorage(folder / f"{number}.json", database.documents) for number in range(12)]
    server.kill()
    saving = [asyncio.create_task(each.save(number)) for number, each in enumerate(stored)]
    await asyncio.sleep(0)  # each has begun

    answered = await asyncio.to_thread(lambda: [each.done() for each in saving])

    assert not any(answered)
    server.start()
    await asyncio.gather(*saving)
    assert [await each.load() for each in stored] == list(range(12))


def test_all_of_them_are_written_in_threads_of_their_own() -> None:
    shared = set()
    for path in (each for part in ("hub", "integrations", "web") for each in (ROOT / part).rglob("*.py")):
        calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
        threads = (call for call in calls if ast.unparse(call.func) == "asyncio.to_thread")
        shared |= {f"{path}:{call.lineno}" for call in threads if ast.unparse(call.args[0]).endswith(WRITERS)}

    assert shared == set()


async def test_misuse_is_named(database: PostgresqlDatabase) -> None:
    folder = database.path.parent
    closed = DocumentTable(folder, database)

    with pytest.raises(Unavailable, match="not open yet"):
        closed.read(folder / "skills.json", 9)
    with pytest.raises(RuntimeError, match="in a thread"):
        database.documents.write(folder / "skills.json", b"{}")
    with pytest.raises(RuntimeError, match=r"unknown\.json is not among"):
        database.documents.read(folder / "unknown.json", 9)
    with pytest.raises(FileNotFoundError):
        database.documents.read(folder / "skills.json", 9)
    await asyncio.to_thread(database.documents.write, folder / "skills.json", b"{}")
    with pytest.raises(HubError, match="larger than 1 bytes"):
        database.documents.read(folder / "skills.json", 1)


def test_every_small_file_is_kept_where_the_home_keeps_them() -> None:
    without = set()
    for path in (each for part in ("hub", "integrations", "web") for each in (ROOT / part).rglob("*.py")):
        text = path.read_text()
        if not any(f"{seam}(" in text for seam in SEAMS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SEAMS:
                given = [ast.unparse(each) for each in (*node.args, *(each.value for each in node.keywords))]
                if not any("documents" in each for each in given):
                    without.add(path.relative_to(ROOT).as_posix())

    assert without == FILES_ALWAYS
