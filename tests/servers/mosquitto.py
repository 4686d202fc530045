"""A real MQTT broker, which can be killed, frozen and started again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.servers.ports import free_port

START_LIMIT_S = 20.0


class Mosquitto:
    """Runs one mosquitto in a process of its own; what it keeps survives `kill` only with `persistent`."""

    def __init__(self, *, persistent: bool = False, host: str = "127.0.0.1") -> None:
        self._host = host
        self._folder = Path(tempfile.mkdtemp(prefix="mosquitto-"))
        self._persistent = persistent
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self.port = free_port()
        self.start()
        return self

    def start(self) -> None:
        """Start it, on the port that it has."""
        program = shutil.which("mosquitto", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
        assert program is not None, "mosquitto is not installed: script/system-package mosquitto 'try the MQTT bridge'"
        kept = (
            f"persistence true\npersistence_location {self._folder}/\nautosave_on_changes true\nautosave_interval 1\n"
        )
        configuration = self._folder / "mosquitto.conf"
        configuration.write_text(
            f"listener {self.port} {self._host}\nallow_anonymous true\nuser root\nmax_queued_messages 0\n"
            f"set_tcp_nodelay true\n{kept if self._persistent else ''}"
        )
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen((program, "-c", str(configuration)), stdout=log, stderr=log)
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex((self._host, self.port)) == 0:
                    return
            time.sleep(0.01)
        raise AssertionError(f"mosquitto did not start:\n{(self._folder / 'log').read_text()[-4000:]}")

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()

    def freeze(self) -> None:
        """Let it answer nothing more, with all connections open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
