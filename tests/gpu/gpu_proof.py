#!/usr/bin/env python3
"""Everything about the CUDA capture that only a GPU can show, in one call: whether the machine is ready, the selftest with every mode of
the CUDA program, how many kernels a second are recorded without loss, and PyTorch against torch.profiler. Needs the programs (a build or the bundle)
and Python; PyTorch where it is to be compared with. Without a GPU everything is skipped.

usage: gpu_proof.py [--stepscope PROGRAM] [--out FOLDER] [--stage NAME]… [--limit-s SECONDS]

FOLDER/summary.json has every number, FOLDER/recordings a few small traces. One line a stage; the last line is "N passed, N failed,
N skipped". Exit status 1 when one failed, 77 when all were skipped.
"""
import argparse
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import processes  # noqa: E402
import pytorch_pairs  # noqa: E402

SKIPPED = 77
# A recording beyond that is not kept: what it showed is in the summary.
MAX_KEPT_BYTES = 8 << 20
TARGETS = {"kernels_per_second": 1e6, "share_of_torch_profiler": 0.5}


class Skip(Exception):
    """The stage needs what this machine lacks."""


class Machine:
    """The programs, and where results go."""

    def __init__(self, stepscope, out):
        self.stepscope = stepscope
        self.probe = os.path.join(os.path.dirname(stepscope), "..", "libexec", "stepscope", "stepscope-cuda-probe")
        self.recordings = os.path.join(out, "recordings")
        os.makedirs(self.recordings, exist_ok=True)

    def doctor(self):
        result = processes.run([self.stepscope, "doctor", "--json"], keep_stderr=False)
        try:
            return json.loads(result.output)
        except json.JSONDecodeError:
            raise processes.Failure(f"doctor ended with {result.code}: {result.output[-800:]}") from None

    def why_no_gpu(self):
        for check in self.doctor()["checks"]:
            if check["name"] == "gpu" and check["found"].startswith("none"):
                return check["found"]
        return ""


# Stages: each returns its numbers, raises Skip with the reason or processes.Failure with what went wrong.

def stage_doctor(machine):
    report = machine.doctor()
    bad = [f"{check['name']}: {check['found']}" for check in report["checks"] if check["verdict"] == "FAIL"]
    if bad:
        raise processes.Failure("; ".join(bad))
    return report


def stage_selftest(machine):
    kept = os.path.join(machine.recordings, "selftest")
    result = processes.run([machine.stepscope, "selftest", "--device", "cuda", "--json", "--keep", kept], limit_s=500, keep_stderr=False)
    try:
        report = json.loads(result.output)
    except json.JSONDecodeError:
        raise processes.Failure(f"selftest ended with {result.code}: {result.output[-800:]}") from None
    bad = [f"{check['name']}: {check['found']}" for check in report["checks"] if check["verdict"] == "FAIL"]
    if bad or result.code != 0:
        raise processes.Failure(f"exit status {result.code}; " + "; ".join(bad))
    if report["passed"] == 0:
        raise Skip("; ".join(check["found"] for check in report["checks"]))
    return report


def stage_rate(machine):
    """Kernels a second from eight threads, all of them in the trace."""
    launches, threads = 4_000_000, 8
    run = os.path.join(machine.recordings, "rate")
    command = [machine.probe, "empty", "--launches", str(launches), "--threads", str(threads)]
    alone = json.loads(processes.run_well(command, keep_stderr=False).output.splitlines()[-1])
    recorded = json.loads(processes.run_well([machine.stepscope, "record", "--force", "-o", run, "--", *command],
                                             keep_stderr=False).output.splitlines()[-1])
    info = json.loads(processes.run_well([machine.stepscope, "info", "--json", run], keep_stderr=False).output)
    kernels = sum(row["count"] for row in json.loads(
        processes.run_well([machine.stepscope, "analyze", "--json", run], keep_stderr=False).output)["kernels"])
    dropped = sum(process["dropped"] for process in info)
    numbers = {"asked": recorded["kernels"], "found": kernels, "dropped": dropped, "target": TARGETS["kernels_per_second"],
               "kernels_per_second": recorded["launches_per_second"], "kernels_per_second_alone": alone["launches_per_second"],
               "ns_per_launch": recorded["ns_per_launch"], "ns_per_launch_alone": alone["ns_per_launch"]}
    if kernels != recorded["kernels"] or dropped > 0:
        raise processes.Failure(json.dumps(numbers))
    return numbers


def pytorch_counts(model, mode):
    def stage(machine):
        if reason := pytorch_pairs.why_not():
            raise Skip(reason)
        wrong, numbers = pytorch_pairs.compare_counts(machine.stepscope, model, mode, machine.recordings)
        if wrong:
            raise processes.Failure(f"{len(wrong)} differences: " + "; ".join(wrong[:20]) + f"; {json.dumps(numbers)}")
        return numbers
    return stage


def pytorch_overhead(model, mode):
    def stage(machine):
        if reason := pytorch_pairs.why_not():
            raise Skip(reason)
        numbers = pytorch_pairs.measure_overhead(machine.stepscope, model, mode, machine.recordings)
        numbers["target"] = f"(recorded - 1) <= {TARGETS['share_of_torch_profiler']} x (torch_profiler - 1)"
        return numbers  # a measurement, never a failure: it depends on what else the machine does
    return stage


STAGES = {"doctor": stage_doctor, "selftest": stage_selftest, "rate": stage_rate,
          **{f"pytorch-{model}-{mode}": pytorch_counts(model, mode) for model in ("cnn", "gpt") for mode in ("eager", "graph")},
          **{f"overhead-{model}-{mode}": pytorch_overhead(model, mode) for model, mode in (("cnn", "eager"), ("gpt", "graph"))}}


def run_stage(name, machine, why_not):
    begin = time.monotonic()
    entry = {"stage": name, "status": "passed"}
    try:
        if why_not:
            raise Skip(why_not)
        entry["numbers"] = STAGES[name](machine)
    except Skip as reason:
        entry.update(status="skipped", reason=str(reason))
    except Exception as error:  # pylint: disable=broad-except: the other stages must still run
        entry.update(status="failed", reason=f"{type(error).__name__}: {error}")
    entry["seconds"] = round(time.monotonic() - begin, 1)
    return entry


def drop_large_recordings(folder):
    """Keeps the traces that are small; what a large one showed is in the summary."""
    for top, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(top, name)
            if os.path.getsize(path) > MAX_KEPT_BYTES:
                os.remove(path)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not any(files for _, _, files in os.walk(path)):
            shutil.rmtree(path)


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepscope", default=os.path.join(here, "..", "..", "bin", "stepscope"))
    parser.add_argument("--out", default="gpu-proof")
    parser.add_argument("--stage", action="append", choices=list(STAGES))
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="no stage begins later: the machine is lent for a while")
    options = parser.parse_args(arguments)
    machine = Machine(os.path.abspath(options.stepscope), os.path.abspath(options.out))
    why_no_gpu = machine.why_no_gpu()
    entries = []
    begin = time.monotonic()
    for name in options.stage or STAGES:
        late = "no time left" if time.monotonic() - begin > options.limit_s else ""
        entry = run_stage(name, machine, why_no_gpu or late)
        entries.append(entry)
        print(f"{entry['status']:8} {name:24} {entry['seconds']:6.1f} s  {entry.get('reason', '')[:2000]}", flush=True)
        # After every stage: a machine that goes away leaves what was found so far.
        with open(os.path.join(options.out, "summary.json"), "w", encoding="utf-8") as file:
            json.dump(entries, file, indent=1)
    drop_large_recordings(machine.recordings)
    count = {status: sum(entry["status"] == status for entry in entries) for status in ("passed", "failed", "skipped")}
    print(", ".join(f"{number} {status}" for status, number in count.items()))
    if count["failed"]:
        return 1
    return 0 if count["passed"] else SKIPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
