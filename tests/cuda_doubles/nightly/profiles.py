#!/usr/bin/env python3
"""Profiles each bundled workload over the doubles: on one GPU, on two, on two logical devices of one, and with CUDA graphs.

Every record that CUPTI handed over has to be a row, doctor has to trust the whole trace, and `stepscope profile` has to leave its
report. Prints a table; exit status 1 where a profile is not as it should be.

usage: profiles.py --tree build/release/cuda_doubles --work FOLDER [--quick] [NAME…]     all, those named, or each workload once
"""
import os
import sys

sys.dont_write_bytecode = True
import over_doubles
import versions_and_faults as recorded

QUIET = "--no-evaluate --log-every 0"
WORKLOADS = {
    "mnist": f"--batch 2 --steps 3 {QUIET}",
    "cifar10": f"--batch 2 --steps 3 {QUIET}",
    "gan": "--batch 1 --steps 3 --log-every 0",
    "gpt": f"--layers 1 --width 32 --heads 2 --context 16 --batch 2 --steps 3 {QUIET}",
    "split": f"--batch 4 --micro-batches 2 --layers 3 --steps 3 {QUIET}",
    "allreduce": "--max-bytes 4K --iterations 2 --warmup 1 --check",
    "matpow": "--size 32 --power 3 --repeat 2",
}
DEVICES = ("cuda", "cuda:0,cuda:0", "cuda:all")
TRAININGS = ("mnist", "cifar10", "gan", "gpt")  # these can be graphs
SEVERAL = ("split", "allreduce", "matpow")      # these need more than one device
GPUS = {"DOUBLE_CUDA_DEVICES": 2}


def all_cases():
    """(workload, devices, more options)"""
    for workload in WORKLOADS:
        for devices in DEVICES:
            if devices != "cuda" or workload not in SEVERAL:
                yield workload, devices, ""
    for workload in TRAININGS:
        yield workload, "cuda:all", "--cuda-graphs"


def quick_cases():
    """Each workload once, each way at least once."""
    chosen = ("cuda", "cuda:all", "cuda:all --cuda-graphs", "cuda:0,cuda:0", "cuda:all", "cuda:0,cuda:0", "cuda:all")
    return [(workload, *way.partition(" ")[::2]) for workload, way in zip(WORKLOADS, chosen)]


def try_case(doubles, workload, devices, more):
    """The profile's row of the table, and what is wrong."""
    name = f"{workload} {devices} {more}".strip()
    folder = doubles.folder(name.replace(":", "").replace(",", "_"))
    handed_folder = os.path.join(folder, "handed")
    os.mkdir(handed_folder)
    arguments = f"profile {workload} {WORKLOADS[workload]} --device {devices} {more} -o run".split()
    done = doubles.run(arguments, folder, {**GPUS, "DOUBLE_CUPTI_LEDGER": handed_folder})
    if done.returncode != 0:
        return (name, "-", "FAILED"), [f"exit status {done.returncode}: {done.stdout[-200:]}{done.stderr[-400:]}"]

    handed, trace = recorded.Handed(handed_folder), recorded.Trace(doubles, os.path.join(folder, "run"))
    faults = recorded.compare_rows(trace, handed)
    if trace.doctor["trust"]["score"] != 100:
        faults.append(f"trust is {trace.doctor['trust']['score']}: {trace.doubts()} {trace.reasons()}")
    for file in ("report.html", "analysis.json"):
        if not os.path.exists(os.path.join(folder, "run", file)):
            faults.append(f"leaves no {file}")
    return (name, handed["kernels"], "FAILED" if faults else "ok"), faults


def main():
    options = over_doubles.arguments_of(__doc__.split("\n", maxsplit=1)[0])
    doubles = over_doubles.Doubles(options.tree, options.work)
    cases = quick_cases() if options.quick else list(all_cases())
    if options.names:
        cases = [case for case in cases if any(name in " ".join(case) for name in options.names)]

    rows, all_faults = [], []
    for case in cases:
        row, faults = try_case(doubles, *case)
        rows.append(row)
        all_faults += [f"{row[0]}: {text}" for text in faults]

    over_doubles.print_table(("profile", "kernels", "result"), rows)
    print(*all_faults, f"{sum(row[-1] == 'ok' for row in rows)} of {len(rows)} profiles as they should be", sep="\n")
    return 1 if all_faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
