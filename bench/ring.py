#!/usr/bin/env python3
"""What does it cost a long training to keep its last seconds, does its memory stay constant, and is what went wrong in the ring?

    python3 bench/ring.py [--build build/release] [--minutes 10] [--pairs 40] [--stalls 20] [--keep ring|stream|both] [--ring 20s]

Trains cifar10 on two host devices under `stepscope record --ring`, `--stream` (sums of each step) or both. Memory: all pages
that the process has to itself, for MINUTES after the ring has filled once; the largest, the smallest, and the last quarter over the first. A ring of 20 seconds holds what the program does in them, more while the machine is faster; one of 32 MB
(--ring 32MB) does not depend on that. Ratio: the same training with and without, each stopped while the
other one runs, PAIRS times two seconds each; how many steps each made. A step is counted or not, so few pairs are no better than 1 %.
So the share of the processor's time that Stepscope's own threads take is printed, too; what records cost the program's threads is not in it. Stalls: the training is stopped for half a second at a random
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

TRAINING = ["run", "cifar10", "--device", "host:2", "--batch", "32", "--allow-nan", "--steps", "100000000", "--no-evaluate"]


class Training:
    """A training without end, with a ring that `options` describe, or without one where there are none."""

    def __init__(self, stepscope, folder, options=(), log_every=0):
        self.stepscope, self.run = stepscope, os.path.join(folder, "run")
        command = [stepscope, *TRAINING, "--log-every", str(log_every)]
        if options:
            command = [stepscope, "record", *options, "-o", self.run, "--", *command]
        self.log = os.path.join(folder, "ring.log" if options else "none.log")
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
        with open(self.log, "rb") as file:
            return file.read().count(b"\n")

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
        """Processor time by the name of the thread."""
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


KEPT = {"ring": ("--ring",), "stream": ("--stream",), "both": ("--stream", "--ring")}


def memory(stepscope, seconds, kept):
    """MiB at each second once the ring is full, and the program has worked for a minute."""
    with tempfile.TemporaryDirectory() as folder:
        training = Training(stepscope, folder, kept)
        if "--ring" in kept:
            training.wait_until_full(600)
        time.sleep(60)
        values = []
        for _ in range(seconds):
            time.sleep(1)
            values.append(training.own_kib() / 1024)
        training.end()
    return values


def ratios(stepscope, pairs, kept, slot_seconds=2):
    """Steps without and with what is kept, pair by pair; which is first changes. And the share of the processor's time, in
    per cent, that Stepscope's threads took."""
    with tempfile.TemporaryDirectory() as folder:
        both = [Training(stepscope, folder, (), 1), Training(stepscope, folder, kept, 1)]
        time.sleep(3)
        for training in both:
            training.send(signal.SIGSTOP)

        begin = both[1].seconds_of_threads()
        found = []
        for pair in range(pairs):
            steps = [0, 0]
            for which in ((0, 1), (1, 0))[pair % 2]:
                before = both[which].steps()
                both[which].send(signal.SIGCONT)
                time.sleep(slot_seconds)
                both[which].send(signal.SIGSTOP)
                time.sleep(0.05)
                steps[which] = both[which].steps() - before
            found.append(steps)

        used = {name: seconds - begin.get(name, 0) for name, seconds in both[1].seconds_of_threads().items()}
        for training in both:
            training.end()
    own = sum(seconds for name, seconds in used.items() if name.startswith("stepscope"))
    return found, 100 * own / sum(used.values())


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


def stalls(stepscope, count, kept):
    """How many stalls are in the ring that each had written."""
    good = 0
    with tempfile.TemporaryDirectory() as folder:
        training = Training(stepscope, folder, (*kept, "3s", "--on-slow-step", "4x"))
        time.sleep(4)
        for _ in range(count):
            time.sleep(3 + random.random())
            before = set(glob.glob(os.path.join(training.run, "ring-*")))
            training.send(signal.SIGSTOP)
            time.sleep(0.5)
            training.send(signal.SIGCONT)
            time.sleep(2.5)
            new = set(glob.glob(os.path.join(training.run, "ring-*"))) - before
            good += len(new) == 1 and has_stall(stepscope, new.pop())
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
    chosen = options.parse_args()
    kept = KEPT[chosen.keep] + ((chosen.ring,) if chosen.keep != "stream" else ())
    stepscope = os.path.abspath(os.path.join(chosen.build, "bin/stepscope"))

    if chosen.stalls > 0 and chosen.keep != "stream":
        print(f"stalls: {stalls(stepscope, chosen.stalls, KEPT[chosen.keep])} of {chosen.stalls} are in the ring that they had written", flush=True)
    if chosen.pairs > 0:
        pairs, share = ratios(stepscope, chosen.pairs, kept)
        found = sorted(none / ring for none, ring in pairs)
        of_sums = sum(none for none, _ in pairs) / sum(ring for _, ring in pairs)
        print(f"ratio of steps: {statistics.median(found):.4f} (median of {len(found)} pairs, quartiles {found[len(found) // 4]:.4f} to "
              f"{found[-len(found) // 4]:.4f}), of the sums {of_sums:.4f}; Stepscope's threads took {share:.2f} % of the time", flush=True)
    if chosen.minutes > 0:
        values = memory(stepscope, int(chosen.minutes * 60), kept)
        middle, quarter = statistics.median(values), max(len(values) // 4, 1)
        drift = statistics.mean(values[-quarter:]) / statistics.mean(values[:quarter]) - 1
        print(f"memory: {middle:.1f} MiB (median), {100 * (min(values) / middle - 1):+.1f} to {100 * (max(values) / middle - 1):+.1f} % "
              f"over {chosen.minutes:g} minutes, last quarter to the first {100 * drift:+.1f} %", flush=True)


if __name__ == "__main__":
    main()
