#!/usr/bin/env python3
"""What does it cost a long training to keep its last seconds, does its memory stay constant, and is what went wrong in the ring?

    python3 bench/ring.py [--build build/release] [--minutes 10] [--pairs 40] [--stalls 20] [--keep ring|stream|both|nothing] [--ring 20s]
                          [--over-doubles]

Trains cifar10 on two host devices under `stepscope record --ring`, `--stream` (sums of each step) or both. `--keep nothing` is a training
between two windows: it can be asked for one, and is not. `--over-doubles` trains on two GPUs of the CUDA double. Memory: all pages
that the process has to itself, for MINUTES after the ring has filled once; the largest, the smallest, and the last quarter over the first. A ring of 20 seconds holds what the program does in them, more while the machine is faster; one of 32 MB
(--ring 32MB) does not depend on that. Ratio: the same training with and without, PAIRS times 25 whole steps each (over the
double 5), each stopped while the other one runs. It is the seconds a step of the one over those of the other.
The share of the processor's time that Stepscope's own threads take is printed, too; what records cost the program's threads is not in it. Stalls: the training is stopped for half a second at a random
moment, STALLS times; `--on-slow-step` must write a ring that has the step. Build the target stepscope first.
"""
import argparse
import glob
import os
import random
import re
import signal
import statistics
import subprocess
import tempfile
import time

TRAINING = ["--allow-nan", "--steps", "100000000", "--no-evaluate"]


class Program:
    """stepscope of a build, and how it trains: on the host, or on GPUs of the CUDA double."""

    def __init__(self, build, over_doubles):
        tree = os.path.join(os.path.abspath(build), "cuda_doubles" if over_doubles else "")
        self.stepscope = os.path.join(tree, "bin/stepscope")
        with_doubles = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/cuda_doubles/with_doubles.sh")
        self.before = ["env", "OMP_NUM_THREADS=1", "DOUBLE_CUDA_DEVICES=2", "bash", with_doubles, os.path.join(tree, "vendor")] if over_doubles else []
        self.training = ["run", "cifar10", *(("--device", "cuda:all", "--batch", "4") if over_doubles else ("--device", "host:2", "--batch", "32")), *TRAINING]
        self.steps_a_slot = 5 if over_doubles else 25


class Training:
    """A training without end, with a ring that `options` describe, or without one where there are none."""

    def __init__(self, program, folder, options=(), log_every=0):
        self.stepscope, self.run = program.stepscope, os.path.join(folder, "run")
        command = [self.stepscope, *program.training, "--log-every", str(log_every)]
        if options:
            command = [self.stepscope, "record", *options, "-o", self.run, "--", *command]
        command = program.before + command
        self.log = os.path.join(folder, "ring.log" if options else "none.log")
        self.read, self.lines = None, 0
        self.launcher = subprocess.Popen(command, cwd=folder, stdout=open(self.log, "wb"), stderr=subprocess.DEVNULL, start_new_session=True)
        self.process = self.find_process() if options else self.launcher.pid

    def find_process(self):
        for _ in range(300):
            for name in glob.glob(os.path.join(self.run, "requests", "*.process.json")):
                return int(re.search(r'"process_id": *(\d+)', open(name, encoding="utf-8").read())[1])
            for name in glob.glob(os.path.join(self.run, "stream", "process-*.steps")):
                return int(re.search(r"process-(\d+)", name)[1])
            time.sleep(0.1)
        raise SystemExit("the training does not begin")

    def steps(self):
        """Lines of its log: one a step."""
        if self.read is None:
            self.read = open(self.log, "rb")
        self.lines += self.read.read().count(b"\n")
        return self.lines

    def steps_until(self, steps):
        """Waits for them: how many there are then, and when that was."""
        while self.steps() < steps:
            time.sleep(0.001)
            if self.launcher.poll() is not None:
                raise SystemExit(f"the training has ended: {' '.join(self.launcher.args)}")
        return self.lines, time.monotonic()

    def seconds_of_step(self, steps):
        """Lets it go on for `steps` whole steps: the one within which it was stopped is not counted."""
        self.send(signal.SIGCONT)
        first, begin = self.steps_until(self.steps() + 1)
        last, end = self.steps_until(first + steps)
        self.send(signal.SIGSTOP)
        time.sleep(0.05)
        return (end - begin) / (last - first)

    def send(self, number):
        os.kill(self.process, number)

    def first_kept_step(self):
        """The ring's; -1 until it has one. A process says so when it is asked."""
        subprocess.run([self.stepscope, "ps", self.run], capture_output=True, check=False)
        for name in glob.glob(os.path.join(self.run, "requests", "*.process.json")):
            found = re.search(r'"first_step": *(-?\d+)', open(name, encoding="utf-8").read())
            if found:
                return int(found[1])
        return -1

    def wait_until_full(self, seconds):
        """Until the ring has dropped its first steps."""
        begin, first = time.monotonic(), -1
        while time.monotonic() - begin < seconds:
            now = self.first_kept_step()
            if 0 <= first < now:
                return
            first = now if first < 0 else first
            time.sleep(5)
        raise SystemExit(f"the ring is not full after {seconds} s, keep less of it with --ring")

    def own_kib(self):
        text = open(f"/proc/{self.process}/smaps_rollup", encoding="utf-8").read()
        return sum(int(kib) for kib in re.findall(r"^Private_\w+: +(\d+)", text, re.MULTILINE))

    def seconds_of_threads(self):
        """Processor time by the name of the thread. Threads without a name of their own have the program's, "stepscope"."""
        seconds = {}
        for task in glob.glob(f"/proc/{self.process}/task/*"):
            name = open(f"{task}/comm", encoding="utf-8").read().strip()
            seconds[name] = seconds.get(name, 0) + int(open(f"{task}/schedstat", encoding="utf-8").read().split()[0]) / 1e9
        return seconds

    def end(self):
        for target in (self.process, self.launcher.pid):
            try:
                os.kill(target, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.launcher.wait()


KEPT = {"ring": ("--ring",), "stream": ("--stream",), "both": ("--stream", "--ring"), "nothing": ("--on-request",)}


def memory(program, seconds, kept):
    """MiB at each second once the ring is full, and the program has worked for a minute."""
    with tempfile.TemporaryDirectory() as folder:
        training = Training(program, folder, kept)
        if "--ring" in kept:
            training.wait_until_full(600)
        time.sleep(60)
        values = []
        for _ in range(seconds):
            time.sleep(1)
            values.append(training.own_kib() / 1024)
        training.end()
    return values


def ratios_of_two(program, pairs, kept):
    """Seconds of a step without and with what is kept, pair by pair; which is first changes. And the seconds of the processor
    that Stepscope's threads took, and those of all."""
    with tempfile.TemporaryDirectory() as folder:
        both = [Training(program, folder, (), 1), Training(program, folder, kept, 1)]
        try:
            for training in both:
                training.steps_until(10)
                training.send(signal.SIGSTOP)

            begin = both[1].seconds_of_threads()
            found = []
            for pair in range(pairs):
                seconds = [0, 0]
                for which in ((0, 1), (1, 0))[pair % 2]:
                    seconds[which] = both[which].seconds_of_step(program.steps_a_slot)
                found.append(seconds)
            used = {name: seconds - begin.get(name, 0) for name, seconds in both[1].seconds_of_threads().items()}
        finally:
            for training in both:
                training.end()
    return found, sum(seconds for name, seconds in used.items() if name.startswith("stepscope-")), sum(used.values())


def print_ratios(program, pairs, kept):
    """Two processes of one program differ by their places in memory, too: each ten pairs begin new ones."""
    found, own, all_threads = [], 0, 0
    while len(found) < pairs:
        more, own_more, all_more = ratios_of_two(program, min(10, pairs - len(found)), kept)
        found += more
        own, all_threads = own + own_more, all_threads + all_more

    each = sorted(kept / none for none, kept in found)
    processes = [statistics.median(kept / none for none, kept in found[at:at + 10]) for at in range(0, len(found), 10)]
    middle = statistics.median(processes)
    print(f"ratio of a step's seconds: {statistics.median(each):.4f} (median of {len(each)} pairs, quartiles {each[len(each) // 4]:.4f} to "
          f"{each[-len(each) // 4]:.4f}); medians of {len(processes)} processes {middle:.4f}, {min(processes):.4f} to {max(processes):.4f}; "
          f"Stepscope's threads took {100 * own / all_threads:.2f} % of the time", flush=True)


def reason_of(stepscope, ring):
    facts = subprocess.run([stepscope, "info", ring], capture_output=True, text=True, check=False).stdout
    found = re.search(r"written because (.*)", facts)
    return found[1] if found else ""


def has_stall(stepscope, ring):
    """The step that its reason names is in it, and is as long as the stall."""
    named = re.search(r"step ([\d,]+) took", reason_of(stepscope, ring))
    if not named:
        return False
    step = named[1].replace(",", "")
    query = subprocess.run([stepscope, "query", ring, f"SELECT max(dur_ns) FROM step_marks WHERE step = {step}", "--format", "csv"],
                           capture_output=True, text=True, check=False)
    lines = query.stdout.split()
    return len(lines) == 2 and lines[1].isdigit() and int(lines[1]) > 400_000_000


def stalls(program, count, kept):
    """How many stalls are in the ring that each had written."""
    good = 0
    with tempfile.TemporaryDirectory() as folder:
        training = Training(program, folder, (*kept, "3s", "--on-slow-step", "4x"))
        time.sleep(4)
        for _ in range(count):
            time.sleep(3 + random.random())
            before = set(glob.glob(os.path.join(training.run, "ring-*")))
            training.send(signal.SIGSTOP)
            time.sleep(0.5)
            training.send(signal.SIGCONT)
            time.sleep(2.5)
            new = set(glob.glob(os.path.join(training.run, "ring-*"))) - before
            good += len(new) == 1 and has_stall(program.stepscope, new.pop())
        training.end()
    return good


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build/release")
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--pairs", type=int, default=40)
    options.add_argument("--stalls", type=int, default=20)
    options.add_argument("--keep", choices=KEPT, default="ring")
    options.add_argument("--ring", default="20s", help="how much of it is kept: a time or bytes")
    options.add_argument("--over-doubles", action="store_true", help="train on GPUs of the CUDA double; build the target cuda_doubles first")
    chosen = options.parse_args()
    has_ring = "--ring" in KEPT[chosen.keep]
    kept = KEPT[chosen.keep] + ((chosen.ring,) if has_ring else ())
    program = Program(chosen.build, chosen.over_doubles)

    if chosen.stalls > 0 and has_ring:
        print(f"stalls: {stalls(program, chosen.stalls, KEPT[chosen.keep])} of {chosen.stalls} are in the ring that they had written", flush=True)
    if chosen.pairs > 0:
        print_ratios(program, chosen.pairs, kept)
    if chosen.minutes > 0:
        values = memory(program, int(chosen.minutes * 60), kept)
        middle, quarter = statistics.median(values), max(len(values) // 4, 1)
        drift = statistics.mean(values[-quarter:]) / statistics.mean(values[:quarter]) - 1
        print(f"memory: {middle:.1f} MiB (median), {100 * (min(values) / middle - 1):+.1f} to {100 * (max(values) / middle - 1):+.1f} % "
              f"over {chosen.minutes:g} minutes, last quarter to the first {100 * drift:+.1f} %", flush=True)


if __name__ == "__main__":
    main()
