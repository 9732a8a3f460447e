#!/usr/bin/env python3
"""What does recording cost a program that forks, executes and starts threads? Runs hostile programs of the tests alone and recorded, in turn.

    python3 bench/fork_exec.py [--build build/release] [--rounds 7]

Prints, for each case, the median time of a fork, execution or thread alone and recorded. It also prints what recording adds to each: the
median of the rounds' differences, with the least and the most. All times are the program's own: what `stepscope record` does before it and
behind it (reading the traces for its summary, most of all) is not in them. The column "faults" is the median of the page faults that
recording adds, in all processes of the program together. A page that a fork copies faults when the parent writes to it again. Where all cores are busy the scheduler alone
makes a fork wait: two cases measure that limit under the same load. The last line is what the first touch of a page
costs, in which virtual machines differ. Build the targets stepscope, stepscope-tracer and attack_program first.
"""
import argparse
import json
import mmap
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# Case of tests/e2e/attacks, how often it does it, what it does. Two numbers: the program runs with either, and the difference counts. What
# its threads cost once is no cost of a fork then: threads that flood the recorder touch the pages of their rings for the first time.
CASES = [
    ("fork_silent", (200,), "fork, the child makes no event"),
    ("fork_often", (200,), "fork, the child makes an event and a trace of its own"),
    ("exec1000", (1000,), "exec, each program makes events and a trace of its own"),
    ("posix_spawn", (200,), "posix_spawn of a program that makes no event"),
    ("fork_exec_busy", (50, 250), "fork and exec while 4 threads make events"),
    ("fork_busy", (50, 250), "fork while 4 threads make events, the child makes one"),
    ("fork_busy_silent", (50, 250), "limit of that: the child makes no event"),
    ("fork_busy_thread", (50, 250), "limit of that: the child makes no event, it starts a thread of its own and waits for that"),
    ("threads10k", (10000,), "thread that makes an event"),
]


# What the case exits with; any other end is a fault and no measurement.
EXIT_CODES = {"exec1000": 9}
LIMIT_S = 120


def first_touch_us():
    """The cost of a page of private memory that is written first, the turn of the loop included."""
    size = 64 << 20
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        begin = time.perf_counter()
        for at in range(0, size, mmap.PAGESIZE):
            memory[at] = 1
        return (time.perf_counter() - begin) * 1e6 / (size / mmap.PAGESIZE)


def measure_here(file, command):
    """Runs the program and writes what it took, in seconds and page faults of all its processes, to the file."""
    begin = time.monotonic()
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    seconds = time.monotonic() - begin
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"code": ended.returncode, "seconds": seconds, "faults": resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt}, out)


def measure(name, before, program, folder):
    """Seconds and page faults of the program; `before` is the command that it runs under."""
    file = os.path.join(folder, "measured")
    command = [*before, sys.executable, os.path.abspath(__file__), "--measure-here", file, *program]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_S, check=True)
    with open(file, encoding="utf-8") as written:
        result = json.load(written)
    if result["code"] != EXIT_CODES.get(name, 0):
        raise SystemExit(f"{' '.join(command)}: ended with {result['code']}")
    return result["seconds"], result["faults"]


def measure_each(name, counts, before, program, folder):
    """The same for a single fork, execution or thread."""
    if len(counts) == 1:
        return [value / counts[0] for value in measure(name, before, program, folder)]
    few, many = (measure(name, before, [*program, str(count)], folder) for count in counts)
    return [(more - less) / (counts[1] - counts[0]) for less, more in zip(few, many)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    build = os.path.abspath(options.build)

    folder = tempfile.mkdtemp()
    print(f"{'case':16} {'alone ms':>9} {'recorded':>9} {'added ms':>9} {'faults':>7}   least to most")
    try:
        for name, counts, what in CASES:
            program = [f"{build}/tests/attack_program", name]
            alone, recorded = [], []
            for number in range(options.rounds):
                run = os.path.join(folder, f"{name}-{number}")
                record = [f"{build}/bin/stepscope", "record", "--force", "-o", run, "--"]
                # Every other round the other way round, so that a drift of the machine favours neither.
                order = [(alone, []), (recorded, record)]
                for list_of, before in order if number % 2 == 0 else reversed(order):
                    list_of.append(measure_each(name, counts, before, program, folder))
                shutil.rmtree(run, ignore_errors=True)
            added = [(b - a) * 1e3 for (a, _), (b, _) in zip(alone, recorded)]
            added_faults = statistics.median(b - a for (_, a), (_, b) in zip(alone, recorded))
            print(f"{name:16} {statistics.median(s for s, _ in alone) * 1e3:9.3f} {statistics.median(s for s, _ in recorded) * 1e3:9.3f}"
                  f" {statistics.median(added):9.3f} {added_faults:7.0f}   {min(added):.3f} to {max(added):.3f}   {what}", flush=True)
        print(f"first touch of a page: {first_touch_us():.2f} µs")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure-here"]:
        measure_here(sys.argv[2], sys.argv[3:])
    else:
        main()
