"""`homarus template`: renders a template now."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import CliCommand
from hub.cli.json_argument import json_object
from hub.cli.options import home_option, json_option, print_json


@click.command("template", cls=CliCommand)
@click.argument("text")
@click.option("--variables", metavar="JSON", default="{}", help="Its variables, a JSON object.")
@home_option
@json_option
def command(text: str, variables: str, home: Path, as_json: bool) -> None:
    """Render the template TEXT and print the result.

    Example:
      homarus template '{{ states("person.anna") }}'
    """
    params = {"template": text, "variables": json_object(variables, "--variables")}
    answer = HubClient(home).call("template.render", params)
    if as_json:
        print_json(answer)
        return
    result = answer["result"]
    click.echo(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))
