"""Rules that were loosened: commands, sandboxes, private addresses."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from hub.config.files_editor import REMOVED
from hub.config.paths import KeyPath
from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AgentSettings, AuditContext, is_loopback
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot
from hub.sandbox.schema import ENGINES

STEERING_PORTS = frozenset(
    {22, 23, 135, 139, 445, 2375, 2376, 3306, 3389, 5432, 5900, 5985, 6379, 6443, 8006, 9000, 9222, 9443, 10250, 27017}
)
"""Ports on which machines, containers and databases are controlled."""
ROUTERS = frozenset({"fritz.box", "router", "router.lan", "gateway", "gateway.lan", "speedport.ip", "openwrt.lan"})
KEY_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".kube", ".docker", ".config", ".password-store", ".mozilla"})
"""Folders of a user that hold keys."""


def _full(context: AuditContext) -> Iterator[Spot]:
    for agent, keys in _agents_with(context, "exec", "mode", "full"):
        trusts = bool(context.of_agent(agent, "exec", "trust_output")[0])
        off = _sandbox(agent).get("mode") == "off"
        what = phrase("The agent {agent} runs every command of an owner without asking", agent=agent.id)
        if trusts:
            what = phrase(
                "The agent {agent} runs every command without asking, and believes what commands print", agent=agent.id
            )
        elif off:
            what = phrase("The agent {agent} runs every command without asking, and without a sandbox", agent=agent.id)
        yield Spot(what, keys, severity=None if trusts or off else AuditSeverity.WARNING, edits={keys: "ask"})


def _trusted_output(context: AuditContext) -> Iterator[Spot]:
    for agent, keys in _agents_with(context, "exec", "trust_output", value=True):
        what = phrase("The agent {agent} takes what commands print for your own words", agent=agent.id)
        yield Spot(what, keys, edits={keys: False})


def _sandbox_off(context: AuditContext) -> Iterator[Spot]:
    for agent in context.agents:
        if agent.keys is None or _sandbox(agent).get("mode") != "off" or "exec" not in context.strong(agent):
            continue
        keys = (*agent.keys, "sandbox", "mode")
        yield Spot(
            phrase("The agent {agent} runs programs without a sandbox", agent=agent.id), keys, edits={keys: "non_main"}
        )


def _binds(context: AuditContext) -> Iterator[Spot]:
    home = context.home.path.resolve()
    for keys, bind in _engine_items(context, "binds"):
        source, _, rest = str(bind).partition(":")
        path, writable = PurePosixPath(source), rest.endswith(":rw")
        if Path.home() == Path(source) or home.is_relative_to(path):
            what = phrase("Programs in a sandbox see {folder}, and your home directory in it", folder=source)
            yield Spot(what, keys, edits={keys: REMOVED})
        elif not KEY_FOLDERS.isdisjoint(path.parts):
            what = phrase("Programs in a sandbox see {folder}, where keys are kept", folder=source)
            yield Spot(what, keys, edits={keys: REMOVED})
        elif writable:
            what = phrase("Programs in a sandbox can change {folder}", folder=source)
            edits = {keys: str(bind).removesuffix(":rw")}
            yield Spot(what, keys, severity=AuditSeverity.NOTE, edits=edits)


def _sandbox_network(context: AuditContext) -> Iterator[Spot]:
    for agent in context.agents:
        for engine in ENGINES:
            network = (_sandbox(agent).get(engine) or {}).get("network", "none")
            if agent.keys is None or network == "none":
                continue
            keys = (*agent.keys, "sandbox", engine, "network")
            if isinstance(network, Mapping):
                what = phrase(
                    "Programs in the sandbox of {agent} reach {hosts}", agent=agent.id, hosts=network["allow"]
                )
                yield Spot(what, keys, severity=AuditSeverity.NOTE)
            else:
                what = phrase(
                    "Programs in the sandbox of {agent} reach all that the network {network} does",
                    agent=agent.id,
                    network=network,
                )
                yield Spot(what, keys, edits={keys: "none"})


def _private(context: AuditContext) -> Iterator[Spot]:
    http = context.section("http")
    for at, target in enumerate(context.section("network").get("allow_private", ())):
        host, _, port_text = target.rpartition(":")
        host, port = host.strip("[]"), int(port_text)
        keys = context.written(("network", "allow_private", at))
        edits: Mapping[KeyPath, Any] = {keys: REMOVED}
        if is_loopback(host) and port == http.get("port"):
            yield Spot(phrase("The assistant may fetch pages of the hub itself"), keys, edits=edits)
        elif is_loopback(host) or port in STEERING_PORTS or _is_router(host):
            what = phrase("The assistant may fetch {target}, where something is controlled", target=target)
            yield Spot(what, keys, severity=AuditSeverity.WARNING, edits=edits)
        else:
            what = phrase("The assistant may fetch {target}, in your network", target=target)
            yield Spot(what, keys, severity=AuditSeverity.NOTE, edits=edits)


def _between_agents(context: AuditContext) -> Iterator[Spot]:
    exchange = context.section("tools").get("agent_to_agent") or {}
    if not exchange.get("enabled") or len(context.agents) < 2 or "*" not in exchange.get("allow", ()):
        return
    keys = ("tools", "agent_to_agent", "enabled")
    yield Spot(phrase("Every agent may write to every other one"), keys, edits={keys: False})


def _is_router(host: str) -> bool:
    if host in ROUTERS:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.version == 4 and address.is_private and int(address) & 0xFF in (1, 254)


def _sandbox(agent: AgentSettings) -> Mapping[str, Any]:
    return agent.stated.get("sandbox") or {}


def _engine_items(context: AuditContext, key: str) -> Iterator[tuple[KeyPath, Any]]:
    for agent in context.agents:
        for engine in ENGINES:
            stated = _sandbox(agent).get(engine) or {}
            for at, each in enumerate(stated.get(key, ())):
                yield context.written((*(agent.keys or ()), "sandbox", engine, key, at)), each


def _agents_with(context: AuditContext, section: str, key: str, value: Any) -> Iterator[tuple[AgentSettings, KeyPath]]:
    """Yield the agents for which a key has a value, one for each place where it is written."""
    seen: set[KeyPath] = set()
    for agent in context.agents:
        found, keys = context.of_agent(agent, section, key)
        if found == value and keys not in seen and "exec" in context.strong(agent):
            seen.add(keys)
            yield agent, keys


CHECKS = (
    AuditCheck(
        "commands.full",
        AuditSeverity.CRITICAL,
        phrase("Which commands run without asking"),
        phrase(
            "A model that misunderstands you, or was talked into something, deletes files or sends them away, and "
            "nobody was asked."
        ),
        phrase("Be asked, and allow the commands that you use word by word."),
        _full,
    ),
    AuditCheck(
        "commands.trusted_output",
        AuditSeverity.WARNING,
        phrase("Whether it believes what commands print"),
        phrase(
            "A page, a mail or a file that a command shows can hold orders; the assistant takes them for yours, and "
            "follows them."
        ),
        phrase("Let what commands print count as text that others wrote."),
        _trusted_output,
    ),
    AuditCheck(
        "commands.no_sandbox",
        AuditSeverity.WARNING,
        phrase("Where programs run"),
        phrase("A program that the assistant starts sees all that your user sees: files, keys, the network."),
        phrase("Let programs run in a sandbox, but those of your own main conversation."),
        _sandbox_off,
    ),
    AuditCheck(
        "sandbox.binds",
        AuditSeverity.CRITICAL,
        phrase("What sandboxes see of the machine"),
        phrase("A program that the assistant was talked into reads what is there, or changes it."),
        phrase("Take it out, or name the one folder that is needed, without :rw."),
        _binds,
    ),
    AuditCheck(
        "sandbox.network",
        AuditSeverity.WARNING,
        phrase("What sandboxes reach"),
        phrase("A program that the assistant was talked into can carry files away, and reach other devices."),
        phrase("Give it no network, or name the hosts that it needs."),
        _sandbox_network,
    ),
    AuditCheck(
        "network.private",
        AuditSeverity.CRITICAL,
        phrase("Which private addresses it may fetch"),
        phrase("A page that the assistant reads can have it fetch that address too, and look or act there."),
        phrase("Remove what is not needed any more."),
        _private,
    ),
    AuditCheck(
        "agents.exchange",
        AuditSeverity.NOTE,
        phrase("Which agents write to each other"),
        phrase("An agent that was talked into something can ask another one, which may do more."),
        phrase("Name the agents that work together under tools.agent_to_agent.allow."),
        _between_agents,
    ),
)
