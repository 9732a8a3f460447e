#!/usr/bin/env python3
"""A large run in Python compared with the command: open and analyze, and its kernels as a frame of pandas.

usage: python_tables.py [--build BUILD] [--rounds N] [--ranks R] [--steps S]     R ranks of S steps: 234 kernels a step and rank
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPEN = "import stepscope, sys; len(stepscope.open(sys.argv[1]).analyze().findings)"
FRAMES = """
import stepscope, sys, time
run = stepscope.open(sys.argv[1])
def time_of(columns):
    begin = time.perf_counter()
    frame = run.table("kernels", columns).to_pandas()
    return time.perf_counter() - begin, len(frame)
for _ in range(int(sys.argv[2])):
    few, rows = time_of(["rank", "device", "name", "start_ns", "dur_ns"])
    print(few, time_of(None)[0], rows)
"""


def time_of(arguments, environment):
    begin = time.perf_counter()
    subprocess.run(arguments, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable, help="with pandas")
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--ranks", default=64, type=int)
    parser.add_argument("--steps", default=668, type=int)
    options = parser.parse_args()

    program = str(options.build / "bin/stepscope")
    environment = {**os.environ, "PYTHONPATH": str(options.build / "python")}
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        subprocess.run([program, "synth", "-o", run, "--ranks", str(options.ranks), "--steps", str(options.steps)], check=True)

        ratios, times = [], []
        for _ in range(options.rounds):
            command = time_of([program, "analyze", "--json", run], environment)
            python = time_of([options.python, "-c", OPEN, run], environment)
            ratios.append(python / command)
            times.append(python)
        print(f"open and analyze: {statistics.median(times):.2f} s, {statistics.median(ratios):.3f} of the command's time (median of {options.rounds} pairs)")

        made = subprocess.run([options.python, "-c", FRAMES, run, str(options.rounds)], env=environment, check=True,
                              capture_output=True, text=True)
        rounds = [[float(word) for word in line.split()] for line in made.stdout.splitlines()]
        few, everything = (statistics.median(each[i] for each in rounds) for i in (0, 1))
        print(f"kernels to pandas, {int(rounds[0][2]):,} rows: 5 columns {few:.2f} s, all 30 {everything:.2f} s")


if __name__ == "__main__":
    main()
