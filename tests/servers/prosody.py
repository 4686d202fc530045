"""A real XMPP server: prosody, with rooms, archives and uploads."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.servers.ports import free_port

START_LIMIT_S = 20.0
DOMAIN, ROOMS = "xmpp.test", "rooms.xmpp.test"
OTHER = "other.test"
"""One that encrypts serves this too, for which its certificate is not good."""
PASSWORD = "correct horse"
_CONFIGURATION = """\
pidfile = "{folder}/prosody.pid"
data_path = "{folder}/data"
log = {{ info = "{folder}/log" }}
run_as_root = true
daemonize = false
plugin_paths = {{}}
modules_enabled = {{ {tls}"roster"; "saslauth"; "disco"; "ping"; "smacks"; "mam"; "offline"; "carbons"; "pep"; }}
modules_disabled = {{ "s2s"; "posix" }}
c2s_ports = {{ {port} }}
c2s_interfaces = {{ "127.0.0.1" }}
http_ports = {{ {http} }}
http_interfaces = {{ "127.0.0.1" }}
https_ports = {{}}
authentication = "internal_plain"
storage = "internal"
default_archive_policy = true
archive_expires_after = "never"
{encryption}
VirtualHost "{domain}"
    http_host = "127.0.0.1"
Component "{rooms}" "muc"
    modules_enabled = {{ "muc_mam" }}
    muc_log_by_default = true
    muc_room_default_public_jids = true
    muc_room_locking = false
Component "upload.{domain}" "http_file_share"
    http_host = "127.0.0.1"
    http_external_url = "http://127.0.0.1:{http}/"
    http_file_share_size_limit = 10000000
"""
_PLAIN = """\
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
"""
_TLS = """\
c2s_require_encryption = true
c2s_direct_tls_ports = {{ {port} }}
c2s_direct_tls_interfaces = {{ "127.0.0.1" }}
ssl = {{ certificate = "{certificate}"; key = "{key}" }}
c2s_direct_tls_ssl = {{ certificate = "{certificate}"; key = "{key}" }}
VirtualHost "{other}"
"""


class Prosody:
    """Runs one prosody in a process of its own.

    Args:
        tls: A certificate and its key; without them it does not encrypt.

    Attributes:
        port: Where clients connect.
        tls_port: Where they begin with TLS.
    """

    def __init__(self, tls: tuple[Path, Path] | None = None) -> None:
        self._tls = tls
        self._folder = Path(tempfile.mkdtemp(prefix="prosody-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = self.tls_port = 0

    def __enter__(self) -> Self:
        program = shutil.which("prosody", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
        assert program is not None, "prosody is not installed: script/system-package prosody 'try the XMPP channel'"
        self.port, self.tls_port, http = free_port(), free_port(), free_port()
        (self._folder / "data").mkdir()
        configuration = self._folder / "prosody.cfg.lua"
        values = {"folder": self._folder, "port": self.port, "http": http, "domain": DOMAIN, "rooms": ROOMS}
        values |= {"tls": "", "encryption": _PLAIN}
        if self._tls is not None:
            certificate, key = self._tls
            values |= {
                "tls": '"tls"; ',
                "encryption": _TLS.format(port=self.tls_port, certificate=certificate, key=key, other=OTHER),
            }
        configuration.write_text(_CONFIGURATION.format(**values))
        with (self._folder / "out").open("wb") as log:
            self._process = subprocess.Popen((program, "--config", str(configuration), "-F"), stdout=log, stderr=log)
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.02)
        told = "".join(
            each.read_text()[-3_000:] for each in (self._folder / "out", self._folder / "log") if each.exists()
        )
        raise AssertionError(f"prosody did not start:\n{told}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, name: str, password: str = PASSWORD, domain: str = DOMAIN) -> str:
        """Make an account, or give it another password; return its address."""
        folder = self._folder / "data" / domain.replace(".", "%2e") / "accounts"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.dat").write_text(f'return {{\n\t["password"] = "{password}";\n}};\n')
        return f"{name}@{domain}"

    def uploads(self) -> list[bytes]:
        """Return the files that were put on it."""
        return [each.read_bytes() for each in (self._folder / "data").glob("upload*/http_file_share/*.bin")]
