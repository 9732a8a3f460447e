"""Runs stepscope over the doubles of NVIDIA's libraries, for the scripts beside."""
import argparse
import json
import os
import shutil
import subprocess
import sys

WITH_DOUBLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "with_doubles.sh")
SKIPPED = 77  # exit status of with_doubles.sh where it cannot make a /dev, and of a test that is left out
TIMEOUT_S = 240
TIMED_OUT = 124  # as timeout(1) ends


class Doubles:
    """The tree that CMake builds (build/…/cuda_doubles), and a folder of its own for each run."""

    def __init__(self, tree, work):
        self.tree, self.work = os.path.abspath(tree), os.path.abspath(work)
        self.program = os.path.join(self.tree, "bin", "stepscope")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    def folder(self, name):
        path = os.path.join(self.work, name.replace(" ", "_").replace("<", "_before_"))
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def run(self, arguments, folder, knobs=None):
        """`stepscope ARGUMENTS` in `folder`, with `knobs` in its environment. Exits with 77 where this system cannot."""
        # A core is enough for one training, and OpenMP's threads would wait by turning.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **{name: str(value) for name, value in (knobs or {}).items()}}
        command = ["bash", WITH_DOUBLES, os.path.join(self.tree, "vendor"), self.program, *arguments]
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
                                  timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, TIMED_OUT, "", f"did not end within {TIMEOUT_S} s")
        if done.returncode == SKIPPED:
            print(done.stdout + done.stderr)
            sys.exit(SKIPPED)
        return done

    def read(self, *arguments):
        """What a command that needs no GPU prints as JSON; none where it prints nothing."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S)
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None


def arguments_of(description):
    """The options of each of these scripts. Numbers and names of cases are the script's own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tree", required=True, help="folder cuda_doubles of a build")
    parser.add_argument("--work", required=True, help="scratch folder, emptied first")
    parser.add_argument("--quick", action="store_true", help="the part that every CI run has time for")
    parser.add_argument("names", nargs="*", help="only cases whose name has one of these")
    return parser.parse_args()


def print_table(head, rows):
    widths = [max(len(str(row[column])) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip(), flush=True)
