"""The engines of sandboxes: what a program tries in order to get out, and what it can do inside, the same for each.

One file, so that one server of Docker is started.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hub.agent.workspace.workspace import CANVAS
from hub.core.errors import Unavailable
from hub.core.tasks import TaskOwner
from hub.sandbox.contract import SandboxCommand
from hub.sandbox.disk import BoundedSandbox, disk_use
from hub.sandbox.network import SandboxProxy
from hub.security.jail_path import PathRefused
from hub.security.root import Root
from integrations.sandbox.docker.engine import DockerEngine, DockerSandbox
from integrations.tools.browser.boxed import BoxedChromium
from tests.integrations.sandbox.conftest import Kennel, run
from tests.until import LIMIT_S

ENGINES = ("docker", "bubblewrap")
PROXY = "127.0.0.1 3128"
GET = "printf 'GET {} HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n' | busybox nc {} 2>&1; echo"
TUNNEL = "printf 'CONNECT {} HTTP/1.1\\r\\n\\r\\nGET /t HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n' | busybox nc 127.0.0.1 3128"

ATTEMPTS = {
    "writes to the system": "for f in /x /usr/x /etc/x /bin/x /dev/x /proc/x /sys/x; do try touch $f; done",
    "reads the hub's home": "try cat $HUB/.storage/hub_token; try ls $HUB; try ls /root; try ls /home; try ls /var/lib",
    "mounts": "try mount -t tmpfs x /tmp; try mount -o bind / /tmp; try mount -o remount,rw /; try umount /proc",
    "makes devices": "try mknod /tmp/sda b 8 0; try mknod /tmp/mem c 1 1; try cat /dev/sda; try cat /dev/mem",
    "becomes somebody else": "try chown 0 /workspace; try chroot / true; [ $(id -u) = 0 ] && echo ESCAPED; "
    "grep -q 'CapEff:.0*$' /proc/self/status || echo ESCAPED; "
    "grep -q 'NoNewPrivs:.1' /proc/self/status || echo ESCAPED; "
    "grep -q 'Seccomp:.2' /proc/self/status || echo ESCAPED",
    "makes namespaces": "try busybox unshare -U true; try busybox unshare -m true; try busybox unshare -n true; "
    "try busybox nsenter -t 1 -m true",
    "looks at other processes": "for p in /proc/[0-9]*; do grep -qs 'py[t]est' $p/cmdline && echo ESCAPED; done; "
    "try ls /proc/1/root$HUB; try ls /proc/1/cwd/..$HUB; try cat /proc/1/mem; try kill -0 $HUB_PID",
    "changes the kernel": "try sh -c 'echo b > /proc/sysrq-trigger'; try sh -c 'echo x > /proc/sys/kernel/hostname'; "
    "try sh -c 'echo x > /proc/sys/kernel/core_pattern'; try busybox dmesg; try busybox hostname x",
    "finds sockets": "for s in $(find / -xdev -type s 2>/dev/null); do echo ESCAPED $s; done; "
    "for s in /var/run/docker.sock /run/docker.sock /run/dbus; do [ -e $s ] && echo ESCAPED; done",
    "reaches the network": "try busybox nc -w 1 127.0.0.1 $PORT; [ $(grep -c : /proc/net/dev) = 1 ] || echo ESCAPED",
    "finds the hub's environment": "env | grep -q HUB_CANARY && echo ESCAPED",
    "links to what is outside": "try ln /etc/passwd /workspace/hard; ln -s $HUB/.storage/hub_token /workspace/soft; "
    "try cat /workspace/soft; ln -s / /workspace/all; try cat /workspace/all$HUB/.storage/hub_token",
    "fills the memory": "try sh -c 'head -c 90m /dev/zero | tail -c 90m > /dev/null'",
    "fills the memory with files": "try sh -c 'head -c 40m /dev/zero > /tmp/full'; rm -f /tmp/full; "
    "try sh -c 'head -c 40m /dev/zero > /dev/shm/full'; rm -f /dev/shm/full",
    # The kernel keeps a container below its bound; bubblewrap's programs are ended soon after they are over it.
    "fills the memory with many": "for i in 1 2 3 4; do head -c 25m /dev/zero | tail -c 25m | sleep 60 & done; "
    "if [ -e /.dockerenv ]; then sleep 0.3; "
    "awk '/^RssAnon/{s+=$2} END{if(s>75000)print \"ESCAPED\"}' /proc/[0-9]*/status; kill -9 -1; "
    "else wait; echo ESCAPED; fi",
    "makes processes without end": "(while :; do sleep 60 & done) 2>/dev/null; "
    "set -- /proc/[0-9]*; [ $# -gt 60 ] && echo ESCAPED; kill -9 -1",
}
MAY_END = frozenset({"fills the memory", "fills the memory with many", "makes processes without end"})
"""Attempts whose program is killed."""
FIRST = 'try() { "$@" > /tmp/said 2>&1 && echo "ESCAPED $*"; }; '


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_a_program_does_not_get_out(
    attempt: str, engine: str, kennel: Kennel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_CANARY", "secret")
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    opened, sandbox = await kennel.open(engine)
    variables = {"HUB": str(kennel.home), "PORT": str(port), "HUB_PID": "999999"}

    process_code, said = await run(
        sandbox,
        "sh",
        "-c",
        f"{FIRST}{ATTEMPTS[attempt]}; echo tried",
        environment=variables,
        workdir="/tmp",
    )
    server.close()
    if attempt in MAY_END:
        await opened.remove(sandbox.name)

    assert "ESCAPED" not in said
    assert "tried" in said or (attempt in MAY_END and process_code != 0)


CALLS = """
import ctypes
call = ctypes.CDLL(None, use_errno=True).syscall
for name, *given in (("memfd_create", 319, b"x", 0), ("memfd_secret", 447, 0), ("shmget", 29, 0, 1 << 20, 0o1600),
                     ("msgget", 68, 0, 0o1600), ("AF_VSOCK", 41, 40, 1, 0), ("AF_ALG", 41, 38, 5, 0)):
    print("ESCAPED" if call(*given) >= 0 else "refused", name)
print("open" if call(41, 1, 1, 0) >= 0 and call(41, 2, 1, 0) >= 0 else "closed")
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its calls have other numbers")
async def test_no_memory_counts_for_no_program_and_no_socket_leaves_its_namespace(kennel: Kennel) -> None:
    _, sandbox = await kennel.open("bubblewrap")

    _, said = await run(sandbox, "python3", "-c", CALLS, workdir="/tmp")

    assert "ESCAPED" not in said
    assert "open" in said


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_link_that_a_program_leaves_does_not_lead_the_hub_out(engine: str, kennel: Kennel) -> None:
    _, sandbox = await kennel.open(engine)

    await run(sandbox, "sh", "-c", "ln -sf /etc/passwd soft2; echo hello > plain")
    root = Root(kennel.home / ".storage/sandboxes/agent-none/workspace")

    assert root.read_text("plain") == "hello\n"
    with pytest.raises(PathRefused):
        root.read_bytes("soft2")


@pytest.mark.parametrize("engine", ENGINES)
async def test_what_the_hub_acts_on_cannot_be_planted_in_a_workspace_that_may_be_written(
    engine: str, kennel: Kennel
) -> None:
    _, sandbox = await kennel.open(engine, "rw")
    script = (
        f"{FIRST} try sh -c 'echo evil > AGENTS.md'; try sh -c 'echo evil > BOOT.md'; try mkdir skills/evil; "
        "try sh -c 'echo evil > hooks/evil.py'; try mv skills old; try rm -rf hooks; try rm AGENTS.md; "
        "try sh -c 'mkdir -p canvas && echo evil > canvas/index.html'; try mv canvas old; "
        "cat MEMORY.md memory/day.md 2>&1 | grep -q canary && echo ESCAPED; echo mine > notes.txt; echo tried"
    )

    _, said = await run(sandbox, "sh", "-c", script)

    assert said == "tried\n"
    assert (kennel.workspace / "notes.txt").read_text() == "mine\n"
    assert (kennel.workspace / "AGENTS.md").read_text() == "be kind"
    assert [each for name in ("skills", "hooks", CANVAS) for each in (kennel.workspace / name).iterdir()] == []


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_file_that_the_hub_has_replaced_is_covered_again(engine: str, kennel: Kennel) -> None:
    await kennel.open(engine, "rw")
    for name, text in (("AGENTS.md", "be kind"), ("MEMORY.md", "canary")):
        Root(kennel.workspace).write_text(name, text)

    _, sandbox = await kennel.open(engine, "rw")
    _, said = await run(sandbox, "sh", "-c", f"{FIRST} cat MEMORY.md; try sh -c 'echo evil > AGENTS.md'; cat AGENTS.md")

    assert said.splitlines()[-1] == "be kind"
    assert "canary" not in said
    assert "ESCAPED" not in said


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_workspace_that_may_be_read_is_below_agent(engine: str, kennel: Kennel) -> None:
    _, sandbox = await kennel.open(engine, "ro")

    _, said = await run(
        sandbox, "sh", "-c", "cat /agent/AGENTS.md; touch /agent/x; cat /agent/MEMORY.md; pwd; touch own"
    )

    assert "be kind" in said
    assert "canary" not in said
    assert "/workspace" in said
    assert not (kennel.workspace / "x").exists()


@pytest.mark.parametrize("engine", ENGINES)
async def test_input_output_code_and_environment(engine: str, kennel: Kennel) -> None:
    _, sandbox = await kennel.open(engine)
    value = 'a\'b $HOME\n"c"'

    echoed = await run(
        sandbox, "sh", "-c", 'exec 2>&1; cat; printf %s "$X" >&2; exit 3', given=b"in\n", environment={"X": value}
    )

    assert echoed == (3, f"in\n{value}")
    assert await run(sandbox, "printf", "%s|", "$HOME", "a b", ";id") == (0, "$HOME|a b|;id|")
    assert (await run(sandbox, "sh", "-c", "id -u"))[1] != "0\n"


@pytest.mark.parametrize("engine", ENGINES)
async def test_what_cannot_be_started_says_so(engine: str, kennel: Kennel) -> None:
    _, sandbox = await kennel.open(engine)

    code, said = await run(sandbox, "no-such-program")
    assert (code, "not found" in said) == (127, True)
    code, said = await run(sandbox, "true", workdir="/nowhere")
    assert (code != 0, "nowhere" in said) == (True, True)


@pytest.mark.parametrize("engine", ENGINES)
async def test_killing_ends_all_that_a_program_has_started(engine: str, kennel: Kennel) -> None:
    _, sandbox = await kennel.open(engine)
    process = await sandbox.start(SandboxCommand(("sh", "-c", "sleep 61 & setsid sleep 61 & echo begun; sleep 61")))
    async for said in process.output:
        assert said == b"begun\n"
        break
    assert sandbox.busy

    await process.kill()

    assert (await process.wait(), sandbox.busy) == (137, False)
    look = ("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    async with asyncio.timeout(LIMIT_S):
        while "sleep 61" in (await run(sandbox, *look))[1].split("cat")[0]:  # noqa: ASYNC110  processes tell nobody
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_program_with_a_terminal(engine: str, kennel: Kennel) -> None:
    _, sandbox = await kennel.open(engine)
    process = await sandbox.start(SandboxCommand(("sh", "-c", "read line; [ -t 0 ] && stty size"), pty=True))

    await process.stdin.write(b"go\n")
    said = b"".join([chunk async for chunk in process.output])

    assert await process.wait() == 0
    assert said.decode().split() == ["go", "40", "120"]

    shell = await sandbox.start(SandboxCommand(("sh",), pty=True))
    await shell.stdin.write(b"exit 7\n")
    said = b"".join([chunk async for chunk in shell.output])

    assert (await shell.wait(), b"tty" in said) == (7, False)


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_removed_sandbox_ends_its_programs_and_keeps_its_files(engine: str, kennel: Kennel) -> None:
    opened, sandbox = await kennel.open(engine)
    assert sandbox.name in [each.name for each in await opened.all()]
    await run(sandbox, "sh", "-c", "echo kept > kept")
    process = await sandbox.start(SandboxCommand(("sleep", "61")))

    await opened.remove(sandbox.name)
    await opened.remove(sandbox.name)

    assert await process.wait() == 137
    assert sandbox.name not in [each.name for each in await opened.all()]
    _, again = await kennel.open(engine)
    assert await run(again, "cat", "kept") == (0, "kept\n")


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_directory_of_the_machine_is_read_only_unless_it_says_otherwise(engine: str, kennel: Kennel) -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        shown, given = open_to_all(name)
        binds = [f"{shown}:/data/shown", f"{given}:/data/given:rw"]
        _, sandbox = await kennel.open(engine, binds=binds)
        script = f"{FIRST} cat /data/shown/*; try touch /data/shown/x; touch /data/given/x"

        assert (await run(sandbox, "sh", "-c", script))[1] == "seen"
        assert (given / "x").exists()


def open_to_all(name: str) -> tuple[Path, Path]:
    """Two directories that every user can write, the first with a file."""
    folder = Path(name)
    folder.chmod(0o755)
    for each in (folder / "shown", folder / "given"):
        each.mkdir()
        each.chmod(0o777)
    (folder / "shown/photo").write_text("seen")
    return folder / "shown", folder / "given"


@pytest.fixture
async def targets(kennel: Kennel) -> AsyncIterator[tuple[str, str]]:
    """Two servers of this machine, of which the owner named the first as one that may be called."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nwelcome " + b" ".join(head[:2]))
        writer.close()

    servers = [await asyncio.start_server(answer, "127.0.0.1", 0) for _ in range(2)]
    named, other = (f"127.0.0.1:{each.sockets[0].getsockname()[1]}" for each in servers)
    kennel.private.add(named)
    yield named, other
    kennel.private.clear()
    for each in servers:
        each.close()


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_program_reaches_the_hosts_of_the_list_and_no_others(
    engine: str, kennel: Kennel, targets: tuple[str, str]
) -> None:
    named, other = targets
    allow = [named, other, "*.example.test"]
    made, sandbox = await kennel.open(engine, network={"allow": allow})

    async def said(url: str, by: str = PROXY) -> str:
        return (await run(sandbox, "sh", "-c", GET.format(url, by)))[1]

    reached = await said(f"http://{named}/a?b=c")
    _, tunnelled = await run(sandbox, "sh", "-c", TUNNEL.format(named))
    private, unknown = await said(f"http://{other}/"), await said("http://elsewhere.test/")
    straight = await said("/", named.replace(":", " "))
    _, proxy = await run(sandbox, "sh", "-c", "echo $https_proxy")
    _, links = await run(sandbox, "sh", "-c", "cat /proc/net/dev | grep -c :")
    await made.close()

    assert reached.startswith("HTTP/1.0 200")
    assert f"welcome GET /a?b=c HTTP/1.1 Host: {named}" in reached
    assert proxy == "http://127.0.0.1:3128\n"
    assert tunnelled.startswith("HTTP/1.1 200 OK")
    assert "welcome GET /t HTTP/1.0 Host: x" in tunnelled
    assert private.startswith("HTTP/1.1 502")
    assert unknown.startswith("HTTP/1.1 403")
    assert "welcome" not in straight + private + unknown
    assert links.strip() == "1"
    assert sandbox.reaches_out


async def test_a_container_that_begins_again_is_let_out_again(kennel: Kennel, targets: tuple[str, str]) -> None:
    made, sandbox = await kennel.open("docker", network={"allow": [targets[0]]})
    assert isinstance(made, DockerEngine)
    assert isinstance(sandbox, DockerSandbox)
    await made.connection.call(lambda client: client.restart(sandbox.name, timeout=0))

    again = await made.open(sandbox.spec)
    _, reached = await run(again, "sh", "-c", GET.format(f"http://{targets[0]}/", PROXY))
    await made.close()

    assert "welcome" in reached


async def test_what_a_hub_left_that_was_killed_is_removed_by_the_next(kennel: Kennel) -> None:
    _, sandbox = await kennel.open("docker")
    assert isinstance(sandbox, DockerSandbox)
    opened = await kennel.docker_engine("one home").open(sandbox.spec)
    process = await opened.start(SandboxCommand(("sleep", "61")))
    after = kennel.docker_engine("one home")
    assert after.has_left

    await after.clear_left()

    assert await process.wait() == 137
    assert await after.all() == []
    await after.close()
    assert not kennel.docker_engine("one home").has_left


async def test_docker_is_not_asked_before_there_is_a_container(kennel: Kennel, tmp_path: Path) -> None:
    socket, asked = tmp_path / "docker", list[object]()
    async with await asyncio.start_unix_server(lambda *streams: asked.append(streams), socket):
        engine = DockerEngine(str(socket), "mark", kennel.egress, tmp_path / "containers")

        assert await engine.all() == []
        await engine.close()

    assert asked == []


async def test_no_proxy_is_opened_into_the_network_of_the_machine(kennel: Kennel) -> None:
    proxy = SandboxProxy(kennel.egress, ["example.org"])

    process = await asyncio.create_subprocess_exec("sleep", "1000")
    try:
        with pytest.raises(Unavailable, match="the process has the network of the machine"):
            await proxy.open(process.pid)
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("name", ENGINES)
async def test_what_fills_the_disk_is_ended_and_says_so(kennel: Kennel, name: str) -> None:
    engine, sandbox = await kennel.open(name)
    folder, tasks = sandbox.spec.mounts[0].source, TaskOwner("disk")  # type: ignore[attr-defined]
    bounded = BoundedSandbox(sandbox, folder, disk_use(folder) + 4 * 1024**2, tasks, every_s=0.02)
    many = "i=0; while :; do i=$((i+1)); busybox dd if=/dev/zero of=many$i bs=64k count=1 2>/dev/null; done"

    one = await run(bounded, "dd", "if=/dev/zero", "of=one", "bs=1M", "count=10000")
    size = (Path(folder) / "one").stat().st_size
    removed = await run(bounded, "rm", "one")
    several = await run(bounded, "sh", "-c", many)
    more = await run(bounded, "sh", "-c", "echo x > more")
    cleared = [await run(bounded, "sh", "-c", each) for each in ("rm many* more", "echo x > more; rm more")]
    await engine.close()
    await tasks.cancel_all()

    assert (one[0], size) == (153, 4 * 1024**2)
    assert several[0] == 137
    assert all("the files of this sandbox may hold" in said for _, said in (one, several, more))
    assert [removed, *cleared] == [(0, "")] * 3


async def test_a_browser_needs_an_image_that_has_one(kennel: Kennel) -> None:
    engine, sandbox = await kennel.open("docker")

    chromium = await BoxedChromium.start(sandbox)
    said = [message async for message in chromium.messages()]

    assert said == []
    assert "name an image with one in agents[].sandbox.docker.image" in await chromium.close()
    await engine.close()
