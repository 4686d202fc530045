"""Runs the benchmarks: `python -m tests.benchmarks [--json] [NAME …]`."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

from tests.benchmarks.table import Row, machine, print_table

NAMES = (
    "start",
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(NAMES)}")
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    rows: list[Row] = []
    for name in options.names or NAMES:
        sys.stderr.write(f"{name} …\n")
        rows += import_module(f"tests.benchmarks.{name}").measure()
    facts = machine()
    if options.json:
        sys.stdout.write(json.dumps({"machine": facts, "rows": [row.as_dict() for row in rows]}, indent=2) + "\n")
    else:
        print_table(rows, facts)


if __name__ == "__main__":
    main()
