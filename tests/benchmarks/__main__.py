"""Runs the benchmarks: `python -m tests.benchmarks [--json] [NAME …]`; `… cluster --help` simulates workers,
`… memory_homes --help` their memories.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

from tests.benchmarks.table import Row, machine, print_table

NAMES = (
    "start",
    "beside_home_assistant",
    "automations_start",
    "automations_reload",
    "trigger",
    "memory",
    "memory_index",
    "memory_recall",
    "memory_engines",
    "memory_quality",
    "cli",
    "bus",
    "relay",
    "message",
    "throughput",
    "telegram",
    "channels",
    "tool_gap",
    "voice",
    "prompt_size",
    "context",
    "transcript",
    "check",
    "sockets",
    "nodes",
    "mqtt",
    "sandbox",
    "snapshot",
    "pages",
    "web_fetch",
)


BESIDE = "beside_home_assistant"
ALONE = ("cluster", "memory_homes")
"""Take options of their own, and minutes: each is run by itself."""


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in ALONE:
        import_module(f"tests.benchmarks.{sys.argv[1]}").main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(NAMES)}")
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    parser.add_argument("--core", metavar="PYTHON", help=f"of an environment with Home Assistant, for {BESIDE}")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    if BESIDE in options.names and options.core is None:
        parser.error(f"{BESIDE} needs --core PYTHON, of an environment with Home Assistant")
    rows: list[Row] = []
    for name in options.names or [each for each in NAMES if each != BESIDE or options.core]:
        sys.stderr.write(f"{name} …\n")
        measure = import_module(f"tests.benchmarks.{name}").measure
        rows += measure(options.core) if name == BESIDE else measure()
    facts = machine()
    if options.json:
        sys.stdout.write(json.dumps({"machine": facts, "rows": [row.as_dict() for row in rows]}, indent=2) + "\n")
    else:
        print_table(rows, facts)


if __name__ == "__main__":
    main()
