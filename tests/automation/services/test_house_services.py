from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hub.automation.services.hub_services import HubControl, register_hub, register_notices
from hub.automation.services.memory import MemoryServices
from hub.automation.services.tools import ToolFailed, register_tools
from hub.core.context import Context
from hub.core.errors import HubError, Unavailable
from hub.core.repairs import Repairs
from hub.core.services import AgentRule
from hub.tools.contract import Annotations
from integrations.memory import notes
from tests.agent.house import READ_ONLY
from tests.automation.services.desk import ANNA, AUTOMATION, Desk
from tests.integrations.tools.standing import Standing


async def ask(standing: Standing, service: str, data: dict[str, Any], **who: Any) -> dict[str, Any]:
    domain, _, name = service.partition(".")
    context = Context(who.get("authority", AUTOMATION))
    return dict(await standing.services.call(domain, name, data, context=context, wants_response=True) or {})


async def test_memory_is_kept_searched_read_and_forgotten(tmp_path: Path) -> None:
    standing = Standing(tmp_path / "home")
    MemoryServices(standing.memory, standing.agents, standing.clock).register(standing.services)
    await standing.set_up(notes, yaml="memory: {embeddings: {provider: none}}\n")
    assert standing.workspace.is_dir()

    added = await ask(standing, "memory.add", {"text": "the boiler was serviced"})
    found = await ask(standing, "memory.search", {"query": "boiler"})
    read = await ask(standing, "memory.get", {"path": added["path"]})
    strange = await ask(standing, "memory.search", {"query": "boiler"}, authority=ANNA)
    gone = await ask(standing, "memory.forget", {"query": "boiler"})

    assert "boiler" in found["hits"][0]["text"]
    assert "boiler" in read["text"]
    assert strange["hits"] == []
    assert len(gone["forgotten"]) == 1


async def test_without_a_memory_these_services_say_so(tmp_path: Path) -> None:
    standing = Standing(tmp_path / "home")
    remove = MemoryServices(standing.memory, standing.agents, standing.clock).register(standing.services)

    with pytest.raises(Unavailable):
        await ask(standing, "memory.add", {"text": "x"})

    remove()
    assert [each.id for each in standing.services.all() if each.domain == "memory"] == []


async def test_a_tool_is_used_with_the_authority_of_the_automation(desk: Desk) -> None:
    desk.post.tool("look", lambda call: f"seen by {call.agent_id}", READ_ONLY)
    desk.post.tool("own", lambda call: "done", Annotations())
    register_tools(desk.services, desk.post.tools, desk.post.agents, lambda text: text)

    assert (await desk.call("tool.invoke", {"tool": "look"}))["output"] == "seen by main"
    with pytest.raises(ToolFailed):
        await desk.call("tool.invoke", {"tool": "nothing"})
    with pytest.raises(ToolFailed):
        await desk.call("tool.invoke", {"tool": "own"}, authority=ANNA)


async def test_the_house_is_checked_reloaded_restarted_and_stopped(desk: Desk) -> None:
    done: list[str] = []

    async def check() -> list[dict[str, Any]]:
        return [{"message": "wrong"}]

    async def reload() -> dict[str, Any]:
        return {"applied": True}

    register_hub(desk.services, HubControl(check, reload, lambda: done.append("restart"), lambda: done.append("stop")))

    assert await desk.call("hub.check") == {"valid": False, "errors": [{"message": "wrong"}]}
    assert await desk.call("hub.reload") == {"applied": True}
    for name in ("restart", "stop"):
        await desk.services.call("hub", name, context=Context(AUTOMATION))
    assert done == ["restart", "stop"]
    assert all(each.agent is AgentRule.NEVER for each in desk.services.all())


async def test_notices_are_shown_until_they_are_dismissed(desk: Desk) -> None:
    repairs = Repairs(desk.post.bus)
    register_notices(desk.services, repairs, desk.post.bus)

    answer = await desk.call("persistent_notification.create", {"message": "The wash is done\nsince noon"})
    await desk.call("persistent_notification.create", {"message": "b", "title": "B", "notification_id": "b"})
    await desk.services.call(
        "persistent_notification",
        "dismiss",
        {"notification_id": answer["notification_id"]},
        context=Context(AUTOMATION),
    )

    assert [(each.id, each.title) for each in repairs.all()] == [("b", "B")]
    with pytest.raises(HubError):
        await desk.call("persistent_notification.create", {"message": ""})


async def test_there_is_a_bound_on_notices(desk: Desk) -> None:
    repairs = Repairs(desk.post.bus)
    register_notices(desk.services, repairs, desk.post.bus)

    for number in range(105):
        await desk.call("persistent_notification.create", {"message": f"notice {number}"})

    assert len(repairs.all()) == 100
