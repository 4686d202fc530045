"""Configuration of the MQTT bridge."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hub.core.schema import (
    All,
    AnyOf,
    In,
    Invalid,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    SchemaError,
    boolean,
    entity_id,
    integer,
    own_secret,
    path,
    port,
    secret,
    slug,
    string,
)
from integrations.devices.mqtt.topics import valid_filter

if TYPE_CHECKING:
    from hub.config.checked import Config
    from hub.config.sections import CheckReport

EMBEDDED = "embedded"
LOOPBACK = ("127.0.0.1", "::1", "localhost")

_PREFIX = re.compile(r"^[^/+#$\x00-\x1f\x7f][^+#\x00-\x1f\x7f]{0,127}$")


def _prefix(value: Any) -> str:
    text = str(string(value))
    if not _PREFIX.fullmatch(text) or text.endswith("/"):
        raise Invalid("expected a topic without + and #, such as homeassistant")
    return text


def _whole(config: dict[str, Any]) -> dict[str, Any]:
    embedded = config["broker"] == EMBEDDED
    if ("username" in config) is not ("password" in config):
        raise SchemaError("username and password belong together")
    if not embedded and (config["clients"] or config["nodes"] or "listen" in config):
        raise SchemaError(
            "clients, nodes and listen are for broker: embedded; another broker has its own settings for them"
        )
    open_to_others = config.get("listen", LOOPBACK[0]) not in LOOPBACK
    if embedded and open_to_others and not config["clients"] and not config["nodes"] and "username" not in config:
        raise SchemaError(
            f"a broker that listens on {config['listen']} needs credentials: set username and password, or clients"
        )
    tls = config["tls"]
    if embedded and tls and not (isinstance(tls, dict) and "certificate" in tls):
        raise SchemaError("tls of the embedded broker needs the files: tls: {certificate: …, key: …}")
    if embedded and "password" in config:
        try:
            own_secret()(config["password"])
        except Invalid as error:
            raise SchemaError(error.msg, path=["password"]) from None
    return config


_CLIENT = {
    Required("password", description="Of this client; its name is the user name."): own_secret(),
    Optional(
        "subscribe", description="Topics that it may read; those below its name, and whether a home is there."
    ): All([valid_filter], Length(max=50)),
    Optional(
        "publish", description="Topics that it may write; those below its name, and announcements of devices."
    ): All([valid_filter], Length(max=50)),
}
_TLS = All(
    {
        Optional("ca", description="A file with the certificates to trust; the system's without it."): path,
        Optional("certificate", description="A file with the certificate chain."): path,
        Optional("key", description="The file with its key."): path,
    },
)

CONFIG_SCHEMA = Schema(
    All(
        {
            Optional("broker", default=EMBEDDED, description="`embedded`, or the host name of your broker."): All(
                string, Match(r"^[A-Za-z0-9_.:-]{1,253}$", msg="expected embedded or a host name without mqtt://")
            ),
            Optional("port", description="1883 by default, 8883 with TLS."): port,
            Optional("listen", description="The address on which the embedded broker listens; this machine only."): (
                string
            ),
            Optional("username", description="At your broker; at the embedded one, of clients that may do all."): All(
                string, Length(min=1, max=128)
            ),
            Optional("password", description="Of that user name."): secret,
            Optional("clients", default=dict, description="Clients of the embedded broker by user name."): {
                slug: _CLIENT
            },
            Optional("nodes", default=dict, description="Nodes that connect to the embedded broker, by their id."): {
                slug: {Required("password", description="Of the user name node- and its id."): own_secret()}
            },
            Optional("tls", default=False, description="Whether to use TLS, or with which files."): AnyOf(
                boolean, _TLS
            ),
            Optional("keep_alive", default=60, description="Seconds after which a silent connection is checked."): All(
                integer, Range(min=5, max=3_600)
            ),
            Optional("discovery", default=True, description="Whether devices may announce entities."): boolean,
            Optional("discovery_prefix", default="homeassistant", description="The topic of announcements."): _prefix,
            Optional(
                "publish_birth",
                default="auto",
                description="Whether to say that a home is there; auto: if no Home Assistant does.",
            ): In(["auto", "always", "never"]),
            Optional("publish_hub", default=True, description="Whether the hub announces itself as a device."): boolean,
            Optional("publish_automations", default=list, description="Automations that everybody there may run."): All(
                [slug], Length(max=200)
            ),
            Optional(
                "publish_entities", default=list, description="Entities that everybody there may see and use."
            ): All([entity_id], Length(max=200)),
            Optional("publish_agents", default=list, description="Agents that everybody there may write to."): All(
                [slug], Length(max=50)
            ),
        },
        _whole,
    )
)


def _tell_of_rules(config: Config, report: CheckReport) -> None:
    """Describe the rights of a client of the embedded broker without stated ones."""
    section = config.get("mqtt") or {}
    prefix = section.get("discovery_prefix")
    for name, each in section.get("clients", {}).items():
        for key in {"subscribe", "publish"} - each.keys():
            may = f"read only {name}/# and {prefix}/status"
            if key == "publish":
                may = f"write only {name}/# and announcements of devices"
            report.warning(
                ("mqtt", "clients", name),
                f"{name} has no {key}: it may {may}",
                f"state {key}: if it uses other topics, or exactly these to say that they are meant",
            )


CROSS_CHECKS = {"clients": _tell_of_rules}
