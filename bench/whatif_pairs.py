#!/usr/bin/env python3
"""How far is what `stepscope whatif` predicts from what the change really gives? Synthetic runs know both.

    python3 bench/whatif_pairs.py [--build build/release] [--steps 20] [--only TEXT] [--workloads ROUNDS]

Makes a synthetic run with each fault and asks for the change that undoes it. Compares the answer with the step that the same job has without the fault (truth.json: step_ns_without). Prints a line a pair: fidelity of the unchanged replay, error of the prediction. With --workloads it trains cifar10 on two host devices, in turn without
and with each pathology, and compares medians of ROUNDS pairs. Build the target stepscope first.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

# Pattern, ranks, fault, the change that undoes it. {rank}: of the fault.
PAIRS = [
    ("dp", 4, "input", "input=0"),
    ("dp", 4, "host-bound", "launch=0"),
    ("dp", 4, "sync", "sync=off"),
    ("dp", 4, "allocation", "alloc=0"),
    ("dp", 4, "late-rank", "straggler={rank}"),
    ("dp", 4, "straggler", "straggler={rank}"),
    ("dp", 2, "straggler", "straggler={rank}"),
    ("dp", 4, "straggler", "straggler=median"),
    ("dp", 4, "imbalance", "imbalance=mean"),
    ("dp", 4, "small-buckets", "bucket=30MB"),
    ("dp", 4, "no-overlap", "overlap"),
    ("dp", 4, "no-overlap=2", "overlap"),
    ("dp", 4, "slow-link", "comm:bandwidth=*5"),
    ("dp", 8, "slow-link", "comm:bandwidth=*5"),
    ("dp", 4, "pageable-copies", "copies=0"),
    ("dp", 4, "serialized-copies", "copies=0"),
    ("dp", 4, "tensor-cores", "kernel:gemm|conv=/2"),
    ("dp", 4, "outliers", "host:save checkpoint=0"),
    ("pipeline", 4, "input", "input=0"),
    ("pipeline", 4, "host-bound", "launch=0"),
    ("pipeline", 4, "sync", "sync=off"),
    ("pipeline", 4, "allocation", "alloc=0"),
    ("pipeline", 4, "late-rank", "straggler={rank}"),
    ("pipeline", 4, "straggler", "straggler={rank}"),
    ("pipeline", 4, "tensor-cores", "kernel:gemm|conv=/2"),
    ("moe", 4, "input", "input=0"),
    ("moe", 4, "host-bound", "launch=0"),
    ("moe", 4, "sync", "sync=off"),
    ("moe", 4, "allocation", "alloc=0"),
    ("moe", 4, "late-rank", "straggler={rank}"),
    ("moe", 4, "straggler", "straggler={rank}"),
    ("moe", 4, "imbalance", "imbalance=mean"),
    ("moe", 4, "slow-link", "comm:bandwidth=*5"),
    ("moe", 4, "tensor-cores", "kernel:gemm|conv=/2"),
]

# Options of a pipeline, those of the pipeline that the change makes of it, the change, and options of a second run.
SHAPES = [
    ("--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 16", "micro-batches=16:same-size", None),
    ("--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 32", "micro-batches=32:same-size", None),
    ("--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 4", "micro-batches=4:same-size", None),
    ("--ranks 2 --micro-batches 4", "--ranks 2 --micro-batches 12", "micro-batches=12:same-size", None),
    ("--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 16 --micro-batch-percent 50", "micro-batches=16",
     "--ranks 4 --micro-batches 4 --micro-batch-percent 200"),
    ("--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 4 --micro-batch-percent 200", "micro-batches=4",
     "--ranks 4 --micro-batches 16 --micro-batch-percent 50"),
    ("--ranks 4 --stage-layers 3,3,3,7", "--ranks 4 --stage-layers 4,4,4,4", "stages=balanced", None),
    ("--ranks 4 --stage-layers 5,4,4,3", "--ranks 4 --stage-layers 4,4,4,4", "stages=balanced", None),
    ("--ranks 2 --stage-layers 6,2", "--ranks 2 --stage-layers 4,4", "stages=balanced", None),
]

# Pathology of cifar10, the change that undoes it.
PATHOLOGIES = [
    ("slow-input=40", "input=0"),
    ("straggler=1", "straggler=1"),
    ("late-rank=1", "straggler=1"),
    ("no-overlap", "overlap"),
    ("alloc-every-step", "alloc=0"),
    ("small-buckets", "bucket=256KiB"),
]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def predict(stepscope, made, change):
    return json.loads(run(stepscope, "whatif", made, "--change", change, "--only-changes", "--json"))


def compare_shapes(stepscope, folder, steps, only):
    errors = []
    print(f"{'pipeline':38} {'change':28} {'fidelity':>9} {'now ms':>8} {'then':>9} {'predicted':>9} {'error':>8}")

    def make(options):
        made = os.path.join(folder, "shape" + options.replace(" ", "").replace("--", "-"))
        if not os.path.exists(made):
            run(stepscope, "synth", "--pattern", "pipeline", "--fault", "none", "--steps", steps, "-o", made, *options.split())
        return made

    for before, after, change, probe in SHAPES:
        if only not in f"{before} {change}":
            continue
        more = ["--probe", make(probe)] if probe else []
        stats = json.loads(run(stepscope, "whatif", make(before), "--change", change, "--only-changes", "--json", *more))
        then = predict(stepscope, make(after), "class:compute=*1")["baseline"]["step_ns"]
        baseline, answer = stats["baseline"], stats["answers"][0]
        line = f"{before:38} {change:28} {baseline['error'] * 100:8.3f} % {baseline['step_ns'] / 1e6:8.3f} {then / 1e6:9.3f}"
        if answer["refused"]:
            print(f"{line}   refused: {answer['reason'][:100]}")
            continue
        error = answer["step_ns"] / then - 1
        errors.append(abs(error))
        print(f"{line} {answer['step_ns'] / 1e6:9.3f} {error * 100:6.2f} %")
    return errors


def compare_workloads(stepscope, folder, rounds, only, device):
    errors = []
    print(f"{'pathology':20} {'change':16} {'fidelity':>9} {'with ms':>9} {'without':>9} {'predicted':>9} {'error':>8}")
    for pathology, change in PATHOLOGIES:
        if only not in f"{pathology} {change}":
            continue
        found = {"with": [], "without": [], "predicted": [], "fidelity": []}
        for number in range(rounds):
            for part, options in (("without", []), ("with", ["--pathology", pathology])):
                made = os.path.join(folder, f"{pathology}-{part}-{number}")
                run(stepscope, "profile", "cifar10", "--device", device, "--steps", "16", "--no-evaluate", "-o", made, *options)
                stats = predict(stepscope, made, change if part == "with" else "class:compute=*1")
                found[part].append(stats["baseline"]["step_ns"])
                if part == "with":
                    found["fidelity"].append(stats["baseline"]["error"])
                    found["predicted"].append(stats["answers"][0]["step_ns"])
        median = {part: statistics.median(values) for part, values in found.items()}
        error = median["predicted"] / median["without"] - 1
        errors.append(abs(error))
        print(f"{pathology:20} {change:16} {median['fidelity'] * 100:8.2f} % {median['with'] / 1e6:8.1f} {median['without'] / 1e6:9.1f}"
              f" {median['predicted'] / 1e6:9.1f} {error * 100:6.1f} %", flush=True)
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--steps", default="20")
    parser.add_argument("--only", default="", help="only pairs whose line has this text")
    parser.add_argument("--workloads", type=int, default=0, metavar="ROUNDS")
    parser.add_argument("--device", default="host:2", help="of the workloads; cuda:0,cuda:0 are two logical devices on one GPU")
    options = parser.parse_args()
    stepscope = os.path.join(os.path.abspath(options.build), "bin/stepscope")

    if options.workloads > 0:
        with tempfile.TemporaryDirectory() as folder:
            print_errors(compare_workloads(stepscope, folder, options.workloads, options.only, options.device))
        return

    errors = []
    print(f"{'pair':38} {'change':22} {'fidelity':>9} {'with ms':>9} {'without':>9} {'predicted':>9} {'error':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for pattern, ranks, fault, change in PAIRS:
            name = f"{pattern} {ranks} {fault}"
            if options.only not in f"{name} {change}":
                continue
            made = os.path.join(folder, name.replace(" ", "-").replace("=", "-"))
            if not os.path.exists(made):
                run(stepscope, "synth", "--pattern", pattern, "--ranks", str(ranks), "--steps", options.steps, "--fault", fault, "-o", made)
            with open(os.path.join(made, "truth.json")) as file:
                truth = json.load(file)["fault"]
            change = change.format(rank=truth["rank"])

            stats = predict(stepscope, made, change)
            baseline, answer = stats["baseline"], stats["answers"][0]
            line = f"{name:38} {change:22} {baseline['error'] * 100:8.3f} % {truth['step_ns'] / 1e6:8.3f} {truth['step_ns_without'] / 1e6:9.3f}"
            if answer["refused"]:
                print(f"{line}   refused: {answer['reason'][:100]}")
                continue
            error = answer["step_ns"] / truth["step_ns_without"] - 1
            errors.append(abs(error))
            print(f"{line} {answer['step_ns'] / 1e6:9.3f} {error * 100:6.2f} %")

        print_errors(errors)
        print_errors(compare_shapes(stepscope, folder, options.steps, options.only))


def print_errors(errors):
    if errors:
        print(f"{len(errors)} predicted: median error {statistics.median(errors) * 100:.2f} %, worst {max(errors) * 100:.2f} %")


if __name__ == "__main__":
    main()
