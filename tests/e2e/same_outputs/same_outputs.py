#!/usr/bin/env python3
"""Whether two programs write the same: runs every command that writes something with both, over traces and synthetic runs.

usage: same_outputs.py --old PROGRAM --new PROGRAM [--traces FOLDER]... [--synth COUNT] [--only PATTERN] [--commands PATTERN]
                       [--allow FILE] [--jobs COUNT] [--verbose]

A trace is FOLDER/TOOL/NAME: a file, or a folder of ranks. The old program makes COUNT synthetic runs (20) and a scaling series; the
new one must make the same bytes. The script compares the standard output, the standard error, the exit status and every file that a
command writes. A line a trace says what differs: the first byte of it, and both texts there. Queries name the columns of the old
program, so a table may gain columns, and every old name must still work.
FILE lists what may differ (see Allowed in comparison.py). PATTERN is a regex that finds names of traces, or of commands.
Exit status 0: all is the same but for what may differ; 1: something differs; 2: nothing was compared.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import re
import subprocess
import sys
import tempfile
import time

import commands
import comparison

SECONDS_A_COMMAND = 120
NO_TRACES = ("golden", "expected.json")
VERDICTS = (b"0", b"1", b"3")  # exit statuses of commands that did their work
SHOWN_DIFFERENCES = 5


@dataclasses.dataclass(frozen=True)
class Trace:
    name: str
    path: str
    neighbour: "Trace" = None  # what it is compared with
    options: tuple = None      # of stepscope synth, where it is synthetic


@dataclasses.dataclass
class Result:
    name: str
    outputs: int = 0
    allowed: int = 0
    failed: int = 0  # commands that the old program refuses or fails
    differences: list = dataclasses.field(default_factory=list)  # pairs of an output's command and its differences


class Workplace:
    """Where both programs run: each command in an empty folder, with the same relative names."""

    def __init__(self, options, folder):
        self.old, self.new = (os.path.abspath(program) for program in (options.old, options.new))
        self.folder = folder
        self.allowed = read_allowed(options.allow)
        self.wanted_commands = re.compile(options.commands)
        self.environment = {"PATH": os.environ.get("PATH", ""), "HOME": os.path.join(folder, "home"), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        os.mkdir(self.environment["HOME"])

    def outputs(self, program, words):
        """All that a command writes, by name."""
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            with open(os.path.join(place, "budgets.toml"), "w", encoding="utf-8") as file:
                file.write(commands.BUDGETS)
            work = os.path.join(place, "work")
            os.mkdir(work)

            try:
                done = subprocess.run(["stepscope", *words], executable=program, cwd=work, env=self.environment, stdin=subprocess.DEVNULL,
                                      capture_output=True, timeout=SECONDS_A_COMMAND)
            except subprocess.TimeoutExpired:
                return {"exit status": f"none after {SECONDS_A_COMMAND} s".encode()}
            written = {"exit status": str(done.returncode).encode(), "stdout": done.stdout, "stderr": done.stderr}

            for folder, _, names in os.walk(work):
                for path in (os.path.join(folder, name) for name in names):
                    with open(path, "rb") as file:
                        written[os.path.relpath(path, work)] = file.read()
            return written

    def compare(self, name, some_commands):
        """What differs in the outputs of some commands."""
        result = Result(name)
        for command in some_commands:
            if not self.wanted_commands.search(command.name):
                continue
            old, new = self.outputs(self.old, command.words), self.outputs(self.new, command.words)
            result.failed += old["exit status"] not in VERDICTS
            for output in {**old, **new}:
                differences, allowed = comparison.compare(output, old.get(output), new.get(output), self.allowed)
                result.outputs += 1
                result.allowed += allowed
                if differences:
                    result.differences.append((command.name, differences))
        return result

    def make(self, name, options):
        """A synthetic run of the old program."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([self.old, "synth", "-o", path, *options], check=True, capture_output=True, env=self.environment)
        return path


def read_allowed(path):
    if path is None:
        return comparison.Allowed()
    with open(path, encoding="utf-8") as file:
        return comparison.Allowed(file)


def commands_of(workplace, tables, trace):
    if trace.options:
        yield commands.Command("synth", ("synth", "-o", "run", *trace.options))
    yield from commands.of_trace(trace.path, tables, commands.window_of(workplace.old, trace.path))
    if trace.neighbour:
        yield from commands.of_pair(f"with {trace.neighbour.name}", trace.neighbour.path, trace.path)


def traces_in(folder):
    """Traces and folders of ranks by name; the neighbour is the one in front of it, of the same tool."""
    for tool in sorted(os.listdir(folder)):
        base, neighbour = os.path.join(folder, tool), None
        for name in sorted(os.listdir(base)) if os.path.isdir(base) and tool not in NO_TRACES else []:
            if name not in NO_TRACES:
                trace = Trace(f"{tool}/{name}", os.path.abspath(os.path.join(base, name)), neighbour)
                neighbour = dataclasses.replace(trace, neighbour=None)
                yield trace


def synthetic_traces(workplace, count, wanted):
    """The neighbour of a run is a healthy one, and the healthy run's the one in front of it."""
    healthy, last = None, None
    for name, options in commands.synthetic_runs(count):
        if not wanted.search(name):
            continue
        is_healthy = name.endswith("none")
        trace = Trace(name, workplace.make(name, options), last if is_healthy else healthy, options)
        last = dataclasses.replace(trace, neighbour=None)
        healthy = last if is_healthy else healthy
        yield trace


def tasks(options, workplace):
    """Names and the commands of each line of the table."""
    wanted = re.compile(options.only)
    tables = commands.tables_of(workplace.old)
    if wanted.search("without a trace"):
        yield "without a trace", commands.without_trace()

    for folder in options.traces:
        for trace in traces_in(folder):
            if wanted.search(trace.name):
                yield trace.name, commands_of(workplace, tables, trace)
    for trace in synthetic_traces(workplace, options.synth, wanted):
        yield trace.name, commands_of(workplace, tables, trace)

    if options.synth and wanted.search("synth/series"):
        runs = [workplace.make(name, words) for name, words in commands.series_runs()]
        yield "synth/series", commands.of_series(runs)


def print_result(result, verbose):
    verdict = f"{len(result.differences)} DIFFER" if result.differences else "the same"
    allowed = f", {result.allowed} differ as they may" if result.allowed else ""
    print(f"{result.name}: {result.outputs} outputs, {verdict}{allowed}")

    shown = result.differences if verbose else result.differences[:SHOWN_DIFFERENCES]
    for command, differences in shown:
        for difference in differences:
            print(f"  {command}: {difference.where}\n    old {difference.old}\n    new {difference.new}")
    if len(shown) < len(result.differences):
        print(f"  … and {len(result.differences) - len(shown)} more; --verbose shows them")
    sys.stdout.flush()


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--traces", action="append", default=[])
    parser.add_argument("--synth", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--commands", default="")
    parser.add_argument("--allow")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    options, begin, results = parse_options(), time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="same_outputs_") as folder:
        workplace = Workplace(options, folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for result in pool.map(lambda task: workplace.compare(*task), tasks(options, workplace)):
                print_result(result, options.verbose)
                results.append(result)

    outputs = sum(result.outputs for result in results)
    differ = sum(len(result.differences) for result in results)
    allowed = sum(result.allowed for result in results)
    failed = sum(result.failed for result in results)
    print(f"{outputs} outputs of {len(results)} traces compared, {differ} differ, {allowed} differ as they may; "
          f"the old program refuses {failed} commands; {time.monotonic() - begin:.0f} s")
    if outputs == 0:
        return 2
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
