"""`shell_command:` and `rest_command:` in a whole hub: who is asked, where it runs, and which hosts are reached."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import SYSTEM, Context
from hub.core.errors import Forbidden, HubError
from hub.core.events import Event
from tests.hub_fixture import HubFixture
from tests.security.web_servers import WebServer, started
from tests.until import until


def folder(hub: HubFixture) -> Path:
    return hub.workspaces.root("main").path


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    found, runner = await started()
    yield found
    await runner.cleanup()


@pytest.fixture
async def hub(tmp_path: Path, server: WebServer) -> AsyncIterator[HubFixture]:
    sections: dict[str, Any] = {
        "shell_command": {"count": "wc -c {{ name }}", "note": "cp {{ name }} kept.txt"},
        "rest_command": {"lamp": {"url": server.url("/lamp")}, "there": {"url": "http://{{ host }}/"}},
        "automation": [
            {
                "id": "bell",
                "triggers": [{"trigger": "event", "event_type": "rung"}],
                "actions": [
                    {
                        "action": "shell_command.note",
                        "data": {"name": "list.txt"},
                        "response_variable": "copied",
                    },
                    {"action": "rest_command.lamp", "response_variable": "lamp"},
                    {
                        "event": "done",
                        "event_data": {"code": "{{ copied.returncode }}", "lamp": "{{ lamp.content }}"},
                    },
                ],
            }
        ],
    }
    made = HubFixture(tmp_path, "http://127.0.0.1:1", sections=sections, integrations=("shell",))
    await made.start()
    (folder(made) / "list.txt").write_text("milk\n")
    yield made
    await made.stop()


def answers(hub: HubFixture, *, says: bool) -> list[str]:
    """Answer each question as the owner; return the list of what was asked."""
    asked: list[str] = []

    async def answer(event: Event) -> None:
        question = await hub.approvals.get(event.data["id"])
        asked.append(str(question))
        await hub.approvals.resolve(event.data["id"], says, Context(hub.people.owner_authority()))

    hub.bus.listen("approval_requested", answer)
    return asked


async def test_an_automation_runs_what_the_owner_allows_and_reaches_what_the_configuration_names(
    hub: HubFixture, server: WebServer
) -> None:
    asked = answers(hub, says=True)
    server.page("/lamp", "on")
    done: list[dict[str, Any]] = []
    hub.bus.listen("done", lambda event: done.append(dict(event.data)))

    hub.bus.fire("rung", {})
    await until(lambda: done)

    assert done == [{"code": 0, "lamp": "on"}]
    assert (folder(hub) / "kept.txt").read_text() == "milk\n"
    assert len(asked) == 1
    assert "kept.txt" in asked[0]


async def test_a_no_runs_nothing_and_what_is_harmless_is_not_asked_about(hub: HubFixture) -> None:
    asked = answers(hub, says=False)
    context, data = Context(SYSTEM), {"name": "list.txt"}

    found = await hub.services.call("shell_command", "count", data, context=context, wants_response=True)
    with pytest.raises(HubError, match="approval"):
        await hub.services.call("shell_command", "note", data, context=context)

    assert found is not None
    assert (found["stdout"], found["returncode"]) == ("5 list.txt", 0)
    assert len(asked) == 1
    assert not (folder(hub) / "kept.txt").exists()


async def test_a_host_that_a_call_names_is_not_reached_at_home(hub: HubFixture, server: WebServer) -> None:
    with pytest.raises(Forbidden):
        await hub.services.call("rest_command", "there", {"host": server.target}, context=Context(SYSTEM))

    assert server.asked == []


async def test_what_others_set_off_runs_in_a_sandbox_or_not_at_all(hub: HubFixture) -> None:
    asked = answers(hub, says=True)
    tainted = Context(SYSTEM.narrow(tainted=True))

    with pytest.raises(HubError, match="sandbox"):
        await hub.services.call("shell_command", "note", {"name": "list.txt"}, context=tainted)

    assert asked == []
