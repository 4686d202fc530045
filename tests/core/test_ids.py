"""Identifiers: no two are the same, in no process."""

from __future__ import annotations

import os

from hub.core.ids import new_id


def test_many_ids_are_all_different_and_sort_by_their_time() -> None:
    ids = [new_id() for _ in range(1_000)]

    assert len(set(ids)) == 1_000
    assert [id[:12] for id in ids] == sorted(id[:12] for id in ids)
    assert {len(id) for id in ids} == {32}


def test_a_forked_process_has_other_ids_than_its_parent() -> None:
    new_id()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, new_id().encode())
        os._exit(0)
    os.waitpid(child, 0)

    assert os.read(reader, 32).decode()[12:] != new_id()[12:]
    os.close(reader)
    os.close(writer)
