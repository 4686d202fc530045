"""What the pages show works: their programs are run against a hub."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hub.integration.doctor import CUSTOM
from tests.docs.pages import DOCS
from tests.docs.templates import write_templates
from tests.docs.test_pages import blocks
from tests.doctor.conftest import nobody
from tests.servers.forked import REPOSITORY
from tests.servers.hub_process import HubProcess


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub that runs an integration with a tool and knows when the boiler was serviced."""
    home = tmp_path_factory.mktemp("docs") / "home"
    write_templates(home, "doorbell")
    write_probe(home)
    (home / "configuration.yaml").write_text("doorbell: {}\n", encoding="utf-8")
    with HubProcess(home) as process:
        process.cli("chat", "remember that the boiler was serviced on 12 May")
        yield process


PROBE = """
import json
from pathlib import Path

CALLS = {calls!r}


def there(host, path):
    for name in path:
        host = getattr(host, name, None)
    return callable(host)


async def setup(host, config):
    missing = [".".join(path) for path in CALLS if not there(host, path)]
    Path({answer!r}).write_text(json.dumps(missing))
"""


def write_probe(home: Path) -> None:
    """Write an integration that looks whether the hub has every call that the page names."""
    text = (DOCS / "integrations.md").read_text(encoding="utf-8")
    calls = sorted({tuple(each.split(".")) for each in re.findall(r"\bhost\.((?:\w+\.)*\w+)\(", text)})
    folder = home / "custom_integrations" / "probe"
    folder.mkdir(parents=True)
    manifest = {"domain": "probe", "name": "Probe", "kind": "tool", "version": "1.0.0", "default": True}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    code = PROBE.format(calls=calls, answer=str(home / "missing.json"))
    (folder / "__init__.py").write_text(code, encoding="utf-8")


def at(hub: HubProcess, text: str) -> str:
    """A program of the pages, with the address and the token of this hub."""
    return text.replace("http://127.0.0.1:18789", hub.url).replace("THE TOKEN", hub.token)


def test_the_integration_that_is_shown_is_set_up_and_brings_its_tool(hub: HubProcess) -> None:
    statuses = {each["domain"]: each for each in hub.rpc("status")["integrations"]}
    tools = json.dumps(hub.rpc("tools.catalog"))

    assert statuses["doorbell"]["state"] == "set_up", statuses["doorbell"]
    assert "ring_doorbell" in tools


def test_the_hub_has_every_call_that_the_page_names(hub: HubProcess) -> None:
    missing = json.loads((hub.home / "missing.json").read_text(encoding="utf-8"))

    assert missing == []


def test_an_integration_that_is_shown_goes_as_it_came(hub: HubProcess) -> None:
    before = hub.rpc("config.get")
    removed = hub.cli("config", "set", "hub.disabled", "[doorbell]")

    tools = wait_for(lambda: "ring_doorbell" not in json.dumps(hub.rpc("tools.catalog")))

    assert removed.returncode == 0, removed.stderr
    assert tools
    assert before["valid"]


def wait_for(condition: Callable[[], bool], limit_s: float = 20.0) -> bool:
    """Poll until something holds."""
    deadline = time.monotonic() + limit_s
    while not (held := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


def test_the_doctor_finds_nothing_wrong_with_it(hub: HubProcess) -> None:
    from hub.cli.configured import check_home
    from hub.doctor.check_context import CheckContext
    from hub.sections import needed_domains
    from hub.storage.homedir import Home

    patient = CheckContext(Home(hub.home), lambda: check_home(hub.home), needed_domains, nobody)

    assert list(CUSTOM.look(patient)) == []


def test_the_program_that_is_shown_gets_an_answer(hub: HubProcess) -> None:
    (program,) = blocks(DOCS / "getting-started.md", "python")

    ran = subprocess.run(
        [sys.executable, "-c", at(hub, program)], capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert "12 May" in ran.stdout


def test_the_request_that_is_shown_gets_an_answer(hub: HubProcess) -> None:
    (request,) = [text for text in blocks(DOCS / "getting-started.md", "sh") if text.startswith("curl ")]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOMARUS_CONFIG": str(hub.home),
    }

    ran = subprocess.run(
        ["bash", "-c", at(hub, request)],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    answer = json.loads(ran.stdout)
    assert re.search(r"\d+:\d\d", answer["choices"][0]["message"]["content"])


def sentences(source: str) -> str:
    """Return the texts of a module, with a mark for each value in them."""
    found = []
    for node in ast.walk(ast.parse(source)):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        found.append("".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in parts))
    return "\n".join(found)


def test_a_pair_of_machines_says_what_the_page_shows() -> None:
    table = (
        (DOCS / "scale.md").read_text(encoding="utf-8").partition("What you see meanwhile")[2].partition("Measured")[0]
    )
    shown = [part.strip("() ,;:") for quoted in re.findall(r"`([^`]+)`", table) for part in quoted.split("…")]
    files = REPOSITORY.glob("hub/storage/**/*.py")
    told = "\n".join(sentences(file.read_text(encoding="utf-8")) for file in files)
    told += (REPOSITORY / "hub/messaging/locale/en.json").read_text(encoding="utf-8")

    assert [part for part in shown if part not in told] == []
    assert len(shown) > 10
