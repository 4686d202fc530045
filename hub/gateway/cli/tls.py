"""`homarus tls`: a certificate for the hub from an authority of this home, for phones that speak to it."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.configured import check_home
from hub.cli.exits import CommandFailed
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json
from hub.gateway.access.local_ca import CA_FILE, LEAF_DAYS, LEAF_FILE, LEAF_KEY_FILE, fingerprint, issue, own_home_names
from hub.gateway.calls.settings import HttpSettings


@click.command("tls", cls=CliCommand)
@click.option("--name", "names", multiple=True, help="A name or address of the hub (again for each).")
@click.option("--show", is_flag=True, help="Make nothing; print the fingerprint of the certificate that the hub shows.")
@home_option
@json_option
def command(names: tuple[str, ...], show: bool, home: Path, as_json: bool) -> None:
    """Make a certificate for the hub, and the authority that signs it, which only vouches for a home network.

    Run it again before the certificate ends, or when the hub's address changes; phones keep trusting the authority.
    Programs may know the certificate by its fingerprint instead: --fingerprint of `homarus` and `homarus node run`.

    Example:
      homarus tls
      homarus tls --name hub.home.arpa --name 192.168.1.5
      homarus tls --show
    """
    if show:
        _show(home, as_json=as_json)
        return
    wanted = list(names) or own_home_names()
    folder = home / "tls"
    issue(folder, wanted)
    if as_json:
        print_json({"names": wanted, "days": LEAF_DAYS, "authority": str(folder / CA_FILE)})
        return
    click.echo(f"A certificate for {', '.join(wanted)}, for {LEAF_DAYS} days. Put this into configuration.yaml:\n")
    click.echo(f"http:\n  host: 0.0.0.0\n  tls: {{certificate: tls/{LEAF_FILE}, key: tls/{LEAF_KEY_FILE}}}\n")
    click.echo(f"Other devices trust it once they have {folder / CA_FILE}: the page Phones and computers offers it.")


def _show(home: Path, *, as_json: bool) -> None:
    tls = HttpSettings.from_config(check_home(home).config.get("http"), home).tls
    if tls is None:
        raise CommandFailed("http.tls names no certificate; `homarus tls` makes one.")
    found = fingerprint(tls[0])
    if as_json:
        print_json({"certificate": str(tls[0]), "fingerprint": found})
    else:
        click.echo(found)
