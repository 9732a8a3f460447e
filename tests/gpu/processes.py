"""Programs with a time limit."""
import collections
import os
import signal
import subprocess

Result = collections.namedtuple("Result", "code output")
LIMIT_S = 240


class Failure(Exception):
    """A program did not do what it should have; the numbers that it gave nevertheless."""

    def __init__(self, text, numbers=None):
        super().__init__(text)
        self.numbers = numbers


def run(command, limit_s=LIMIT_S, keep_stderr=True):
    """Exit status (as a shell's) and output. A program that takes too long is killed with what it started: status 124."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if keep_stderr else subprocess.PIPE,
                               stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True)
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        return Result(124, (output or "") + (errors or "") + f"\nkilled after {limit_s} s")
    except BaseException:  # this script is being ended: what it started must not go on
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Result(code, output if code == 0 else output + (errors or ""))


def run_well(command, limit_s=LIMIT_S, keep_stderr=True):
    """The same; raises Failure with the end of the output when the status is not 0."""
    result = run(command, limit_s, keep_stderr)
    if result.code != 0:
        raise Failure(f"{' '.join(command[:6])} … ended with {result.code}: {result.output[-800:]}")
    return result
