"""How long `web_fetch` of a page of 1 MB holds the hub's loop; the page comes from another process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from hub.security.egress import Egress
from integrations.tools import web_fetch
from tests.benchmarks.hub_probe import LoopWatch
from tests.benchmarks.table import Row, row
from tests.integrations.tools.standing import Standing

RUNS = 15
PARAGRAPH = "<p>Sow the <b>peas</b> in two <a href='/rows'>rows</a>, as soon as the soil is warm, and water them.</p>\n"
PAGE = f"<!doctype html><title>Peas</title><article>{PARAGRAPH * (1_000_000 // len(PARAGRAPH))}</article>"
GOAL = "< 5 ms"
SERVER = "import http.server as h; s = h.ThreadingHTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
SERVER += "print(s.server_port, flush=True); s.serve_forever()"


def measure() -> list[Row]:
    """Read a page of 1 MB many times, each time by another address."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "page.html").write_text(PAGE)
        command = [sys.executable, "-c", SERVER]
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as server:
            assert server.stdout is not None
            try:
                return asyncio.run(_measure(Path(folder) / "home", f"127.0.0.1:{server.stdout.readline().strip()}"))
            finally:
                server.kill()


async def _measure(home: Path, place: str) -> list[Row]:
    standing = Standing(home)
    standing.egress = Egress(lambda: {place})
    await standing.set_up(web_fetch)
    watch = LoopWatch()
    late_ms, computed_ms, taken_ms = [], [], []
    for number in range(RUNS + 1):
        await asyncio.sleep(0.02)
        watch.reset()
        begun = time.perf_counter()
        result = await standing.call("web_fetch", {"url": f"http://{place}/page.html?{number}"})
        taken_ms.append((time.perf_counter() - begun) * 1_000)
        assert "Sow the" in result.output, result.output[:200]
        await asyncio.sleep(0.02)
        late_ms.append(watch.late_s * 1_000)
        computed_ms.append(watch.computed_s * 1_000)
    watch.stop()
    await standing.egress.close()
    await standing.end()
    return [
        row("web_fetch of 1 MB: longest hold of the loop", "ms", late_ms[1:], GOAL),
        row("web_fetch of 1 MB: longest computation on the loop", "ms", computed_ms[1:], GOAL),
        row("web_fetch of 1 MB", "ms", taken_ms[1:]),
    ]
