#!/usr/bin/env python3
"""Kills a recorded program at random moments and looks at what is left. Run by hand: 200 runs take minutes.

usage: kill_moments.py --build FOLDER [--runs 200] [--jobs 2] [--seed 1] [--longest 2.5]

The program makes marks and says in a pipe how many it has made, and when. It gets SIGKILL; in every second run `stepscope record`
gets it as well. Exit status 1: a trace cannot be read, or marks are missing that were made more than a second before.
"""

import argparse
import dataclasses
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import runner

MAY_BE_LOST_S = 1.0
MARKS_BETWEEN_LINES = 100


@dataclasses.dataclass
class Finding:
    after_s: float
    lost_s: float  # how long before its end the last recorded mark was made
    fault: str


def reports_of(pipe, reports):
    """Appends (marks, seconds) of each line; the last may be cut off."""
    for line in pipe:
        if line.endswith(b"\n"):
            marks, seconds = line.split()
            reports.append((int(marks), float(seconds)))


def kill(process, with_record):
    if with_record:
        os.killpg(process.pid, signal.SIGKILL)
        return
    program = []
    while not program:  # record may not have started it yet
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            program = file.read().split()
    os.kill(int(program[0]), signal.SIGKILL)


def judge(stepscope, run_folder, reports, killed_s):
    """(seconds that are lost, fault)."""
    try:
        traces = stepscope.info(run_folder)
    except ValueError as error:
        return 0, str(error)
    counted = sum(trace["events"] + trace["dropped"] for trace in traces)
    wanted = max((marks for marks, seconds in reports if seconds <= killed_s - MAY_BE_LOST_S), default=0)
    made = max((marks for marks, _ in reports), default=0)
    first_missing = next((seconds for marks, seconds in reports if marks > counted), killed_s)
    lost_s = max(0.0, killed_s - first_missing)
    if counted < wanted:
        return lost_s, f"{counted} marks in the trace, {wanted} were made a second before the end"
    if counted > made + 2 * MARKS_BETWEEN_LINES:
        return lost_s, f"{counted} marks in the trace, {made} were made"
    return lost_s, ""


def kill_one(arguments):
    stepscope, folder, seed, longest_s, number = arguments
    after_s = random.Random(seed * 1_000_003 + number).uniform(0, longest_s)
    base = os.path.join(folder, str(number))
    work_folder, run_folder = runner.fresh_folder(os.path.join(base, "work")), os.path.join(base, "run")
    command = stepscope.recorded([stepscope.attack_program, "marks", "0"], run_folder)
    process = subprocess.Popen(command, cwd=work_folder, env=runner.clean_environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    reports = []
    reader = threading.Thread(target=reports_of, args=(process.stdout, reports))
    reader.start()
    time.sleep(after_s)
    kill(process, number % 2 == 1)
    killed_s = time.monotonic()
    reader.join()
    process.stdout.close()
    process.wait()
    runner.kill_all_children()

    lost_s, fault = judge(stepscope, run_folder, reports, killed_s)
    shutil.rmtree(base, ignore_errors=True)
    return Finding(after_s, lost_s, fault)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=2.5, help="seconds from the start to the latest kill")
    arguments = parser.parse_args()
    stepscope = runner.Stepscope(arguments.build)
    begin = time.monotonic()
    findings = []
    with tempfile.TemporaryDirectory(prefix="stepscope-kills-") as folder, \
            multiprocessing.Pool(arguments.jobs, runner.become_subreaper) as pool:
        runs = [(stepscope, folder, arguments.seed, arguments.longest, number) for number in range(arguments.runs)]
        for finding in pool.imap_unordered(kill_one, runs):
            findings.append(finding)
            if finding.fault:
                print(f"killed after {finding.after_s:.3f} s: {finding.fault}", flush=True)
    faults = sum(1 for finding in findings if finding.fault)
    longest_lost_s = max((finding.lost_s for finding in findings), default=0)
    print(f"{len(findings)} kills, {faults} faults, at most {longest_lost_s:.3f} s lost, seed {arguments.seed}, "
          f"in {time.monotonic() - begin:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
