"""The law of the house holds in our tree, and the checker sees each way of breaking it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.import_law import PARTS, our_tree, read_tree, violations

FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
IMPORTS_SHARED = "from integrations.channels.http_api import HttpApi\n"

Check = Callable[[dict[str, str]], list[str]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Writes a small tree of `{file: source}` and returns what the checker says about it."""

    def write_and_check(files: dict[str, str]) -> list[str]:
        for name, source in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, encoding="utf-8")
            for folder in path.relative_to(tmp_path).parents[:-1]:
                (tmp_path / folder / "__init__.py").touch()
        return violations(read_tree(tmp_path))

    return write_and_check


def test_our_tree_keeps_the_law() -> None:
    assert violations(our_tree()) == []


def test_the_order_is_that_of_the_design_page() -> None:
    assert PARTS[0] == "core"
    assert PARTS.index("storage") < PARTS.index("sessions") < PARTS.index("agent") < PARTS.index("gateway")


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("hub/agent/loop.py", "import hub.core.events\nfrom hub.tools import contract\nfrom hub import __version__\n"),
        ("hub/agent/loop.py", "from . import prompt\nfrom ..core import events\n"),
        ("hub/hub.py", "import hub.sections\nimport hub.doctor.audit\n"),
        ("hub/bootstrap.py", "import web\nimport hub.hub\n"),
        ("hub/cli/start.py", "import click\nimport hub.bootstrap\n"),
        ("hub/skills/component.py", "import hub.core.component\nimport hub.agent.loop\nimport hub.foundation\n"),
        ("hub/skills/methods.py", "import aiohttp\nimport hub.gateway.calls.acting\nimport hub.skills.registry\n"),
        ("hub/skills/cli/list.py", "import click\nimport hub.cli.options\n"),
        ("hub/storage/doctor.py", "import hub.doctor.finding\nimport hub.storage.database\n"),
        ("hub/storage/opening.py", "def make():\n    import hub.storage.postgresql.database\n"),
        ("hub/storage/postgresql/writer.py", "import psycopg\nimport hub.storage.postgresql.session\n"),
        ("hub/agent/loop.py", "import hub.nodes.commands\n"),
        ("web/chat/chat_page.py", "import aiohttp\nimport jinja2\nimport hub.hub\nimport hub.gateway.calls.routes\n"),
        ("integrations/tools/files/tool.py", "import hub.host\nimport hub.tools\nfrom . import schema\n"),
        ("integrations/channels/matrix/client.py", "import nio\n"),
        ("integrations/memory/notes/schema.py", "import re\nfrom hub.core.schema import Schema\n"),
        ("hub/core/schema.py", "from voluptuous import Schema\n"),
        ("hub/gateway/connection/server.py", "import aiohttp.web\nimport orjson\n"),
        ("hub/config/yaml_reader.py", "from ruamel.yaml import YAML\n"),
        ("hub/doctor/facts.py", "def facts():\n    import psutil\n    return psutil\n"),
        ("hub/doctor/facts.py", FOR_TYPES + "import psutil\n"),
    ],
)
def test_what_the_law_allows_is_not_complained_about(check: Check, file: str, source: str) -> None:
    assert check({file: source}) == []


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("hub/core/events.py", "import hub.security.people\n", "core imports hub.security.people, which stands above"),
        ("hub/core/events.py", "from hub import agent\n", "core imports hub.agent"),
        ("hub/tools/invoke.py", "from ..agent.loop import run\n", "tools imports hub.agent.loop"),
        ("hub/tools/invoke.py", "def f():\n    import hub.agent.loop\n", "invoke.py:2: tools imports hub.agent.loop"),
        ("hub/tools/invoke.py", FOR_TYPES + "import hub.agent.loop\n", "tools imports hub.agent.loop"),
        ("hub/tools/invoke.py", "import importlib\nimportlib.import_module('hub.agent')\n", "tools imports hub.agent"),
        ("hub/gateway/connection/server.py", "from hub.hub import Hub\n", "gateway imports hub.hub"),
        ("hub/gateway/connection/server.py", "import web\n", "gateway imports web"),
        ("hub/sections.py", "import hub.hub\n", "sections imports hub.hub"),
        ("hub/skills/registry.py", "import hub.skills.methods\n", "skills imports hub.skills.methods, a surface"),
        ("hub/agent/loop.py", "import hub.skills.cli.list\n", "agent imports hub.skills.cli.list, a surface"),
        ("hub/agent/loop.py", "import hub.storage.doctor\n", "agent imports hub.storage.doctor, a surface"),
        ("hub/skills/methods.py", "import hub.cli.options\n", "skills imports hub.cli.options, which stands above"),
        ("hub/skills/cli.py", "import hub.foundation\n", "skills imports hub.foundation, which stands above"),
        ("hub/skills/component.py", "import click\n", "click is imported when hub starts"),
        ("hub/hub.py", "import hub.cli.start\n", "hub imports hub.cli.start"),
        ("web/routes.py", "import hub.bootstrap\n", "web imports hub.bootstrap"),
        ("hub/__init__.py", "import hub.core.ids\n", "hub imports hub.core.ids"),
        ("hub/hub.py", "import integrations.tools.files\n", "found through their manifests"),
        ("web/routes.py", "def f():\n    import integrations\n", "found through their manifests"),
        ("integrations/tools/files/tool.py", "import hub.bootstrap\n", "of the roof it may know hub.host alone"),
        ("integrations/tools/files/tool.py", "import web.core.assets\n", "of the roof it may know hub.host alone"),
        ("integrations/tools/files/tool.py", "import integrations.tools.web.fetch\n", "a part of another integration"),
        ("integrations/tools/files/tool.py", "from ..web import fetch\n", "a part of another integration"),
        ("integrations/tools/files/tool.py", "def f():\n    import voluptuous\n", "through hub.core.schema alone"),
        ("hub/config/check.py", "from voluptuous import Schema\n", "through hub.core.schema alone"),
        ("hub/models/catalog.py", "def f():\n    import litellm\n", "belongs to an extra"),
        ("hub/doctor/facts.py", "import psutil\n", "psutil is imported when hub starts"),
        ("hub/doctor/facts.py", "try:\n    import psutil\nexcept ImportError:\n    pass\n", "imported when hub starts"),
        ("hub/doctor/facts.py", "class Facts:\n    import psutil\n", "psutil is imported when hub starts"),
        ("hub/core/clock.py", "import aiohttp\n", "aiohttp is imported when hub starts"),
        ("hub/storage/writer.py", "def f():\n    import psycopg\n", "belongs to an extra"),
        ("hub/storage/component.py", "import hub.storage.postgresql.database\n", "for `storage: postgresql:` alone"),
        ("hub/kitchen.py", "", "kitchen has no place in the order"),
        ("hub/core/events.py", "import tests.servers\n", "imports nothing of its tests"),
        ("integrations/tools/web/schema.py", "import orjson\n", "a schema module imports nothing third-party"),
    ],
)
def test_a_breach_is_named_with_its_file(check: Check, file: str, source: str, complaint: str) -> None:
    found = check({file: source})

    assert len(found) == 1
    assert found[0].startswith(f"{file}:")
    assert complaint in found[0]


def test_a_module_beside_integrations_is_shared_by_those_of_its_kind(check: Check) -> None:
    files = {"integrations/channels/http_api.py": "", "integrations/channels/irc/channel.py": IMPORTS_SHARED}
    other_kind = {"integrations/tools/web/tool.py": IMPORTS_SHARED}

    assert check(files) == []
    assert len(check(files | other_kind)) == 1


def test_modules_that_import_each_other_are_a_circle(check: Check) -> None:
    found = check({"hub/core/a.py": "import hub.core.b\n", "hub/core/b.py": "from .a import thing\n"})

    assert found == ["hub/core/a.py:1: a circle of imports: hub.core.a → hub.core.b → hub.core.a"]


def test_a_longer_circle_is_told_once_and_in_full(check: Check) -> None:
    found = check({f"hub/core/{here}.py": f"from hub.core import {there}\n" for here, there in ("ab", "bc", "ca")})

    assert [line.partition(": ")[2] for line in found] == [
        "a circle of imports: hub.core.a → hub.core.b → hub.core.c → hub.core.a"
    ]


def test_a_module_that_takes_a_name_from_its_own_package_is_a_circle(check: Check) -> None:
    found = check({"hub/core/__init__.py": "from hub.core.a import A\n", "hub/core/a.py": "from hub.core import A\n"})

    assert len(found) == 1
    assert "a circle of imports: hub.core → hub.core.a → hub.core" in found[0]


@pytest.mark.parametrize(
    "back",
    [FOR_TYPES + "import hub.core.a\n", "def f():\n    import hub.core.a\n", "f = lambda: __import__('hub.core.a')\n"],
)
def test_an_import_that_waits_or_is_for_types_closes_a_circle_too(check: Check, back: str) -> None:
    found = check({"hub/core/a.py": "import hub.core.b\n", "hub/core/b.py": back})

    assert found == ["hub/core/a.py:1: a circle of imports: hub.core.a → hub.core.b → hub.core.a"]


def test_a_package_that_imports_its_modules_when_asked_is_no_circle(check: Check) -> None:
    package = "def f():\n    from hub.core.a import A\n    from hub.core import b\n"

    assert check({"hub/core/__init__.py": package, "hub/core/a.py": "import hub.core.b\n", "hub/core/b.py": ""}) == []


def test_a_package_that_gathers_its_modules_is_no_circle(check: Check) -> None:
    files = {
        "hub/core/__init__.py": "from hub.core.a import A\nfrom .b import B\n",
        "hub/core/a.py": "import hub.core.b\n",
        "hub/core/b.py": "",
    }

    assert check(files) == []


def test_a_schema_that_loads_something_heavy_through_another_module_is_told(check: Check) -> None:
    files = {
        "hub/gateway/calls/schema.py": "from hub.gateway.limits import LIMIT\n",
        "hub/gateway/limits.py": "import aiohttp\nLIMIT = 1\n",
    }

    assert check(files) == [
        "hub/gateway/calls/schema.py:1: reading this schema loads aiohttp, through hub.gateway.limits"
    ]


def test_a_schema_whose_package_loads_something_heavy_is_told(check: Check) -> None:
    files = {
        "hub/gateway/__init__.py": "from hub.gateway.connection.server import Gateway\n",
        "hub/gateway/calls/schema.py": "",
        "hub/gateway/connection/server.py": "import aiohttp\n",
    }

    assert check(files) == [
        "hub/gateway/calls/schema.py:1: reading this schema loads aiohttp, through hub.gateway.connection.server"
    ]
