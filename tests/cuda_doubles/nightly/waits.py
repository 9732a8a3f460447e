#!/usr/bin/env python3
"""Delays streams and removes waits, one kind at a time, from each workload.

With a delay the results are the same to the bit: no wait is missing. Without a wait, and with the stream that it waits for
delayed, something shows: other results, an error, or a check of the program's own or of a double. Prints how many removed waits
were found; exit status 1 where a delay changes results or a removed wait of a stream stays unseen. A wait of the host for an
event can be needless where another wait follows: those are counted, not judged.

usage: waits.py --tree build/release/cuda_doubles --work FOLDER [--quick] [NAME…]     all workloads, those named, or the shortest
"""
import dataclasses
import json
import os
import sys

sys.dont_write_bytecode = True
import over_doubles

GPUS = {"DOUBLE_CUDA_DEVICES": 2}
CHECKPOINT = "weights"
DELAY_US, JITTER_US = 2000, 1500
# Where a wait is removed. On a busy machine the stream that no longer waits may itself begin so late that the other has
# ended: nothing shows then, and a longer delay tells.
DELAYS_US = (DELAY_US, 10 * DELAY_US, 50 * DELAY_US)
QUIET = "--no-evaluate --log-every 0 "
# The replicas are compared after each step: the program's own check for a wait that is missing.
SMALL = "--device cuda:all --steps 2 --accumulate 2 --log-every 0 --check-replicas 1 "
SPLIT = "run split --device cuda:0,cuda:1 --batch 8 --micro-batches 4 --layers 3 --steps 2 " + QUIET


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    arguments: str
    saves: bool = True  # a checkpoint; else it prints results that it has checked
    unseen: tuple = ()  # removed waits that no result can show, each with its reason at the workload


WORKLOADS = (
    Workload("mnist", "run mnist --no-evaluate --batch 2 " + SMALL),
    Workload("cifar10", "run cifar10 --no-evaluate --batch 2 " + SMALL),
    Workload("cifar10 without overlap", "run cifar10 --no-evaluate --no-overlap --batch 2 " + SMALL),
    Workload("cifar10 with graphs", "run cifar10 --no-evaluate --cuda-graphs --batch 2 " + SMALL),
    # A copy waits until its input was used. Here all inputs of a step stay until its end, for which the host has waited before.
    Workload("gan", "run gan --batch 1 " + SMALL, unseen=("14<13", "18<17")),
    Workload("gpt", "run gpt --no-evaluate --batch 1 " + SMALL),
    Workload("split gpipe", SPLIT),
    Workload("split 1f1b", SPLIT + "--schedule 1f1b"),
    Workload("split tensor", SPLIT + "--tensor"),
    Workload("allreduce", "run allreduce --device cuda:0,cuda:1 --max-bytes 4K --iterations 2 --warmup 1 --check", saves=False),
    Workload("matpow", "run matpow --device cuda:0,cuda:1 --size 32 --power 3 --repeat 1", saves=False),
)
QUICK = ("mnist",)


class Result:
    """What a run computed, or that it computed nothing."""

    def __init__(self, doubles, workload, name, knobs):
        folder = doubles.folder(f"{workload.name} {name}")
        arguments = workload.arguments.split() + ["--json"] + (["--checkpoint", CHECKPOINT] if workload.saves else [])
        self.waits_file = os.path.join(folder, "waits")
        done = doubles.run(arguments, folder, {**GPUS, **knobs, "DOUBLE_CUDA_WAITS": self.waits_file})
        self.status, self.said = done.returncode, done.stderr
        self.values = self.results_in(done.stdout, os.path.join(folder, CHECKPOINT)) if done.returncode == 0 else None

    @staticmethod
    def results_in(output, checkpoint):
        summary = json.loads(output)
        saved = b""
        if os.path.exists(checkpoint):
            with open(checkpoint, "rb") as file:
                saved = file.read()
        return (saved, summary.get("loss"), [size["wrong"] for size in summary.get("sizes", [])])

    def waits(self):
        """The kinds of wait of this run, as DOUBLE_CUDA_SKIPPED_WAITS spells them."""
        if not os.path.exists(self.waits_file):
            return []
        with open(self.waits_file, encoding="ascii") as file:
            return sorted(set(file.read().split()))


def streams_of(waits):
    return sorted({stream for wait in waits for stream in wait.split("<") if stream != "host"})


def shows_without(doubles, workload, wait, plain, delays_us):
    """Whether other results than the plain run's come without the wait, under one of the delays. The stream that is waited for
    is late, so that who does not wait comes first."""
    awaited = wait.split("<")[1]
    for delay_us in delays_us:
        knobs = {"DOUBLE_CUDA_SKIPPED_WAITS": wait, "DOUBLE_CUDA_DELAYS": f"{awaited}:{delay_us}"}
        if Result(doubles, workload, wait, knobs).values != plain.values:
            return True
    return False


def try_workload(doubles, workload):
    """The workload's row of the table, and what is wrong."""
    plain = Result(doubles, workload, "plain", {})
    if plain.values is None:
        return (workload.name, "-", "-", "-", "FAILED"), [f"exit status {plain.status}: {plain.said}"]
    waits, faults = plain.waits(), []

    delays = [{"DOUBLE_CUDA_JITTER_US": JITTER_US}]
    delays += [{"DOUBLE_CUDA_DELAYS": f"{stream}:{DELAY_US}"} for stream in streams_of(waits)]
    changed = 0
    for delay in delays:
        late = Result(doubles, workload, "late", delay)
        if late.values != plain.values:
            changed += 1
            faults.append(f"{delay}: exit status {late.status}, other results {late.said}")

    found = {"stream": [0, 0], "host": [0, 0]}
    for wait in waits:
        kind = "host" if wait.startswith("host<") else "stream"
        has_to_show = kind == "stream" and wait not in workload.unseen
        shows = shows_without(doubles, workload, wait, plain, DELAYS_US if has_to_show else DELAYS_US[:1])
        found[kind][0] += shows
        found[kind][1] += 1
        if has_to_show and not shows:
            faults.append(f"without {wait} nothing shows")

    row = (workload.name, f"{len(delays) - changed} of {len(delays)}", "{} of {}".format(*found["stream"]),
           "{} of {}".format(*found["host"]), "FAILED" if faults else "ok")
    return row, faults


def main():
    options = over_doubles.arguments_of(__doc__.split("\n", maxsplit=1)[0])
    doubles = over_doubles.Doubles(options.tree, options.work)
    names = options.names or (QUICK if options.quick else [""])
    workloads = [workload for workload in WORKLOADS if any(name in workload.name for name in names)]

    rows, all_faults = [], []
    for workload in workloads:
        row, faults = try_workload(doubles, workload)
        rows.append(row)
        all_faults += [f"{workload.name}: {text}" for text in faults]

    over_doubles.print_table(("workload", "same under a delay", "removed waits of streams found", "of the host", "result"), rows)
    print(*all_faults, f"{sum(row[-1] == 'ok' for row in rows)} of {len(rows)} workloads as they should be", sep="\n")
    return 1 if all_faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
