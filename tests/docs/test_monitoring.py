"""The page of monitoring: the metrics that it names are there, and its queries hold in Prometheus itself."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from ruamel.yaml import YAML

from hub.core.context import SCOPES, Authority
from tests.backup.test_in_hub import asked
from tests.docs.pages import DOCS
from tests.hub_fixture import HubFixture
from tests.lengths import LONG
from tests.servers.openai_server import OpenAIServer
from tests.servers.ports import free_port

PAGE = (DOCS / "monitoring.md").read_text("utf-8")
OWNER = Authority("owner", scopes=SCOPES, owner=True)
SUFFIX = re.compile(r"_(?:bucket|sum|count)$")
WAIT_S = 60.0


def block(beginning: str) -> str:
    """Return the block of the page with this first line."""
    blocks: list[str] = re.findall(r"```\w*\n(.*?)```", PAGE, re.DOTALL)
    return next(each for each in blocks if each.startswith(beginning))


def names() -> set[str]:
    """Return the metrics that the page names, in its table and in its queries."""
    whole = set(re.findall(r"\bhomarus_[a-z_]+\b", PAGE)) - {"homarus_metrics"}  # the secret in the example
    return {SUFFIX.sub("", each) for each in whole} | {
        f"homarus_messages{each}" for each in re.findall(r"…(_\w+)", PAGE)
    }


def queries() -> list[str]:
    """Return the alerts and the queries for Grafana."""
    alerts = [line.partition("  #")[0].strip() for line in block("homarus_channel_up == 0").splitlines()]
    return [*alerts, *re.findall(r"`((?:sum|histogram_quantile)[^`]+)`", PAGE)]


@pytest.fixture
async def hub(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[HubFixture]:
    async with HubFixture(tmp_path / "home", openai_server.base_url) as hub:
        yield hub


async def made_token(hub: HubFixture) -> str:
    _, secret = await hub.tokens.create("prometheus", ["operator.metrics"], by=OWNER)
    return secret.reveal()


async def scrape(hub: HubFixture, token: str) -> str:
    header = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession() as http, http.get(f"{hub.url}/metrics", headers=header) as answer:
        return await answer.text()


async def converse(hub: HubFixture) -> None:
    ask = {"model": "homarus", "messages": [{"role": "user", "content": "hello"}]}
    async with (
        aiohttp.ClientSession(headers=hub.bearer) as http,
        http.post(f"{hub.url}/v1/chat/completions", json=ask) as answer,
    ):
        assert answer.status == 200


async def test_each_metric_that_is_named_is_there(hub: HubFixture) -> None:
    await asked(hub, "backup.create", {"wait": True})  # one number is of the last backup
    text = await scrape(hub, await made_token(hub))

    there = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    assert len(names()) > 25
    assert names() - there == set()
    assert {each for each in there if each.startswith("homarus_")} - names() == set()


async def test_home_assistants_sensor_reads_the_sum_of_what_waits(hub: HubFixture) -> None:
    shown = re.sub(r"!secret (\w+)", r"\1", block("# configuration.yaml of Home Assistant"))
    [sensor] = YAML(typ="safe").load(shown)["sensor"]
    text = (
        "# HELP homarus_outbox_waiting Messages that wait.\n# TYPE homarus_outbox_waiting gauge\n"
        'homarus_outbox_waiting{channel="telegram"} 2\nhomarus_outbox_waiting{channel="irc"} 10\n'
        'homarus_outbox_oldest_seconds{channel="irc"} 77\n'
    )

    found = await asked(hub, "template.render", {"template": sensor["value_template"], "variables": {"value": text}})

    assert found["result"] == 12
    assert sensor["resource"].endswith("/metrics")


@pytest.mark.skipif(not LONG, reason="starts Prometheus; script/test --long installs it")
async def test_prometheus_reads_them_and_answers_what_the_page_asks(
    hub: HubFixture, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    token = tmp_path / "token"
    token.write_text(await made_token(hub))
    settings = YAML(typ="safe").load(block("# prometheus.yml"))
    [job] = settings["scrape_configs"]
    job |= {"scrape_interval": "1s", "static_configs": [{"targets": [hub.url.removeprefix("http://")]}]}
    job["authorization"] = {"credentials_file": str(token)}
    YAML(typ="safe").dump(settings, tmp_path / "prometheus.yml")
    with prometheus(tmp_path) as address:
        await until_one(address, 'up{job="homarus"} == 1')
        await converse(hub)
        await until_one(address, "sum(homarus_model_call_duration_seconds_count) > 0")
        answers = [await query(address, each) for each in queries()]

    assert len(answers) == 7
    assert [each["status"] for each in answers] == ["success"] * 7
    (tmp_path / "scraped").write_text(await scrape(hub, token.read_text()))
    with (tmp_path / "scraped").open("rb") as scraped:
        lint = await asyncio.create_subprocess_exec("promtool", "check", "metrics", stdin=scraped)
        assert await lint.wait() == 0


@contextmanager
def prometheus(folder: Path) -> Iterator[str]:
    """Run Prometheus with the configuration in a folder; yield its address."""
    assert shutil.which("prometheus"), "script/test --long installs prometheus"
    address = f"127.0.0.1:{free_port()}"
    argv = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address={address}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["prometheus", *argv], cwd=folder, stdout=log, stderr=log)
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(30)


async def query(address: str, text: str) -> dict[str, Any]:
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{address}/api/v1/query", params={"query": text}) as answer,
    ):
        found: dict[str, Any] = await answer.json()
        return found


async def until_one(address: str, text: str) -> None:
    """Wait until a query has an answer that is not empty."""
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                if (await query(address, text))["data"]["result"]:
                    return
            except aiohttp.ClientError:
                pass  # it is starting
            await asyncio.sleep(0.05)
