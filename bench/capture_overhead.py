#!/usr/bin/env python3
"""What does capture cost a training step? Runs the same training with and without the tracer, in turn, and compares step times.

    python3 bench/capture_overhead.py [--program build/release/bin/stepscope] [--pairs 7] [-- WORKLOAD OPTIONS]

Prints the median step of each run (ms, the workload's own clock, first three steps left out) and the ratio traced / untraced of each
pair, with its median. Machines are noisy: trust the median of the ratios, and only beside their spread.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile

WARMUP_STEPS = 3  # caches, page faults and thread start-up


def median_step_ms(command):
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    summary = next(json.loads(line) for line in reversed(output.splitlines()) if line.startswith('{"'))
    steps = [step for device in summary["devices"] for step in device["step_ns"][WARMUP_STEPS:]]
    return statistics.median(steps) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/stepscope")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("workload", nargs="*", default=[])
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    workload = options.workload or ["cifar10", "--device", "host:2", "--steps", "40", "--no-evaluate", "--log-every", "0"]
    train = [program, "run", *workload, "--json"]
    folder = tempfile.mkdtemp()
    ratios = []
    print("pair  untraced ms  traced ms  ratio")
    try:
        for pair in range(options.pairs):
            record = [program, "record", "-o", f"{folder}/run{pair}", "--", *train]
            # Every other pair the other way round, so that a drift of the machine favours neither.
            if pair % 2 == 0:
                untraced, traced = median_step_ms(train), median_step_ms(record)
            else:
                traced, untraced = median_step_ms(record), median_step_ms(train)
            ratios.append(traced / untraced)
            print(f"{pair + 1:4}  {untraced:11.3f}  {traced:9.3f}  {ratios[-1]:5.3f}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"median ratio {statistics.median(ratios):.4f}, from {min(ratios):.4f} to {max(ratios):.4f}, {options.pairs} pairs")


if __name__ == "__main__":
    main()
