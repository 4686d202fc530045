"""`homarus devices`: phones, browsers and programs that connect with their own key."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import WholeNumber, home_option, json_option, print_json, print_table
from hub.cli.times import local_time
from hub.cli.verbs import Answer, find_entry, verb

DAY_MS = 86_400_000
SHORT = 12
_DEVICE = click.argument("device_id")


@click.group("devices", cls=Group)
def command() -> None:
    """Pair phones and computers, and revoke their access.

    A device is named by its id, the first letters of its id, or its name.

    Example:
      homarus devices pair
      homarus devices list
      homarus devices approve 01jx2m
    """


@command.command("pair")
@click.option(
    "--access",
    type=click.Choice(["full", "limited", "node"]),
    default="full",
    help="What the device may do: everything, all but administration, or serve as a node alone.",
)
@click.option("--url", metavar="URL", help="The address by which it reaches the hub, such as wss://hub.example.")
@home_option
@json_option
def pair(access: str, url: str | None, home: Path, as_json: bool) -> None:
    """Show a QR code that lets one device in, once, within ten minutes.

    Example:
      homarus devices pair
      homarus devices pair --access node --url wss://hub.example:8443
    """
    params = {"bootstrapProfile": access} | ({"publicUrl": url} if url else {})
    made = HubClient(home).call("device.pair.setupCode", params)
    if as_json:
        print_json(made)
        return
    import segno

    segno.make(made["setupCode"], error="l").terminal(compact=True)
    click.echo(f"Setup code: {made['setupCode']}")
    until = local_time(made["expiresAtMs"], "%H:%M")
    click.echo(f"For {made['gatewayUrl']}, {made['access']} access, one device, until {until}.")
    if made.get("accessDowngraded"):
        click.echo("Without TLS others on the network can listen, so the code gives no right to administer.", err=True)


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the devices that wait to be approved, and those that are paired.

    Example:
      homarus devices list --json
    """
    found = HubClient(home).call("device.pair.list")
    waiting, devices = [_request(each) for each in found["pending"]], [_device(each) for each in found["paired"]]
    if as_json:
        print_json({"pending": waiting, "devices": devices})
        return
    if waiting:
        columns = ("request_id", "name", "platform", "role", "scopes", "address")
        print_table([_row(each, columns) for each in waiting], ("request", *columns[1:]))
    if devices:
        columns = ("id", "name", "platform", "roles", "state", "seen")
        print_table([_row(each, columns) for each in devices], columns)
    if not waiting and not devices:
        click.echo("No devices. Pair a phone: homarus devices pair")


@verb(command)
@click.argument("request_id")
def approve(client: HubClient, request_id: str) -> Answer:
    """Let in the device that made the request REQUEST_ID.

    Example:
      homarus devices approve 01jx2m
    """
    return _decide(client, "approve", request_id, "is paired")


@verb(command)
@click.argument("request_id")
def reject(client: HubClient, request_id: str) -> Answer:
    """Refuse the request REQUEST_ID.

    Example:
      homarus devices reject 01jx2m
    """
    return _decide(client, "reject", request_id, "is not paired")


_ROLE = click.option("--role", type=click.Choice(["operator", "node"]), help="In this role alone.")


@verb(command)
@_DEVICE
@_ROLE
def revoke(client: HubClient, device_id: str, role: str | None) -> Answer:
    """Take back the tokens of the device DEVICE_ID and close its connections; it must be paired again.

    Example:
      homarus devices revoke 02be189489ad --role operator
    """
    device = _call_for_roles(client, "device.token.revoke", device_id, role)
    return device, f"The tokens of {device['name']} are revoked."


@verb(command)
@_DEVICE
@_ROLE
def rotate(client: HubClient, device_id: str, role: str | None) -> Answer:
    """End the tokens of the device DEVICE_ID; it gets new ones when it next connects with its key.

    Example:
      homarus devices rotate 02be189489ad --role node
    """
    device = _call_for_roles(client, "device.token.rotate", device_id, role)
    return device, f"{device['name']} gets new tokens when it connects; the old ones have ended."


@verb(command)
@_DEVICE
@click.argument("name")
def rename(client: HubClient, device_id: str, name: str) -> Answer:
    """Give the device DEVICE_ID another name.

    Example:
      homarus devices rename 02be189489ad "Kitchen tablet"
    """
    device = _find_device(client, device_id)
    client.call("device.pair.rename", {"deviceId": device["id"], "label": name})
    return device | {"name": name}, f"It is called {name} now."


@verb(command)
@_DEVICE
def remove(client: HubClient, device_id: str) -> Answer:
    """Forget the device DEVICE_ID; its connections are closed.

    Example:
      homarus devices remove 02be189489ad
    """
    device = _find_device(client, device_id)
    client.call("device.pair.remove", {"deviceId": device["id"]})
    return device, f"{device['name']} is removed."


_DAYS = click.option("--days", type=WholeNumber(min=1), default=90, show_default=True, help="Not seen for this long.")


@verb(command)
@_DAYS
def clean(client: HubClient, days: int) -> Answer:
    """Forget the devices that have not connected for a while.

    Example:
      homarus devices clean --days 30
    """
    before = time.time() * 1000 - days * DAY_MS
    entries = client.call("device.pair.list")["paired"]
    old = [each for each in entries if max(each["lastSeenAtMs"] or 0, each["createdAtMs"]) < before]
    stale = [_device(each) for each in old if not each["connected"]]
    for device in stale:
        client.call("device.pair.remove", {"deviceId": device["id"]})
    return {"removed": stale}, f"Removed: {', '.join(each['name'] for each in stale) or 'none'}."


def _decide(client: HubClient, decision: str, request_id: str, words: str) -> Answer:
    waiting = map(_request, client.call("device.pair.list")["pending"])
    missing = "no device waits with the request"
    request = find_entry(waiting, request_id, ("request_id",), missing, "homarus devices list")
    client.call(f"device.pair.{decision}", {"requestId": request["request_id"]})
    return request, f"{request['name']} {words}."


def _call_for_roles(client: HubClient, method: str, given: str, role: str | None) -> dict[str, Any]:
    device = _find_device(client, given)
    for each in [role] if role else device["roles"]:
        client.call(method, {"deviceId": device["id"], "role": each})
    return device


def _find_device(client: HubClient, given: str) -> dict[str, Any]:
    devices = map(_device, client.call("device.pair.list")["paired"])
    return find_entry(devices, given, ("id",), "there is no paired device", "homarus devices list")


def _request(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "request_id": entry["requestId"],
        "device_id": entry["deviceId"],
        "name": entry.get("displayName") or entry.get("clientId") or entry["deviceId"][:SHORT],
        "platform": entry.get("platform"),
        "role": entry["role"],
        "scopes": entry["scopes"],
        "address": entry.get("remoteIp"),
        "expires_ms": entry["expiresAtMs"],
    }


def _device(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": entry["deviceId"],
        "name": entry.get("displayName") or entry.get("clientId") or entry["deviceId"][:SHORT],
        "platform": entry.get("platform"),
        "roles": entry["roles"],
        "scopes": entry["scopes"],
        "state": "connected" if entry["connected"] else "away",
        "last_seen_ms": entry["lastSeenAtMs"],
        "seen": local_time(entry["lastSeenAtMs"]) or "never",
    }


def _row(entry: Mapping[str, Any], columns: tuple[str, ...]) -> tuple[str, ...]:
    shown = {key: ",".join(value) if isinstance(value, list) else value for key, value in entry.items()}
    if "id" in shown:
        shown["id"] = shown["id"][:SHORT]
    return tuple(str(shown[column] or "") for column in columns)
