"""`homarus devices`: phones, browsers and programs that connect with a key of their own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table

DAY_MS = 86_400_000
SHORT = 12


@click.group("devices", cls=Group)
def command() -> None:
    """Pair phones and computers, and take their access back.

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
    until = datetime.fromtimestamp(made["expiresAtMs"] / 1000).astimezone().strftime("%H:%M")
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


@command.command("approve")
@click.argument("request_id")
@home_option
@json_option
def approve(request_id: str, home: Path, as_json: bool) -> None:
    """Let in the device that made the request REQUEST_ID.

    Example:
      homarus devices approve 01jx2m
    """
    _decide(home, "approve", request_id, "{name} is paired.", as_json=as_json)


@command.command("reject")
@click.argument("request_id")
@home_option
@json_option
def reject(request_id: str, home: Path, as_json: bool) -> None:
    """Refuse the request REQUEST_ID.

    Example:
      homarus devices reject 01jx2m
    """
    _decide(home, "reject", request_id, "{name} is not paired.", as_json=as_json)


@command.command("revoke")
@click.argument("device_id")
@click.option("--role", type=click.Choice(["operator", "node"]), help="In this role alone.")
@home_option
@json_option
def revoke(device_id: str, role: str | None, home: Path, as_json: bool) -> None:
    """Take back the tokens of the device DEVICE_ID and close its connections; it must be paired again.

    Example:
      homarus devices revoke 02be189489ad --role operator
    """
    client = HubClient(home)
    device = _found(client, device_id)
    for each in [role] if role else device["roles"]:
        client.call("device.token.revoke", {"deviceId": device["id"], "role": each})
    _say(device, "The tokens of {name} are revoked.", as_json=as_json)


@command.command("rename")
@click.argument("device_id")
@click.argument("name")
@home_option
@json_option
def rename(device_id: str, name: str, home: Path, as_json: bool) -> None:
    """Give the device DEVICE_ID another name.

    Example:
      homarus devices rename 02be189489ad "Kitchen tablet"
    """
    client = HubClient(home)
    device = _found(client, device_id)
    client.call("device.pair.rename", {"deviceId": device["id"], "label": name})
    _say(device | {"name": name}, "It is called {name} now.", as_json=as_json)


@command.command("remove")
@click.argument("device_id")
@home_option
@json_option
def remove(device_id: str, home: Path, as_json: bool) -> None:
    """Forget the device DEVICE_ID; its connections are closed.

    Example:
      homarus devices remove 02be189489ad
    """
    client = HubClient(home)
    device = _found(client, device_id)
    client.call("device.pair.remove", {"deviceId": device["id"]})
    _say(device, "{name} is removed.", as_json=as_json)


@command.command("clean")
@click.option("--days", type=click.IntRange(min=1), default=90, show_default=True, help="Not seen for this long.")
@home_option
@json_option
def clean(days: int, home: Path, as_json: bool) -> None:
    """Forget the devices that have not connected for a while.

    Example:
      homarus devices clean --days 30
    """
    client, before = HubClient(home), time.time() * 1000 - days * DAY_MS
    devices = [_device(each) for each in client.call("device.pair.list")["paired"]]
    stale = [each for each in devices if each["state"] != "connected" and (each["last_seen_ms"] or 0) < before]
    for device in stale:
        client.call("device.pair.remove", {"deviceId": device["id"]})
    if as_json:
        print_json({"removed": stale})
        return
    click.echo(f"Removed: {', '.join(each['name'] for each in stale) or 'none'}.")


def _decide(home: Path, verb: str, request_id: str, words: str, *, as_json: bool) -> None:
    client = HubClient(home)
    waiting = [_request(each) for each in client.call("device.pair.list")["pending"]]
    request = _one(waiting, "request_id", request_id, "no device waits with the request")
    client.call(f"device.pair.{verb}", {"requestId": request["request_id"]})
    _say(request, words, as_json=as_json)


def _found(client: HubClient, given: str) -> dict[str, Any]:
    devices = [_device(each) for each in client.call("device.pair.list")["paired"]]
    return _one(devices, "id", given, "there is no paired device")


def _one(entries: list[dict[str, Any]], key: str, given: str, missing: str) -> dict[str, Any]:
    """Return the entry of an id, the beginning of one, or a name."""
    found = [each for each in entries if each[key] == given] or [
        each for each in entries if each[key].startswith(given) or each["name"] == given
    ]
    if len(found) != 1:
        several = f"; these could be meant: {', '.join(each[key] for each in found)}" if found else ""
        raise CommandFailed(f"{missing} {given}{several}. See: homarus devices list", Exit.FINDINGS)
    return found[0]


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
        "seen": _day(entry["lastSeenAtMs"]),
    }


def _row(entry: Mapping[str, Any], columns: tuple[str, ...]) -> tuple[str, ...]:
    shown = {key: ",".join(value) if isinstance(value, list) else value for key, value in entry.items()}
    if "id" in shown:
        shown["id"] = shown["id"][:SHORT]
    return tuple(str(shown[column] or "") for column in columns)


def _say(entry: Mapping[str, Any], words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(entry)
        return
    click.echo(words.format(**entry))


def _day(ms: int | None) -> str:
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M") if ms else "never"
