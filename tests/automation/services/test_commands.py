"""`shell_command:` runs commands as the tool `exec` does, and `rest_command:` sends requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC
from typing import Any

import pytest

from hub.automation.definition.commands import SECTIONS
from hub.automation.services.commands import CommandServices
from hub.automation.services.tools import ToolFailed
from hub.core.errors import Forbidden, HubError
from hub.core.secret import Secret
from hub.security.egress import Egress
from hub.template.engine import TemplateEngine
from hub.tools.contract import Annotations, ToolResult
from tests.automation.services.desk import Desk
from tests.security.web_servers import WebServer, started


class Wired:
    """The services over a tool `exec` that keeps what it was given."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.commands = desk, list[str]()
        self.result = ToolResult("done", {"exit_code": 0, "state": "exited 0"})
        desk.post.tool("exec", self._run, Annotations())
        self.egress = Egress(lambda: ())
        engine = TemplateEngine(desk.states, desk.post.clock, lambda: UTC)
        post = desk.post
        self.services = CommandServices(desk.services, engine, post.tools, post.agents, self.egress, lambda text: text)

    def _run(self, call: Any) -> ToolResult:
        self.commands.append(call.arguments["command"])
        return self.result

    def apply(self, **sections: Any) -> None:
        checks = {section.name: section.validate for section in SECTIONS}
        self.services.apply({name: checks[name](value) for name, value in sections.items()})

    async def call(self, service: str, **data: Any) -> Mapping[str, Any]:
        return await self.desk.call(service, data)


@pytest.fixture
async def wired(desk: Desk) -> AsyncIterator[Wired]:
    wired = Wired(desk)
    yield wired
    await wired.egress.close()


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    found, runner = await started()
    yield found
    await runner.cleanup()


@pytest.mark.parametrize(
    ("command", "said", "run"),
    [
        ("ls -l | wc", {}, "ls -l | wc"),
        ("echo {{ x }}", {"x": "a b; rm -rf ~"}, "echo 'a b; rm -rf ~'"),
        ('echo "{{ x }}"', {"x": '"; rm -rf ~; "$(id)'}, "echo '\"; rm -rf ~; \"$(id)'"),
        ("echo '{{ x }}' > /tmp/a", {"x": "it's"}, """echo 'it'"'"'s' '>' /tmp/a"""),
        ("cp /a/{{ x }}.jpg {{ y }}", {"x": "1", "y": "/b"}, "cp /a/1.jpg /b"),
        ("light {% if x %}on --slow{% else %}off{% endif %}", {"x": True}, "light on --slow"),
    ],
)
async def test_what_a_template_inserts_stays_one_word(wired: Wired, command: str, said: Any, run: str) -> None:
    wired.apply(shell_command={"do": command})

    answer = await wired.call("shell_command.do", **said)

    assert wired.commands == [run]
    assert answer == {"stdout": "done", "stderr": "", "returncode": 0}


async def test_a_command_that_fails_tells_its_code_and_one_that_may_not_run_is_an_error(wired: Wired) -> None:
    wired.apply(shell_command={"do": "false"})
    wired.result = ToolResult("no such\n[exited 3]", {"exit_code": 3, "state": "exited 3"}, is_error=True)

    assert await wired.call("shell_command.do") == {"stdout": "no such", "stderr": "", "returncode": 3}

    wired.result = ToolResult("error: the command needs the owner's approval", {}, is_error=True)
    with pytest.raises(ToolFailed, match="approval"):
        await wired.call("shell_command.do")


async def test_a_request_is_sent_as_the_configuration_and_the_call_say(wired: Wired, server: WebServer) -> None:
    server.page("/set", '{"ok": [1]}', status=201, Content_Type="application/json")
    request = {
        "url": server.url("/set") + "?to={{ to }}",
        "method": "PUT",
        "headers": {"X-Key": Secret("k-7"), "X-To": "{{ to }}"},
        "payload": '{"to": {{ to }}}',
        "content_type": "application/json",
        "username": "ada",
        "password": "pw",
    }
    wired.apply(rest_command={"set": request})

    answer = await wired.call("rest_command.set", to=5)

    asked = server.asked[0]
    assert (asked.method, asked.path, asked.body) == ("PUT", "/set?to=5", b'{"to": 5}')
    assert (asked.headers["X-Key"], asked.headers["X-To"]) == ("k-7", "5")
    assert asked.headers["Authorization"] == "Basic YWRhOnB3"
    assert (answer["status"], answer["content"]) == (201, {"ok": [1]})


async def test_a_host_of_the_home_is_reached_only_where_the_configuration_names_it(
    wired: Wired, server: WebServer
) -> None:
    server.page("/", "hi")
    wired.apply(rest_command={"named": {"url": server.url("/")}, "told": {"url": "http://{{ host }}/"}})

    assert (await wired.call("rest_command.named"))["content"] == "hi"
    with pytest.raises((Forbidden, HubError)):
        await wired.call("rest_command.told", host=server.target)
    assert len(server.asked) == 1


async def test_only_what_changed_is_registered_again(wired: Wired) -> None:
    wired.apply(shell_command={"a": "true", "b": "true"})
    before = wired.desk.services.get("shell_command", "a")

    wired.apply(shell_command={"a": "true", "c": "true"})

    assert wired.desk.services.get("shell_command", "a") is before
    assert wired.desk.services.get("shell_command", "b") is None
    assert wired.desk.services.get("shell_command", "c") is not None
