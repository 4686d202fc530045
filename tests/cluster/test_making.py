"""Homes are made, taken out whole, and deleted with all they had."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from hub.cli.app import app
from hub.cluster.making import HomeMaker
from hub.core.clock import Clock
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.security.tokens import TokenStore
from hub.storage.database import Database
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.moving import HomeMoved, refuse_moved
from tests.servers.postgresql import PostgresqlServer

NOWHERE = "postgresql://127.0.0.1:1/x"


@pytest.fixture
async def maker(server: PostgresqlServer, name: str, tmp_path: Path) -> AsyncIterator[HomeMaker]:
    maker = HomeMaker(server.url(name), tmp_path)
    await maker.prepare()
    yield maker
    await maker.directory.close()


async def test_a_home_has_a_folder_that_works_and_a_token_that_names_it(maker: HomeMaker, tmp_path: Path) -> None:
    made = await maker.create("elm")

    text = (tmp_path / "elm" / "configuration.yaml").read_text()
    assert "install: never" in text
    assert stat.S_IMODE((tmp_path / "elm").stat().st_mode) == 0o700
    assert made.token.reveal().startswith("homtok_elm.")
    with pytest.raises(Conflict, match="there is a home elm already"):
        await maker.create("elm")
    alone = Database(tmp_path / "elm" / ".storage" / "hub.db", HUB_MIGRATIONS)
    await alone.open()
    with pytest.raises(HomeMoved, match="was moved to the PostgreSQL database"):
        await refuse_moved(alone)
    await alone.close()


async def test_a_folder_whose_data_lies_in_it_is_not_taken_in(maker: HomeMaker, tmp_path: Path) -> None:
    (tmp_path / "elm" / ".storage").mkdir(parents=True)
    other = Database(tmp_path / "elm" / ".storage" / "hub.db", HUB_MIGRATIONS)
    await other.open()
    await other.close()

    with pytest.raises(Conflict, match="holds the data of a home"):
        await maker.create("elm")


async def test_a_name_is_a_label_of_a_host_name(maker: HomeMaker) -> None:
    for wrong in ("Elm", "elm_1", "-elm", "", "a" * 64, "el.m"):
        with pytest.raises(InvalidRequest, match="no name of a home"):
            await maker.create(wrong)


async def test_a_home_that_is_exported_is_one_by_itself(maker: HomeMaker, tmp_path: Path) -> None:
    await maker.create("elm")

    folder, rows, transcripts = await maker.export("elm")

    assert (folder, transcripts) == (tmp_path / "elm", 0)
    assert rows > 0
    alone = Database(folder / ".storage" / "hub.db", HUB_MIGRATIONS)
    await alone.open()
    await refuse_moved(alone)
    tokens = TokenStore(alone, Clock(), "elm")
    await tokens.open()
    assert [each.name for each in tokens.list()] == ["owner"]
    await alone.close()
    assert await maker.directory.find("elm") is None


@pytest.mark.parametrize("keep", [True, False])
async def test_a_deleted_home_leaves_no_row_behind(
    maker: HomeMaker, server: PostgresqlServer, name: str, tmp_path: Path, *, keep: bool
) -> None:
    await maker.create("elm")
    await maker.create("oak")

    await maker.delete("elm", files=not keep)

    assert [row.name for row in await maker.directory.all()] == ["oak"]
    assert server.execute("SELECT DISTINCT home FROM homarus.tokens", name) == [("oak",)]
    assert (tmp_path / "elm").exists() is keep
    with pytest.raises(NotFound, match="there is no home elm"):
        await maker.delete("elm", files=False)


async def test_a_home_moves_only_to_a_worker_that_is_there(maker: HomeMaker) -> None:
    await maker.create("elm", "first")

    with pytest.raises(Conflict, match="opened by the worker first alone"):
        await maker.move("elm", "second")
    with pytest.raises(NotFound, match="there is no worker first; there are: none"):
        await maker.move("elm", "first")


def test_the_commands_make_and_list_homes(server: PostgresqlServer, name: str, tmp_path: Path) -> None:
    given = ["--homes", str(tmp_path), "--database", server.url(name)]

    made = CliRunner().invoke(app, ["homes", "create", "elm", *given])
    listed = CliRunner().invoke(app, ["homes", "list", *given])
    deleted = CliRunner().invoke(app, ["homes", "delete", "elm", "--yes", *given])
    empty = CliRunner().invoke(app, ["homes", "list", *given])

    assert "The token with every right in it, shown this once: homtok_elm." in made.output
    assert listed.output == "elm: closed\n"
    assert "was deleted" in deleted.output
    assert "There are no homes yet" in empty.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "nowhere"], "expected HOST:PORT"),
        (["--trusted-proxy", "x"], "--trusted-proxy"),
        (["--certificate", __file__], "--certificate and --key belong together"),
    ],
)
def test_a_worker_says_what_is_wrong(tmp_path: Path, arguments: list[str], message: str) -> None:
    ran = CliRunner().invoke(app, ["worker", "--homes", str(tmp_path), "--database", NOWHERE, *arguments])

    assert ran.exit_code != 0
    assert message in ran.output + str(ran.exception)


def test_a_database_that_does_not_answer_is_named(tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["homes", "list", "--homes", str(tmp_path), "--database", NOWHERE])

    assert "cannot be reached" in str(ran.exception)
