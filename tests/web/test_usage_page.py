"""The page of usage: sums and bars from what was recorded, a table to download, and a test of each key."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.plain_browser import plain_browser
from web.usage.chart import SERIES, stack_rows
from web.usage.usage_page import COLUMNS, csv_of, day_limit

TODAY = date(2026, 3, 2)


def row(day: str, model: str = "a/b", *, tokens: int = 10, cost: float | None = None) -> dict[str, object]:
    return {
        "day": day,
        "agent_id": "main",
        "model": model,
        "calls": 1,
        "tokens": tokens,
        "input_tokens": tokens,
        "output_tokens": 0,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "cost_usd": cost,
    }


def test_days_without_use_are_there_and_older_ones_are_not() -> None:
    rows = [row("2026-03-01", tokens=30), row("2026-03-01", "c/d"), row("2026-02-01", "old/one")]

    chart = stack_rows(rows, "model", "tokens", 3, TODAY)

    assert chart.days == ["2026-02-28", "2026-03-01", "2026-03-02"]
    assert chart.names == ["a/b", "c/d"]
    assert chart.values == [[0, 0], [30, 10], [0, 0]]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_what_has_no_colour_of_its_own_is_among_the_others(tokens: list[int]) -> None:
    rows = [row("2026-03-02", f"m/{at}", tokens=value) for at, value in enumerate(tokens)]

    chart = stack_rows(rows, "model", "tokens", 1, TODAY)

    assert len(chart.names) == min(len(tokens), SERIES)
    assert (chart.names[-1] is None) is (len(tokens) > SERIES)
    assert sum(chart.values[0]) == sum(tokens)


def test_the_table_is_csv_and_no_cell_is_a_formula() -> None:
    text = csv_of([row("2026-03-01", '=HYPERLINK("x"),y', cost=0.5)])

    header, only = list(csv.reader(io.StringIO(text)))
    assert tuple(header) == COLUMNS
    assert only[2] == '\'=HYPERLINK("x"),y'
    assert only[-1] == "0.5"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(tmp_path_factory.mktemp("usage") / "home") as process:
        yield process


async def test_the_page_is_small_when_no_model_was_called(hub: HubProcess) -> None:
    async with plain_browser(hub) as browser:
        await browser.goto("/usage?days=7")

        assert "No model was called in this time." in browser.text("main")
        assert browser.page.select_one("svg.bars") is None


@pytest.mark.parametrize(("most", "line"), [(0.0, None), (0.9, None), (1.0, 5), (7.0, 5)])
def test_the_budget_of_a_day_is_a_line_where_days_can_still_be_told_apart(most: float, line: float | None) -> None:
    budgets = [
        {"per": "agent", "limits": {"cost_usd": 1}},
        {"per": "day", "limits": {"cost_usd": 5, "tokens": 9}},
        {"per": "day", "limits": {"cost_usd": 50}},
    ]

    assert day_limit(budgets, "cost_usd", most) == line


CONFIGURATION_OF_A_PRICED_MODEL = """\
models:
  default: my_server/scripted
  providers:
    my_server:
      api: openai
      base_url: {base_url}
      api_key: test-key-of-a-scripted-server
      models: [{{id: scripted, name: Scripted one, context_window: 32768, cost: {{input: 300, output: 1500}}}}]
agents: [{{id: main}}, {{id: cook, name: Cook}}]
budgets: [{{per: day, cost_usd: 1}}]
"""


async def test_what_was_used_has_names_a_budget_and_a_row_for_each_part(
    tmp_path: Path, model_server: OpenAIServer
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    text = CONFIGURATION_OF_A_PRICED_MODEL.format(base_url=model_server.base_url)
    (home / "configuration.yaml").write_text(text)
    with HubProcess(home) as hub:
        for agent in ("main", "cook"):
            hub.rpc("agent", {"message": "hello", "agentId": agent, "idempotencyKey": agent})
            hub.rpc("agent.wait", {"runId": agent})
        async with plain_browser(hub) as browser:
            await browser.goto("/agents/usage")
            assert "Scripted one · My own server" in browser.text("main table")
            assert "my_server" not in browser.text("main")
            assert "of $1.00" in browser.text("main")
            assert browser.page.select_one("svg.bars rect") is not None

            await browser.goto("/agents/usage?by=agent")
            assert {"Cook", "Homarus"} <= set(browser.texts("main tbody th, main tbody td"))
