"""The broker of the configuration: the embedded one, which is started, or another one's address."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.repairs import Severity
from hub.integration.errors import NotReady, SetupFailed
from hub.integration.mqtt_topics import fits
from integrations.devices.mqtt.connection import BrokerAddress
from integrations.devices.mqtt.nodes import credentials
from integrations.devices.mqtt.schema import EMBEDDED, LOOPBACK

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from integrations.devices.mqtt.broker import EmbeddedBroker

SAVE_S = 60.0
OFFLINE = "offline"
TOPICS_SHOWN = 10


async def hub_id(host: IntegrationHost) -> str:
    """Return the name of this hub among the clients of a broker; it never changes."""
    storage = host.storage("client")
    kept = await storage.load()
    if not isinstance(kept, dict) or not isinstance(kept.get("id"), str):
        kept = {"id": f"hub_{secrets.token_hex(4)}"}
        await storage.save(kept)
    return str(kept["id"])


def status_topic(hub: str) -> str:
    """Return the topic for the status of this hub."""
    return f"homarus/{hub}/status"


async def broker_of(
    host: IntegrationHost, config: Mapping[str, Any], hub: str
) -> tuple[BrokerAddress, EmbeddedBroker | None]:
    """Start the embedded broker, if it is the one; return where the broker is for the hub.

    Raises:
        NotReady: The port is taken.
        SetupFailed: A file of TLS cannot be read.
    """
    port = config.get("port", 8883 if config["tls"] else 1883)
    password = config["password"].reveal() if "password" in config else None
    address = BrokerAddress(config["broker"], port, f"homarus-{hub}", config.get("username"), password)
    will = (status_topic(hub), OFFLINE)
    broker = None
    if config["broker"] == EMBEDDED:
        from integrations.devices.mqtt.broker import HUB

        broker = await _started(host, config, port)
        address = BrokerAddress(LOOPBACK[0], broker.own_port, address.client_id, HUB, broker.password, new=True)
    elif config["tls"]:
        tls = await asyncio.to_thread(_tls, host, config["tls"], ssl.Purpose.SERVER_AUTH)
        address = BrokerAddress(address.host, port, address.client_id, address.username, password, tls)
    return replace(address, keep_alive_s=config["keep_alive"], will=will), broker


async def _started(host: IntegrationHost, config: Mapping[str, Any], port: int) -> EmbeddedBroker:
    from integrations.devices.mqtt.broker import ANONYMOUS, BrokerClient, EmbeddedBroker, anonymous

    prefix = config["discovery_prefix"]
    clients = {
        name: BrokerClient(
            each["password"].reveal(),
            tuple(each.get("subscribe", (f"{name}/#", f"{prefix}/status"))),
            tuple(each.get("publish", (f"{name}/#", f"{prefix}/+/+/config", f"{prefix}/+/+/+/config"))),
        )
        for name, each in config["clients"].items()
    }
    if "username" in config:
        clients[config["username"]] = BrokerClient(config["password"].reveal(), ("#",), ("#",))
    if not clients and not config["nodes"]:
        clients[ANONYMOUS] = anonymous()
    clients |= {name: BrokerClient(*each) for name, each in credentials(config["nodes"]).items()}
    tls = await asyncio.to_thread(_tls, host, config["tls"], ssl.Purpose.CLIENT_AUTH) if config["tls"] else None
    broker = EmbeddedBroker(clients, host.attempts, tls)
    storage = host.storage("retained")
    listen = config.get("listen", LOOPBACK[0])
    try:
        await broker.start(listen, port, await storage.load([]))
    except OSError as error:
        raise NotReady(f"the MQTT broker cannot listen on {listen} port {port}: {error.strerror or error}") from error

    async def save() -> None:
        try:
            await storage.save(broker.retained_messages())
        except HubError as error:
            host.repairs.raise_("mqtt", "retained", "Retained MQTT messages are not kept", error.message)

    async def keep() -> None:
        while True:
            await host.clock.sleep(SAVE_S)
            if config["discovery"]:
                _tell_of_unclaimed(host, broker, prefix)
            if broker.changed:
                broker.changed = False
                await save()

    async def stop() -> None:
        await save()
        await broker.stop()

    host.on_unload(stop)
    host.spawn(keep(), name="save retained MQTT messages")
    return broker


def _tell_of_unclaimed(host: IntegrationHost, broker: EmbeddedBroker, prefix: str) -> None:
    """Keep a repair open for announcements that are ignored because their writers are unknown."""
    from integrations.devices.mqtt.native.natives import FILTERS

    filters = (f"{prefix}/+/+/config", f"{prefix}/+/+/+/config", *FILTERS)
    topics = [topic[:200] for topic in broker.unclaimed_topics if any(fits(each, topic) for each in filters)]
    if not topics:
        host.repairs.clear("mqtt", "unclaimed")
        return
    host.repairs.raise_(
        "mqtt",
        "unclaimed",
        phrase("Some MQTT devices must announce themselves again"),
        phrase(
            "{topics}: the broker has kept these announcements since before it noted who wrote them, so they are not"
            " taken. Restart the devices or the program that announces them, and empty what is not yours.",
            topics=[*topics[:TOPICS_SHOWN], *(["…"] if len(topics) > TOPICS_SHOWN else [])],
        ),
        severity=Severity.WARNING,
    )


def _tls(host: IntegrationHost, files: Any, purpose: ssl.Purpose) -> ssl.SSLContext:
    named = files if isinstance(files, dict) else {}
    paths = {key: str(host.home.path / value) for key, value in named.items()}
    try:
        context = ssl.create_default_context(purpose, cafile=paths.get("ca"))
        if "certificate" in paths:
            context.load_cert_chain(paths["certificate"], paths.get("key"))
    except (OSError, ssl.SSLError) as error:
        raise SetupFailed(f"mqtt: tls: {', '.join(named.values())} cannot be read: {error}") from error
    return context
