"""`/v1` through the `openai` package."""

from __future__ import annotations

import openai
import pytest

from tests.gateway.house import FullRig
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
async def api(house: FullRig) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=house.token, max_retries=0)


async def test_a_question_is_answered(api: openai.AsyncOpenAI, openai_server: OpenAIServer) -> None:
    openai_server.queue("Hello from the model.")

    answer = await api.chat.completions.create(model="homarus", messages=[{"role": "user", "content": "hello"}])

    assert answer.choices[0].message.content == "Hello from the model."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
