"""The parameters of `connect`: their schema, and the client's description of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import REMOVE_EXTRA, All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean, integer
from hub.gateway.access.device_identity import SignedClient
from hub.gateway.connection.connection import ClientInfo


def _text(limit: int) -> All:
    return All(str, Length(max=limit))


def _maybe(validator: Any) -> AnyOf:
    return AnyOf(None, validator)


CONNECT_SCHEMA = Schema(
    {
        Required("minProtocol"): All(integer, Range(min=0)),
        Required("maxProtocol"): All(integer, Range(min=0)),
        Required("client"): Schema(
            {
                Required("id"): All(str, Length(min=1, max=64)),
                Required("version"): _text(64),
                Required("platform"): _text(128),
                Required("mode"): _text(32),
                Optional("displayName"): _maybe(_text(128)),
                Optional("deviceFamily"): _maybe(_text(128)),
                Optional("modelIdentifier"): _maybe(_text(128)),
                Optional("instanceId"): _maybe(_text(128)),
            },
            extra=REMOVE_EXTRA,
        ),
        Optional("role", default="operator"): In(["operator", "node"]),
        Optional("scopes", default=list): All([_text(64)], Length(max=64)),
        Optional("caps", default=list): All([_text(64)], Length(max=128)),
        Optional("commands", default=list): All([_text(128)], Length(max=512)),
        Optional("permissions", default=dict): {str: boolean},
        Optional("pathEnv"): _maybe(_text(16_384)),
        Optional("locale"): _maybe(_text(64)),
        Optional("userAgent"): _maybe(_text(512)),
        Optional("auth"): _maybe(
            Schema(
                {
                    Optional("token"): _maybe(_text(512)),
                    Optional("password"): _maybe(_text(512)),
                    Optional("deviceToken"): _maybe(_text(512)),
                    Optional("bootstrapToken"): _maybe(_text(512)),
                },
                extra=REMOVE_EXTRA,
            )
        ),
        Optional("device"): _maybe(
            Schema(
                {
                    Required("id"): _text(128),
                    Required("publicKey"): _text(128),
                    Required("signature"): _text(256),
                    Required("signedAt"): integer,
                    Optional("nonce", default=""): _text(128),
                },
                extra=REMOVE_EXTRA,
            )
        ),
    },
    extra=REMOVE_EXTRA,
)


def about_client(said: ClientInfo) -> dict[str, Any]:
    return {
        "clientId": said.id,
        "clientMode": said.mode,
        "platform": said.platform,
        "displayName": said.display_name,
        "deviceFamily": said.device_family,
    }


def client_info(params: Mapping[str, Any]) -> ClientInfo:
    client = params["client"]
    device = params.get("device")
    return ClientInfo(
        id=client["id"],
        version=client["version"],
        platform=client["platform"],
        mode=client["mode"],
        display_name=client.get("displayName"),
        device_family=client.get("deviceFamily"),
        model_identifier=client.get("modelIdentifier"),
        instance_id=client.get("instanceId"),
        role=params["role"],
        caps=tuple(params["caps"]),
        commands=tuple(params["commands"]),
        permissions=params["permissions"],
        path_env=params.get("pathEnv"),
        device_id=device["id"].lower() if device is not None else None,
    )


def signed_client(params: Mapping[str, Any], auth: Mapping[str, Any]) -> SignedClient:
    client = params["client"]
    return SignedClient(
        client_id=client["id"],
        client_mode=client["mode"],
        role=params["role"],
        scopes=params["scopes"],
        token=auth.get("token") or auth.get("deviceToken") or auth.get("bootstrapToken") or "",
        platform=client["platform"],
        device_family=client.get("deviceFamily") or "",
    )
