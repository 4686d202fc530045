"""Prints the memory's answers for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from hub.cli.times import local_time

WHY_LIMIT = 200
"""Characters of the reason why not all was searched: without a key there is one for each provider."""
_INDENT = "    "
_NOT_TOLD = frozenset({"agent"})
_MB = 1_000_000


def where(hit: Mapping[str, Any]) -> str:
    """Return the place of a passage in the `path:line` form of editors."""
    return f"{hit['path']}:{hit['start_line']}"


def count_of(count: int, one: str, many: str) -> str:
    """Return a number with its noun, singular or plural."""
    return f"{count} {one if count == 1 else many}"


def size(count: int) -> str:
    """Return a number of bytes in a suitable unit."""
    if count < _MB:
        return f"{count / 1_000:.1f} kB" if count >= 1_000 else f"{count} bytes"
    return f"{count / _MB:.1f} MB"


def print_hits(answer: Mapping[str, Any], *, why: bool) -> None:
    """Print what a search found, the best first."""
    for hit in answer["hits"]:
        scores = [f"{hit['score']:.2f}"]
        scores += [f"{name} {hit[key]:.2f}" for name, key in _SCORES if hit[key] is not None]
        facts = [*scores, *(str(hit[key]) for key in ("kind", "person", "day") if hit[key])]
        click.echo(f"{where(hit)}  ({', '.join(facts)}{'' if hit['trusted'] else ', from outside'})")
        click.echo("\n".join(f"{_INDENT}{line}" for line in hit["text"].splitlines()))
        if why and hit["why"]:
            told = ", ".join(f"{name} {factor:g}" for name, factor in hit["why"].items())
            click.echo(f"{_INDENT}because: {told}")
    if not answer["hits"]:
        click.echo("Nothing was found.")
    if answer["degraded"]:
        why, rest = answer["degraded"][:WHY_LIMIT], answer["degraded"][WHY_LIMIT:]
        more = "… (all of it: homarus memory status)" if rest else ""
        click.echo(f"Not all of it was searched: {why}{more}", err=True)


def print_entries(entries: Iterable[Mapping[str, Any]]) -> None:
    """Print entries, one a line."""
    for each in entries:
        click.echo(f"{where(each)}  {' '.join(str(each['text']).split())}")


def print_synced(answer: Mapping[str, Any]) -> None:
    """Print the result of an index update."""
    click.echo(
        f"{count_of(answer['files'], 'file', 'files')}, {count_of(answer['chunks'], 'passage', 'passages')}; "
        f"{answer['embedded']} embedded in {count_of(answer['requests'], 'request', 'requests')}, "
        f"{answer['seconds']:.1f} s."
    )
    if answer["waiting"]:
        click.echo(f"{count_of(answer['waiting'], 'passage has', 'passages have')} no vector yet and is found by word.")
    if answer["problem"]:
        click.echo(answer["problem"], err=True)


def print_status(answer: Mapping[str, Any]) -> None:
    """Print facts about files, index, engines and embeddings."""
    click.echo(f"Memory of the agent {answer['agent']}")
    for line in _lines({key: value for key, value in answer.items() if key not in _NOT_TOLD}, ""):
        click.echo(line)


_SCORES = (("by meaning", "vector_score"), ("by word", "text_score"))


def _lines(data: Mapping[str, Any], indent: str) -> Iterable[str]:
    for key, value in data.items():
        name, said = _told(key, value)
        if value is None or (isinstance(value, (Mapping, list)) and not _has_facts(value)):
            continue
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and isinstance(value[0], Mapping):
            yield f"{indent}{name}:"
            for each in value:
                known = (_told(inner, fact) for inner, fact in each.items() if fact is not None)
                yield f"{indent}  {', '.join(f'{inner} {fact}' for inner, fact in known)}"
        elif isinstance(value, list):
            yield from (f"{indent}{name}: {_told('', each)[1]}" for each in value)
        else:
            yield f"{indent}{name}: {said}"


def _has_facts(data: Mapping[str, Any] | list[Any]) -> bool:
    values = data.values() if isinstance(data, Mapping) else data
    return any(_has_facts(each) if isinstance(each, (Mapping, list)) else each is not None for each in values)


def _told(key: str, value: Any) -> tuple[str, str]:
    """Return a fact's name and value, in readable units."""
    name = key.replace("_", " ")
    if isinstance(value, bool):
        return name, "yes" if value else "no"
    if isinstance(value, int) and key.endswith("_ms"):
        return name.removesuffix(" ms"), local_time(value)
    if isinstance(value, int) and key.endswith("_bytes"):
        return name.removesuffix(" bytes"), size(value)
    return name, f"{value:.4g}" if isinstance(value, float) else str(value)
