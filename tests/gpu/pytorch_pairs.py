"""PyTorch under `stepscope record` against torch.profiler, each in a process of its own: torch.profiler gets nothing in a process that
another tool traces. The same counts, by kernel name; and what each costs."""
import collections
import json
import os
import shutil
import statistics
import sys

import processes

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(FOLDER, "pytorch_training.py")
NCCL_PROGRAM = os.path.join(FOLDER, "pytorch_nccl.py")
PROFILE_CATEGORIES = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}


def why_not():
    """Why PyTorch cannot run on a GPU here; empty when it can."""
    found = processes.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available(), 'torch finds no GPU'"], limit_s=120)
    return "" if found.code == 0 else found.output.strip().splitlines()[-1]


def counts_of_profile(path):
    """{'kernel': Counter by name, 'memcpy': number, 'memset': number} of a Chrome trace of torch.profiler."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    counts = {"kernel": collections.Counter(), "memcpy": 0, "memset": 0}
    for event in events:
        kind = PROFILE_CATEGORIES.get(event.get("cat"))
        if kind == "kernel":
            counts["kernel"][event["name"]] += 1
        elif kind:
            counts[kind] += 1
    return counts


def counts_of_analysis(analysis):
    """The same of what `stepscope analyze --json` says."""
    counts = {"kernel": collections.Counter(), "memcpy": 0, "memset": 0}
    for row in analysis["kernels"]:
        if row["kind"] in ("kernel", "collective"):
            counts["kernel"][row["name"]] += row["count"]
        elif row["kind"] in counts:
            counts[row["kind"]] += row["count"]
    return counts


def differences(ours, theirs):
    """Two lists of sentences: what the recording lacks, and what it has beyond the profile, which is known to lose kernels at its
    begin. Both are empty when both counted the same."""
    pairs = [(kind, ours[kind], theirs[kind]) for kind in ("memcpy", "memset")]
    pairs += [(name[:120], ours["kernel"][name], theirs["kernel"][name]) for name in sorted(set(ours["kernel"]) | set(theirs["kernel"]))]
    missing, more = [], []
    for name, our_count, their_count in pairs:
        if our_count != their_count:
            sentence = f"{name}: {our_count} recorded, {their_count} by torch.profiler"
            (missing if our_count < their_count else more).append(sentence)
    return missing, more


def compare_counts(stepscope, model, mode, folder):
    """One training under each; (what the recording lacks, numbers)."""
    profile = os.path.join(folder, f"{model}-{mode}-torch.json")
    run = os.path.join(folder, f"{model}-{mode}")
    processes.run_well([sys.executable, PROGRAM, model, mode, "--profile", profile])
    processes.run_well([stepscope, "record", "--force", "-o", run, "--", sys.executable, PROGRAM, model, mode])
    analysis = json.loads(processes.run_well([stepscope, "analyze", "--json", run], keep_stderr=False).output)
    ours, theirs = counts_of_analysis(analysis), counts_of_profile(profile)
    os.remove(profile)
    numbers = {"kernels": sum(ours["kernel"].values()), "kernel_names": len(ours["kernel"]), "memcpy": ours["memcpy"],
               "memset": ours["memset"], "torch_kernels": sum(theirs["kernel"].values()), "torch_memcpy": theirs["memcpy"],
               "torch_memset": theirs["memset"], "quality": analysis.get("quality")}
    missing, more = differences(ours, theirs)
    numbers["more_than_torch_profiler"] = more[:20]
    return missing, numbers


def record_window(stepscope, folder, steps=3, rounds=2, blocks=5):
    """Records a part of a training; returns (what is wrong with it, numbers). Each step of the part must have the same number of kernels.
    The numbers compare the steps behind it with those of a training that is not recorded."""
    plain = [sys.executable, PROGRAM, "cnn", "eager", "--blocks", str(blocks), "--window", str(steps)]
    run = os.path.join(folder, "window")
    record = [stepscope, "record", "--force", "--range", "window", "-o", run, "--"]
    times = {"alone": [], "behind_window": []}
    for _ in range(rounds):
        times["alone"].append(step_ms(processes.run_well(plain, keep_stderr=False).output))
        times["behind_window"].append(step_ms(processes.run_well([*record, *plain], keep_stderr=False).output))
    analysis = json.loads(processes.run_well([stepscope, "analyze", "--json", run], keep_stderr=False).output)
    kernels = sum(counts_of_analysis(analysis)["kernel"].values())
    numbers = {"steps": steps, "kernels": kernels, "step_ms": times, "quality": analysis.get("quality"),
               "behind_window": statistics.median(times["behind_window"]) / statistics.median(times["alone"])}
    is_right = kernels > 0 and kernels % steps == 0
    return [] if is_right else [f"{kernels} kernels in {steps} steps that are alike"], numbers


def use_nccl(stepscope, folder):
    """(what is wrong, numbers): NCCL takes our plugin, its results are right, and the GPU's counters were read."""
    run = os.path.join(folder, "nccl")
    command = [stepscope, "record", "--force", "-o", run, "--", sys.executable, NCCL_PROGRAM]
    said = json.loads(processes.run_well(command, keep_stderr=False).output.strip().splitlines()[-1])
    processes_of_run = json.loads(processes.run_well([stepscope, "info", "--json", run], keep_stderr=False).output)
    facts = dict(fact for process in processes_of_run for fact in process["facts"])
    samples = {track["name"]: track["events"] for process in processes_of_run for track in process["tracks"] if track["kind"] == "counter"}
    wrong = [] if said["is_right"] else ["the sum of the all-reduces is wrong"]
    wrong += [f"no fact {name}" for name in ("nccl profiler", "GPU counters") if name not in facts]
    if not sum(samples.values()):
        wrong.append("no sample of a GPU's counters")
    return wrong, {**said, "facts": facts, "samples": samples}


def step_ms(output):
    return json.loads(output.strip().splitlines()[-1])["step_ms"]


def measure_overhead(stepscope, model, mode, folder, rounds=3, blocks=9):
    """Step times alone, recorded and under torch.profiler, in turns; ratios of each round and their medians."""
    plain = [sys.executable, PROGRAM, model, mode, "--blocks", str(blocks)]
    run, profile = os.path.join(folder, "overhead"), os.path.join(folder, "overhead.json")
    commands = {"alone": plain, "recorded": [stepscope, "record", "--force", "-o", run, "--", *plain],
                "torch_profiler": [*plain, "--profile", profile]}
    times = {name: [] for name in commands}
    for turn in range(rounds):
        names = list(commands)
        for name in names[turn % 3:] + names[:turn % 3]:  # another is first in every round
            times[name].append(step_ms(processes.run_well(commands[name], keep_stderr=False).output))
    shutil.rmtree(run, ignore_errors=True)
    if os.path.exists(profile):
        os.remove(profile)
    ratios = {name: [x / alone for x, alone in zip(times[name], times["alone"])] for name in ("recorded", "torch_profiler")}
    return {"step_ms": times, "ratios": ratios, "recorded": statistics.median(ratios["recorded"]),
            "torch_profiler": statistics.median(ratios["torch_profiler"])}
