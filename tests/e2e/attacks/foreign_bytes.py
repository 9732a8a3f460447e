#!/usr/bin/env python3
"""Counts what the tracer writes into a program's own files, over many runs with random timing. Run by hand: 1000 runs take minutes.

usage: foreign_bytes.py --build FOLDER [--runs 1000] [--jobs 2] [--seed 1]

Records programs that close all descriptors and open files of their own: closefrom_reuse of attack_program, closerange of
attack_python.py. A thread that makes events all the time runs in every second of them. Exit status 1: a file holds a byte that the
program did not write, a program ended or printed otherwise than alone, or a trace cannot be read.
"""

import argparse
import dataclasses
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time

import runner

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "languages/attack_python.py")
LIMIT_S = 60
CHECKPOINT = b"W" * 2000


@dataclasses.dataclass
class Finding:
    program: str
    foreign_bytes: int
    faults: list


def foreign_bytes(path, expected):
    """Bytes of a file that the program did not write: more of them, or others instead."""
    with open(path, "rb") as file:
        content = file.read()
    different = sum(1 for first, second in zip(content, expected) if first != second)
    return different + abs(len(content) - len(expected))


def native_program(stepscope, chance, is_busy):
    timing = [chance.randrange(40_000), chance.randrange(700_000)]
    command = [stepscope.attack_program, "closefrom_reuse", *map(str, timing), str(int(is_busy))]
    return command, {}, {f"mine-{i}": b"mine" for i in range(8)}


def python_program(stepscope, chance, is_busy):
    command = [sys.executable, SCRIPT, "closerange", stepscope.attack_library, str(chance.randrange(20, 700))]
    return command, {"ATTACK_BUSY": "1"} if is_busy else {}, {"checkpoint.bin": CHECKPOINT}


def record_one(arguments):
    stepscope, folder, seed, number = arguments
    chance = random.Random(seed * 1_000_003 + number)
    make = python_program if number % 4 >= 2 else native_program
    command, more, expected = make(stepscope, chance, number % 2 == 1)
    base = os.path.join(folder, str(number))
    work_folder, run_folder = runner.fresh_folder(os.path.join(base, "work")), os.path.join(base, "run")
    outcome = runner.run(stepscope.recorded(command, run_folder), work_folder, runner.clean_environment() | more, LIMIT_S)

    faults = [] if outcome.ending == "exit 0" else [f"{outcome.ending}, {runner.printable(outcome.stderr)}"]
    faults += [f"the file {name} is not the program's" for name in outcome.files if name not in expected]
    bytes_found = 0
    for name, content in expected.items():
        if name in outcome.files:
            bytes_found += foreign_bytes(os.path.join(work_folder, name), content)
        else:
            faults.append(f"the file {name} is missing")
    try:
        stepscope.info(run_folder)
    except ValueError as error:
        faults.append(str(error))
    shutil.rmtree(base, ignore_errors=True)
    return Finding(" ".join(command[1:]), bytes_found, faults)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    stepscope = runner.Stepscope(arguments.build)
    begin = time.monotonic()
    damaged = foreign = faulty = 0
    with tempfile.TemporaryDirectory(prefix="stepscope-foreign-") as folder, \
            multiprocessing.Pool(arguments.jobs, runner.become_subreaper) as pool:
        runs = [(stepscope, folder, arguments.seed, number) for number in range(arguments.runs)]
        for finding in pool.imap_unordered(record_one, runs):
            damaged += finding.foreign_bytes > 0
            foreign += finding.foreign_bytes
            faulty += bool(finding.faults)
            if (finding.foreign_bytes or finding.faults) and damaged + faulty <= 20:
                print(f"{finding.program}: {finding.foreign_bytes} foreign bytes; {'; '.join(finding.faults)}", flush=True)
    print(f"{arguments.runs} runs, {foreign} foreign bytes in {damaged} of them, {faulty} with another fault, seed {arguments.seed}, "
          f"in {time.monotonic() - begin:.0f} s")
    return 1 if foreign or faulty else 0


if __name__ == "__main__":
    sys.exit(main())
