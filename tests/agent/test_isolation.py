"""Two agents of one home: neither sees the files, the conversations or the credentials of the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.agent.workspace.avatar import AVATAR_LIMIT_BYTES, read_avatar
from hub.core.errors import HubError, InvalidRequest, LimitExceeded, NotFound
from hub.security.jail_path import PathRefused
from hub.sessions.keys import main_key
from tests.agent.house import AgentHouse, standing
from tests.servers.openai_server import OpenAIServer

AGENTS: list[dict[str, Any]] = [{"id": "main"}, {"id": "kitchen", "credentials": {"test": ["own"]}}]
PICTURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[AgentHouse]:
    keys = [{"id": "shared", "api_key": "sk-shared-of-all"}, {"id": "own", "api_key": "sk-own-of-kitchen"}]
    provider = {"api": "openai", "base_url": openai_server.base_url, "credentials": keys}
    house = AgentHouse(tmp_path / "home", openai_server.base_url, AGENTS, {"providers": {"test": provider}})
    async with standing(house):
        yield house


async def test_no_agent_reads_the_files_of_another(home: AgentHouse) -> None:
    authority = home.request().context.authority
    views = [home.workspaces.view(agent, main_key(agent), authority) for agent in ("main", "kitchen")]
    views[0].write_text("plan.md", "of main")

    assert views[0].path != views[1].path
    assert not views[1].is_file("plan.md")
    for way in ("../workspace/plan.md", str(views[0].path / "plan.md")):
        with pytest.raises(PathRefused):
            views[1].read_text(way)


async def test_no_agent_hears_the_conversations_of_another(home: AgentHouse, openai_server: OpenAIServer) -> None:
    await home.runner.run(home.request("the secret of main"))
    await home.runner.run(home.request("hello", session=main_key("kitchen"), agent_id="kitchen"))

    sent = openai_server.requests()[-1]["body"]
    sessions = [home.sessions.get(main_key(agent)) for agent in ("main", "kitchen")]
    assert "secret of main" not in str(sent)
    assert [each.agent_id for each in sessions if each is not None] == ["main", "kitchen"]
    for agent in ("main", "kitchen"):
        assert ("secret of main" in str(home.transcript(main_key(agent)))) is (agent == "main")


async def test_an_agent_uses_its_own_credentials_and_no_other(home: AgentHouse, openai_server: OpenAIServer) -> None:
    await home.runner.run(home.request("hello"))
    await home.runner.run(home.request("hello", session=main_key("kitchen"), agent_id="kitchen"))

    keys = [request["headers"]["authorization"] for request in openai_server.requests()]
    assert keys == ["Bearer sk-shared-of-all", "Bearer sk-own-of-kitchen"]


@pytest.mark.parametrize(
    ("content", "name", "error"),
    [
        (PICTURE, "../me.png", PathRefused),
        (PICTURE, "other.png", NotFound),
        (b"<svg onload='x'/>", "me.png", InvalidRequest),
        (PICTURE + b"x" * AVATAR_LIMIT_BYTES, "me.png", LimitExceeded),
    ],
)
def test_a_picture_is_a_small_image_of_its_own_workspace(
    tmp_path: Path, content: bytes, name: str, error: type[HubError]
) -> None:
    (tmp_path / "me.png").write_bytes(content)

    with pytest.raises(error):
        read_avatar(tmp_path, name)


def test_a_picture_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "me.txt").write_bytes(PICTURE)

    assert read_avatar(tmp_path, "me.txt") == ("image/png", PICTURE)
