"""`homarus mqtt`: show messages, publish, and list what announced itself."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.verbs import Answer, verb

WAIT_S = 25


@click.group("mqtt", cls=Group)
def command() -> None:
    """Use the MQTT bridge of the running hub.

    Example:
      homarus mqtt listen 'zigbee2mqtt/#'
    """


@command.command("listen")
@click.argument("topic", default="#")
@click.option("--count", type=click.IntRange(min=1), help="End after so many messages.")
@home_option
@json_option
def listen(topic: str, count: int | None, home: Path, as_json: bool) -> None:
    """Show the messages on TOPIC as they come, until interrupted; + and # stand for any level, and all that follow.

    Example:
      homarus mqtt listen 'tele/+/SENSOR'
    """
    after, left = 0, count
    with contextlib.suppress(KeyboardInterrupt):
        while left is None or left > 0:
            params = {"topic": topic, "after": after, "wait": WAIT_S}
            answer = HubClient(home).call("mqtt.messages", params, timeout_s=WAIT_S + 30)
            for each in answer["messages"][:left]:
                click.echo(json.dumps(each, ensure_ascii=False) if as_json else _line(each))
            left = None if left is None else left - len(answer["messages"])
            after = answer["last"]


def _line(message: dict[str, object]) -> str:
    kept = " (retained)" if message["retain"] else ""
    text = "".join(letter if letter.isprintable() else "�" for letter in str(message["payload"]))
    return f"{message['topic']}{kept} {text}"


@verb(command)
@click.argument("topic")
@click.argument("payload", default="")
@click.option("--qos", type=click.IntRange(0, 2), default=0, help="0, 1 or 2.")
@click.option("--retain", is_flag=True, help="Let the broker keep it.")
def publish(client: HubClient, topic: str, payload: str, qos: int, retain: bool) -> Answer:
    """Publish PAYLOAD on TOPIC.

    Example:
      homarus mqtt publish zigbee2mqtt/desk/set '{"state": "ON"}'
    """
    params = {"topic": topic, "payload": payload, "qos": qos, "retain": retain}
    answer = client.call("mqtt.publish", params)
    return answer, f"Published on {topic}."


@command.command("discovered")
@home_option
@json_option
def discovered(home: Path, as_json: bool) -> None:
    """List the entities and triggers that devices announced, and ignored announcements.

    Example:
      homarus mqtt discovered
    """
    answer = HubClient(home).call("mqtt.discovered")
    if as_json:
        print_json(answer)
        return
    rows = [(each["entity_id"], each["device"] or "", each["origin"]) for each in answer["entities"]]
    print_table(sorted(rows), ("entity", "device", "announced by"))
    for each in answer["triggers"]:
        click.echo(f"trigger: {json.dumps({'trigger': 'device', 'domain': 'mqtt', **each}, ensure_ascii=False)}")
    for each in answer["refused"]:
        click.echo(f"not taken: {each['what']}: {each['reason']}")


COMMANDS = {"mqtt": command}
