"""The process that makes a plan: a job as JSON on standard input, the plan or the error as JSON on standard output."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import msgspec

from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.integration.catalog import find
from hub.integration.schemas import schemas
from hub.migrate.job import Answer, MoveJob
from hub.migrate.plan import encoded, said
from hub.migrate.planning import plan
from hub.sections import all_sections
from hub.storage.homedir import restrict_umask

MEMORY_BYTES = 3_000_000_000


def main() -> None:
    """Do the job on standard input; anything else that is printed goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    restrict_umask()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=MoveJob)
    try:
        answer = Answer(plan(job, all_sections(schemas(find(Path(job.home))))))
    except HubError as error:
        answer = Answer(code=error.code, message=said(error.message))
    except MemoryError:
        answer = Answer(code="LIMIT_EXCEEDED", message=phrase("reading {path} takes too much memory", path=job.path))
    answers.write(encoded(answer))
    answers.flush()


if __name__ == "__main__":
    main()
