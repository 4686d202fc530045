"""Checks of the security audit: who may connect to the broker, and what clients may read and write."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from hub.config.files_editor import REMOVED
from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext, is_loopback
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot

LOOPBACK = "127.0.0.1"
EVERYTHING = frozenset({"#", "+/#"})
PORT = 1883
TRY_LIMIT_S = 3.0
_CONNECT = bytes.fromhex("101300044d5154540402003c0007686f6d61756469")
"""CONNECT of MQTT 3.1.1, without user name and password; the client calls itself `homaudi`."""
_ACCEPTED = bytes.fromhex("20020000")


def _plain(context: AuditContext) -> Iterator[Spot]:
    section = context.section("mqtt")
    listen = section.get("listen", LOOPBACK)
    if section.get("broker") != "embedded" or section["tls"] or is_loopback(listen):
        return
    what = phrase("Devices send their MQTT passwords over the network unencrypted, to {host}", host=listen)
    yield Spot(what, ("mqtt", "listen"))


def _remote_plain(context: AuditContext) -> Iterator[Spot]:
    section = context.section("mqtt")
    broker = section.get("broker", "embedded")
    if broker == "embedded" or is_loopback(broker) or section["tls"]:
        return
    what = phrase("What the hub and the broker {host} say to each other is not encrypted", host=broker)
    yield Spot(what, ("mqtt", "broker"))


def _nobody(context: AuditContext) -> Iterator[Spot]:
    section = context.section("mqtt")
    broker = section.get("broker", "embedded")
    if broker != "embedded" and "username" not in section:
        yield Spot(phrase("The broker {host} takes the hub without a password", host=broker), ("mqtt", "broker"))


def _wide_clients(context: AuditContext) -> Iterator[Spot]:
    for name, client in context.section("mqtt").get("clients", {}).items():
        for key in ("publish", "subscribe"):
            if EVERYTHING.isdisjoint(client.get(key, ())):
                continue
            keys = context.written(("mqtt", "clients", name, key))
            if key == "publish":
                what = phrase("The MQTT client {name} may write every topic", name=name)
                yield Spot(what, keys, edits={keys: REMOVED})
            else:
                what = phrase("The MQTT client {name} may read every topic", name=name)
                yield Spot(what, keys, severity=AuditSeverity.NOTE, edits={keys: REMOVED})


def _published(context: AuditContext) -> Iterator[Spot]:
    section = context.section("mqtt")
    agents, automations, entities = (section.get(f"publish_{key}") for key in ("agents", "automations", "entities"))
    if agents:
        what = phrase("Everybody at the broker may write to the agents {names}", names=agents)
        yield Spot(what, ("mqtt", "publish_agents"))
    if automations:
        what = phrase("Everybody at the broker may run the automations {names}", names=automations)
        yield Spot(what, ("mqtt", "publish_automations"))
    if entities:
        what = phrase("Everybody at the broker may see and use {names}", names=entities)
        yield Spot(what, ("mqtt", "publish_entities"), severity=AuditSeverity.NOTE)


def _anonymous(context: AuditContext) -> Iterator[Spot]:
    section = context.section("mqtt")
    if not section or section["tls"]:
        return
    embedded = section["broker"] == "embedded"
    host = section.get("listen", LOOPBACK) if embedded else section["broker"]
    port = section.get("port", PORT)
    if takes_anybody(LOOPBACK if host in ("0.0.0.0", "::") else host, port):  # noqa: S104  compared, not bound
        yield Spot(phrase("The broker {host} lets everybody in, without a password", host=host), ("mqtt",))


def takes_anybody(host: str, port: int) -> bool:
    """Whether a broker takes a client that shows no password."""
    try:
        with socket.create_connection((host, port), TRY_LIMIT_S) as connection:
            connection.settimeout(TRY_LIMIT_S)
            connection.sendall(_CONNECT)
            return connection.recv(4) == _ACCEPTED
    except OSError:
        return False


_READ_ALONG = phrase("Whoever shares the network reads along, and can switch your devices as they do.")
AUDIT = (
    AuditCheck(
        "mqtt.anonymous",
        AuditSeverity.CRITICAL,
        phrase("Whether the broker asks for a password"),
        phrase("Everybody on the network can switch your devices, and pretend to be one."),
        phrase("Have the broker ask for a user name and a password, and give them to the hub and the devices."),
        _anonymous,
        deep=True,
    ),
    AuditCheck(
        "mqtt.plain",
        AuditSeverity.WARNING,
        phrase("Whether devices reach the hub's broker encrypted"),
        _READ_ALONG,
        phrase("Give the broker a certificate under mqtt.tls, or remove mqtt.listen if no device connects to it."),
        _plain,
    ),
    AuditCheck(
        "mqtt.remote_plain",
        AuditSeverity.WARNING,
        phrase("Whether the hub reaches your broker encrypted"),
        _READ_ALONG,
        phrase("Have the broker listen with TLS, and set mqtt.tls: true."),
        _remote_plain,
    ),
    AuditCheck(
        "mqtt.no_password",
        AuditSeverity.WARNING,
        phrase("Whether the hub has a password at your broker"),
        phrase("A broker that asks the hub for none asks nobody: everybody on the network can switch your devices."),
        phrase("Have the broker ask for a user name and a password, and give them to the hub and the devices."),
        _nobody,
    ),
    AuditCheck(
        "mqtt.wide_clients",
        AuditSeverity.WARNING,
        phrase("What MQTT clients may read and write"),
        phrase("Whoever takes that device apart, or breaks into it, can switch all others and pretend to be them."),
        phrase("Name the topics that the client needs; without the key it has those below its own name."),
        _wide_clients,
    ),
    AuditCheck(
        "mqtt.published",
        AuditSeverity.WARNING,
        phrase("What the hub offers to everybody at the broker"),
        phrase("Every device at the broker can do it, a cheap one with old software too."),
        phrase("Offer what you use from there, and nothing more."),
        _published,
    ),
)
