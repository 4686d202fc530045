"""The whole hub on PostgreSQL: configured, answering, examined, and without a password to be seen."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hub.cli.configured import check_home
from hub.core.secret import Secret
from hub.doctor.check_context import CheckContext
from hub.doctor.examination import CheckResult, examine
from hub.sections import needed_domains
from hub.storage.doctor import DATABASES
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.opening import make_database, read_meta
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.session import Session, Target
from hub.storage.postgresql.tables import prepare
from hub.storage.schema import STORAGE_SCHEMA
from tests.doctor.conftest import nobody
from tests.hub_fixture import HubFixture
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.servers.postgresql import OWNER, PASSWORD, PostgresqlServer

TABLES = """SELECT relname, relnamespace::regnamespace, reltuples, xmin FROM pg_class
    WHERE relnamespace IN ('public'::regnamespace, to_regnamespace('homarus'), to_regnamespace('homarus_home'))"""


@pytest.fixture
def url(server: PostgresqlServer, name: str) -> str:
    """The address of a database whose user signs in with a password."""
    server.execute(f"ALTER DATABASE {name} OWNER TO locked")
    return server.url(name, user="locked", password=PASSWORD)


def examined(folder: Path, url: str) -> CheckResult:
    """What the doctor finds on a home with this database."""
    home = Home(folder)
    home.create()
    home.configuration.write_text(f"storage: {{postgresql: '{url}'}}\n")
    [result] = examine(CheckContext(home, lambda: check_home(folder), needed_domains, nobody), [DATABASES]).looked
    return result


async def test_a_hub_answers_and_its_status_names_the_database_without_its_password(
    tmp_path: Path, openai_server: OpenAIServer, url: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    sections = {"storage": {"postgresql": {"url": url, "home": "elm"}}}
    async with HubFixture(tmp_path, openai_server.base_url, sections=sections) as hub:
        assert isinstance(hub.db, PostgresqlDatabase)
        await hub.tokens.create("phone", frozenset({"operator.read"}))
        database = hub.db.status()

    assert (database["database"], database["home"]) == (hub.db.place, "elm")
    assert f"database {name} at" in hub.db.place
    assert not (tmp_path / ".storage" / "hub.db").exists()
    assert PASSWORD not in caplog.text
    async with HubFixture(tmp_path, openai_server.base_url, sections=sections) as again:
        assert [each.name for each in again.tokens.list()] == ["phone"]
        assert read_meta(again.home, again.config.current.or_default("storage"), "nothing") is None


def test_the_doctor_names_the_database_its_latency_and_its_owner(tmp_path: Path, url: str) -> None:
    result = examined(tmp_path, url)

    assert result.findings == ()
    assert "answers in" in result.notes[0]
    assert result.notes[1:] == (
        "The home home in it is owned by no hub now",
        "It is empty: the hub makes its tables at the next start",
    )


def test_the_doctor_says_why_a_database_cannot_be_used(tmp_path: Path, url: str) -> None:
    result = examined(tmp_path, url.replace(PASSWORD, "wrong-word"))

    assert "does not let the hub in" in result.findings[0].what
    assert "wrong-word" not in str(result)


def test_an_address_alone_is_that_of_the_home_called_home() -> None:
    assert STORAGE_SCHEMA({"postgresql": "postgresql://x"})["postgresql"]["home"] == "home"


@pytest.mark.parametrize(
    ("storage", "told"),
    [("{}", []), ("{postgresql: 'postgresql://x'}", ["the memory cannot search conversations that are in PostgreSQL"])],
)
def test_a_memory_that_searches_conversations_needs_them_as_files(
    tmp_path: Path, storage: str, told: list[str]
) -> None:
    (tmp_path / "configuration.yaml").write_text(f"storage: {storage}\nmemory: {{transcripts: true}}\n")

    errors = check_home(tmp_path).errors

    assert [error.message.partition(" (")[0] for error in errors] == told
    assert [error.hint for error in errors] == ["take it out; search in conversations finds them"][: len(told)]


def test_the_password_is_kept_out_of_logs(tmp_path: Path) -> None:
    hidden: list[Secret | str] = []

    section = STORAGE_SCHEMA({"postgresql": f"postgresql://{OWNER}:{PASSWORD}@one/homarus"})
    make_database(Home(tmp_path), section, hidden.append)

    assert hidden == [PASSWORD]
    assert PASSWORD not in repr(section)


@pytest.mark.parametrize(
    ("done", "told"),
    [
        ("CREATE TABLE oc_users(uid TEXT)", "belongs to another program: it has the tables oc_users"),
        ("UPDATE homarus.schema_version SET version = 999", "was written by a newer Homarus"),
        ("ALTER DATABASE {name} SET default_transaction_read_only = on", "only reads"),
        ("DROP TABLE homarus.outbox CASCADE", "lost the tables outbox"),
    ],
    ids=["of another program", "newer", "read-only", "a table lost"],
)
def test_a_hub_does_not_start_on_a_database_that_it_cannot_use(
    tmp_path: Path, server: PostgresqlServer, name: str, done: str, told: str
) -> None:
    """The command says why, and neither the database nor the home's files are changed."""
    if "homarus." in done:
        with Session(Target.from_url(server.url(name), "elm")).connection as connection:
            prepare(connection, HUB_MIGRATIONS, "it")
    server.execute(done.format(name=name), name)
    tables = server.execute(TABLES, name)
    hub = HubProcess(tmp_path / "home")
    hub.home.mkdir(mode=0o700)
    text = f"# mine\nstorage: {{postgresql: '{server.url(name)}'}}\n"
    (hub.home / "configuration.yaml").write_text(text)

    hub.start(wait=False)

    assert hub.ended() != 0
    assert told in hub.log.read_text()
    assert "Traceback" not in hub.log.read_text()
    assert (hub.home / "configuration.yaml").read_text() == text
    assert not (hub.home / ".storage" / "hub.db").exists()
    assert server.execute(TABLES, name) == tables
