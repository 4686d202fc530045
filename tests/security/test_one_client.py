"""Whatever fetches a URL goes through the egress client: nobody else in the program has an HTTP client of their own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]

CLIENTS = {"httpx", "httpx2", "requests", "urllib3", "urllib.request", "http.client"}
IMPORTS_ONE = re.compile(r"^\s*(import|from) .*\b(httpx2?|requests|urllib3?|http|aiohttp)\b", re.MULTILINE)
OF_AIOHTTP = {"ClientSession", "TCPConnector", "UnixConnector", "request"}

# Who calls only what the owner configured, or the hub itself.
ALLOWED = {
    "hub/security/egress.py": "is the client",
    "hub/models/ollama.py": "asks the Ollama of the configuration",
    "hub/models/oauth.py": "asks where one signs in: what the configuration says, or the vendor itself",
    "hub/cli/client.py": "asks the running hub",
    "hub/cluster/front.py": "asks the hubs of the homes in this worker, and the other workers",
    "hub/cli/hub_link.py": "asks the running hub, or the one that the command line names",
    "hub/doctor/running.py": "asks the running hub",
    "hub/doctor/audit/checks/trying.py": "tries the listeners of this hub, from this machine",
    "hub/testing.py": "asks the hub that it runs",
    "integrations/channels/http_api.py": "asks the platforms of the configuration, for the channels beside it",
    "integrations/channels/gateway.py": "is given the session of an account",
    "integrations/memory/notes/index/embeddings/client.py": "asks the embedding provider of the configuration",
    "integrations/memory/chroma/connection.py": "asks the Chroma server of the configuration",
    "integrations/tools/mcp/over_http.py": "gives the protocol's own client the egress client to send by",
    "integrations/tools/browser/chromium.py": "asks the Chrome of the configuration where its socket is",
    "integrations/tools/browser/attaching.py": "connects the Chrome and the hub that the command line names",
    "integrations/devices/home_assistant/socket.py": "asks the Home Assistant of the configuration",
    "integrations/models/voice/fetching.py": "a command asks Hugging Face, or the mirror that its environment names",
    "integrations/models/openai_compatible/model.py": "asks the model server of the configuration",
}


def clients_in(source: str) -> list[str]:
    """What a module has of HTTP clients, as `line: name`."""
    found: list[str] = []
    if not IMPORTS_ONE.search(source):
        return found
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [f"{node.value.id}.{node.attr}"]
        found += [f"{getattr(node, 'lineno', 0)}: {name}" for name in names if _is_client(name)]
    return found


def _is_client(name: str) -> bool:
    if any(name == client or name.startswith(f"{client}.") for client in CLIENTS):
        return True
    package, _, last = name.rpartition(".")
    return package == "aiohttp" and last in OF_AIOHTTP


def test_nobody_has_a_client_of_their_own() -> None:
    found = {
        path.relative_to(CHECKOUT).as_posix(): clients
        for folder in ("hub", "integrations", "web")
        for path in sorted((CHECKOUT / folder).rglob("*.py"))
        if (clients := clients_in(path.read_text(encoding="utf-8")))
    }

    assert {file: clients for file, clients in found.items() if file not in ALLOWED} == {}


def test_the_list_of_those_who_may_is_no_longer_than_it_must_be() -> None:
    assert [file for file in ALLOWED if not clients_in((CHECKOUT / file).read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "source",
    [
        "import httpx",
        "import requests as r",
        "from urllib import request",
        "import urllib.request",
        "from urllib.request import urlopen",
        "def f():\n    import http.client",
        "from http import client",
        "from aiohttp import ClientSession",
        "import aiohttp\nasync def f():\n    async with aiohttp.ClientSession() as s: ...",
        "import aiohttp\naiohttp.request('GET', url)",
    ],
)
def test_the_check_sees_a_client(source: str) -> None:
    assert clients_in(source)


@pytest.mark.parametrize(
    "source", ["from urllib.parse import quote", "from http import HTTPStatus", "from aiohttp import web", "import ssl"]
)
def test_the_check_lets_others_be(source: str) -> None:
    assert clients_in(source) == []
