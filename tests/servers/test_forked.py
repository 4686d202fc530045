"""A forked process is to a test what a process of its own would be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.servers.forked import REPOSITORY, ForkedProcess, run

MODULE = "tests.servers.forked_program"


def test_it_has_the_arguments_environment_and_directory_that_it_was_given() -> None:
    ran = run(MODULE, "tell", "A", "b c", environment={"ONLY": "this", "TZ": "Asia/Tokyo"})

    assert ran.stdout.splitlines() == [
        "arguments ['A', 'b c']",
        "environment {'ONLY': 'this', 'TZ': 'Asia/Tokyo'}",
        f"directory {REPOSITORY}",
        "zone JST",
    ]


@pytest.mark.parametrize("code", [0, 3])
def test_its_exit_code_and_what_it_says_of_an_error_are_returned(code: int) -> None:
    ran = run(MODULE, "exit", str(code))

    assert (ran.returncode, ran.stderr) == (code, f"exits with {code}\n")


def test_what_it_raises_is_a_traceback_and_exit_code_1() -> None:
    ran = run(MODULE, "raise")

    assert ran.returncode == 1
    assert "ZeroDivisionError" in ran.stderr


def test_its_threads_and_what_is_to_be_done_at_the_end_are_waited_for() -> None:
    ran = run(MODULE, "end")

    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "from a thread\nat the end\n", "with these words\n")


def test_a_signal_ends_it_and_is_its_exit_code() -> None:
    with ForkedProcess(MODULE, "echo", stdin=PIPE, stdout=PIPE) as process:
        running = process.poll()
        process.kill()

        assert (running, process.wait(30)) == (None, -9)


def test_an_interrupt_is_raised_in_it() -> None:
    with ForkedProcess(MODULE, "echo", stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("one\n")
        said = process.stdout.readline()
        process.send_signal(2)

        assert (said, process.wait(30)) == ("one\n", 130)


def test_waiting_for_what_still_runs_has_a_limit() -> None:
    with ForkedProcess(MODULE, "echo", stdin=PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.kill()


def test_it_ends_with_its_input_also_while_others_run() -> None:
    with (
        ForkedProcess(MODULE, "echo", stdin=PIPE) as first,
        ForkedProcess(MODULE, "echo", stdin=PIPE) as second,
    ):
        for process in (first, second):
            assert process.stdin is not None
            process.stdin.close()

            assert process.wait(30) == 0


def test_two_of_them_choose_different_numbers_by_chance() -> None:
    assert run(MODULE, "random").stdout != run(MODULE, "random").stdout


def test_it_has_no_open_file_that_a_new_process_would_not_have() -> None:
    own = subprocess.run(
        [sys.executable, "-m", MODULE, "files"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )

    assert run(MODULE, "files").stdout == own.stdout


def test_the_server_ends_with_the_tests_that_use_it(tmp_path: Path) -> None:
    file = tmp_path / "server"
    code = f"from tests.servers.forked import run; run({MODULE!r}, 'parent', {str(file)!r})"

    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True)

    assert not Path(f"/proc/{file.read_text()}").exists()
