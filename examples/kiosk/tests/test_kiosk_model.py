"""The model answers."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]
MODELS = {"default": "mine/one", "providers": {"mine": {"api": "kiosk"}}}


def test_an_agent_answers_with_the_model() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}, "models": MODELS}) as hub:
        answered = hub.homarus("chat", "good evening")

    assert "You said:" in answered
    assert "good evening" in answered
