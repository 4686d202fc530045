"""Models with a window too small for an agent are refused, and small ones reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.agent.conversation.window_size import WindowCheck, WindowTooSmall
from hub.agent.run_request import RunStatus
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.models.contract import ModelInfo, ModelProvider
from hub.models.resolved import Resolved
from tests.agent.house import AgentHouse, standing
from tests.agent.scripted_model import ScriptedModel
from tests.servers.openai_server import OpenAIServer


def model(window: int, id: str = "m") -> Resolved:
    provider: ModelProvider = ScriptedModel()
    return Resolved(provider, ModelInfo(id, "mine", context_window=window), f"mine/{id}", "")


def test_models_below_the_minimum_are_left_out_and_alone_refused() -> None:
    small, large = model(15_999), model(16_000, "large")

    (found,) = WindowCheck().usable([small, large])

    assert (found.ref, (found.instead_of or {})["model"]) == ("mine/large", small.ref)
    with pytest.raises(WindowTooSmall, match=r"mine/m has a context window of 15999 tokens; .* at least 16000"):
        WindowCheck().usable([small])


def test_a_small_window_opens_a_repair_until_it_is_larger() -> None:
    repairs = Repairs(EventBus(TaskOwner("listeners")))
    check = WindowCheck(repairs)

    check.usable([model(31_999), model(32_000, "large")])
    (repair,) = repairs.all()
    assert (repair.source, repair.id, repair.severity) == ("models", "window:mine/m", "warning")
    assert "31999 tokens" in repair.text

    check.usable([model(64_000)])
    assert repairs.all() == []


async def test_a_run_with_such_a_model_says_what_to_do(tmp_path: Path, openai_server: OpenAIServer) -> None:
    provider = {"api": "openai", "base_url": openai_server.base_url, "api_key": "sk-test-not-a-secret"}
    models = {"providers": {"test": {**provider, "models": [{"id": "model", "context_window": 8_192}]}}}
    async with standing(AgentHouse(tmp_path / "home", openai_server.base_url, models=models)) as house:
        result = await house.runner.run(house.request())

    assert result.status is RunStatus.ERROR
    assert result.error is not None
    assert result.error["code"] == "WINDOW_TOO_SMALL"
    assert "context_window of model under models.providers.test.models" in result.error["message"]
    assert openai_server.requests() == []
