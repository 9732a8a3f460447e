#!/usr/bin/env python3
"""Everything about the CUDA capture that only a GPU can show, in one call.

It shows whether the machine is ready, the selftest with every mode of the CUDA program, and how many kernels a second are recorded without
loss. It compares the CUDA backend of the workloads with the host backend: with CUDA graphs, in several processes and next to PyTorch eager.
It compares recordings of PyTorch with torch.profiler. It needs the programs (a build or the bundle) and Python, and PyTorch for the
comparisons with it. Without a GPU everything is skipped.

usage: gpu_proof.py [--stepscope PROGRAM] [--out FOLDER] [--stage NAME]… [--limit-s SECONDS]

FOLDER/summary.json has every number and what each recording says of itself, FOLDER/recordings.tar.gz the recordings (12 MB at most, the
largest are left out). Both are written when the limit is reached or SIGTERM comes, too. One line a stage; the last line is "N passed,
N failed, N skipped". Exit status 1 when one failed, 77 when all were skipped.
"""
import argparse
import contextlib
import json
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import processes  # noqa: E402
import pytorch_pairs  # noqa: E402
import results  # noqa: E402
import workload_runs  # noqa: E402

SKIPPED = 77
CUPTI_VARIABLE = "STEPSCOPE_CUPTI"
TARGETS = {"kernels_per_second": 1e6, "share_of_torch_profiler": 0.5}


class Skip(Exception):
    """The stage needs what this machine lacks."""


class TimeIsUp(BaseException):
    """The limit is reached, or a signal asks this script to end: no error of a stage."""


class Machine:
    """The programs, and the folder in which the present stage records."""

    def __init__(self, stepscope):
        self.stepscope = stepscope
        self.probe = os.path.join(os.path.dirname(stepscope), "..", "libexec", "stepscope", "stepscope-cuda-probe")
        self.recordings = ""

    def doctor(self):
        result = processes.run([self.stepscope, "doctor", "--json"], keep_stderr=False)
        try:
            return json.loads(result.output)
        except json.JSONDecodeError:
            raise processes.Failure(f"doctor ended with {result.code}: {result.output[-800:]}") from None

    def describe(self):
        """(why nothing can run on a GPU here, empty when it can; the CUPTI of a Python package, empty unless plain CUDA programs find no
        other). A doctor that fails is a stage's failure, not the end."""
        try:
            checks = self.doctor()["checks"]
        except (processes.Failure, KeyError):
            return "", ""
        why_not = [check["found"] for check in checks if check["name"] == "gpu" and check["found"].startswith("none")]
        named = [re.search(CUPTI_VARIABLE + r"=(\S+)", check["fix"]) for check in checks if check["name"] == "CUPTI"]
        return "".join(why_not[:1]), "".join(match.group(1) for match in named[:1] if match)

    def words_of_recordings(self):
        """What each recording of this stage says of itself: facts, notes, losses."""
        words = {}
        for folder, _, files in os.walk(self.recordings):
            if not any(name.endswith(".stepscope") for name in files):
                continue
            result = processes.run([self.stepscope, "info", "--json", folder], keep_stderr=False)
            with contextlib.suppress(json.JSONDecodeError):
                words[os.path.relpath(folder, self.recordings)] = [
                    {key: process[key] for key in ("facts", "notes", "dropped", "truncated", "events") if key in process}
                    for process in json.loads(result.output)]
        return words


# Stages: each returns its numbers, raises Skip with the reason or processes.Failure with what went wrong.

def stage_doctor(machine):
    report = machine.doctor()
    bad = [f"{check['name']}: {check['found']}" for check in report["checks"] if check["verdict"] == "FAIL"]
    if bad:
        raise processes.Failure("; ".join(bad))
    return report


def stage_selftest(machine):
    result = processes.run([machine.stepscope, "selftest", "--device", "cuda", "--json", "--keep", machine.recordings], limit_s=500,
                           keep_stderr=False)
    try:
        report = json.loads(result.output)
    except json.JSONDecodeError:
        raise processes.Failure(f"selftest ended with {result.code}: {result.output[-800:]}") from None
    bad = [f"{check['name']}: {check['found']}" for check in report["checks"] if check["verdict"] == "FAIL"]
    if bad or result.code != 0:
        raise processes.Failure(f"exit status {result.code}; " + "; ".join(bad), report)
    if report["passed"] == 0:
        raise Skip("; ".join(check["found"] for check in report["checks"]))
    return report


def rate_of(machine, mode):
    """Kernels a second of the CUDA program in this mode, alone and recorded; all that it asked for must be in the trace."""
    run = os.path.join(machine.recordings, mode)
    command = [machine.probe, mode, "--launches", "4000000", "--threads", "8"]
    alone = json.loads(processes.run_well(command, keep_stderr=False).output.splitlines()[-1])
    recorded = json.loads(processes.run_well([machine.stepscope, "record", "--force", "-o", run, "--", *command],
                                             keep_stderr=False).output.splitlines()[-1])
    info = json.loads(processes.run_well([machine.stepscope, "info", "--json", run], keep_stderr=False).output)
    kernels = sum(row["count"] for row in json.loads(
        processes.run_well([machine.stepscope, "analyze", "--json", run], keep_stderr=False).output)["kernels"])
    return {"asked": recorded["kernels"], "found": kernels, "dropped": sum(process["dropped"] for process in info),
            "target": TARGETS["kernels_per_second"], "kernels_per_second": recorded["kernels_per_second"],
            "kernels_per_second_alone": alone["kernels_per_second"], "ns_per_launch": recorded["ns_per_launch"],
            "ns_per_launch_alone": alone["ns_per_launch"]}


def stage_rate(machine):
    """From eight threads that launch one by one, which the driver limits, and from graphs on eight streams: all in the trace."""
    numbers = {mode: rate_of(machine, mode) for mode in ("empty", "rate")}
    wrong = [f"{mode}: {found['found']} of {found['asked']} kernels, {found['dropped']} dropped"
             for mode, found in numbers.items() if found["found"] != found["asked"] or found["dropped"] > 0]
    if wrong:
        raise processes.Failure("; ".join(wrong), numbers)
    return numbers


def pytorch_counts(model, mode):
    def stage(machine):
        if reason := pytorch_pairs.why_not():
            raise Skip(reason)
        wrong, numbers = pytorch_pairs.compare_counts(machine.stepscope, model, mode, machine.recordings)
        if wrong:
            raise processes.Failure(f"{len(wrong)} counts are too small: " + "; ".join(wrong[:20]), numbers)
        return numbers
    return stage


def pytorch_check(check):
    """A stage of a function that returns what is wrong, and numbers."""
    def stage(machine):
        if reason := pytorch_pairs.why_not():
            raise Skip(reason)
        wrong, numbers = check(machine.stepscope, machine.recordings)
        if wrong:
            raise processes.Failure("; ".join(wrong), numbers)
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


def stage_backend(machine):
    """The CUDA backend of the workloads against the host backend: cuda_tests, each suite in a process of its own. After one fault of a GPU
    everything else of a process fails. Calls that a library may answer with a fault come last."""
    program = os.path.join(os.path.dirname(machine.stepscope), "..", "tests", "cuda_tests")
    if not os.path.exists(program):
        raise Skip("this build has no tests of the CUDA backend")
    listed = processes.run_well([program, "--gtest_list_tests"]).output
    filters = [f"{suite}*-*Alignment*" for suite in re.findall(r"^(\S+\.)(?:\s|$)", listed, re.MULTILINE)] + ["*Alignment*"]
    counts, wrong, output = {}, [], ""
    for tests in filters:
        result = processes.run([program, f"--gtest_filter={tests}"], limit_s=300)
        output += result.output
        counts[tests] = {name: len(re.findall(rf"^\[\s*{word}\s*\] \w+\S* \(\d+ ms\)$", result.output, re.MULTILINE))
                         for name, word in (("passed", "OK"), ("failed", "FAILED"), ("skipped", "SKIPPED"))}
        if result.code != 0 or counts[tests]["failed"]:
            wrong.append(f"{tests}: exit status {result.code}: {result.output[-2000:]}")
    if wrong:
        raise processes.Failure("; ".join(wrong), counts)
    if not any(found["passed"] for found in counts.values()):
        raise processes.Failure(f"there is a GPU and no test ran on it: {output[-800:]}", counts)
    return counts


def stage_graphs(machine):
    """--cuda-graphs: the same weights as without, and how long a step takes."""
    wrong, numbers = workload_runs.compare_graphs(machine.stepscope)
    if wrong:
        raise processes.Failure("; ".join(wrong), numbers)
    return numbers


def stage_processes(machine):
    """A training in several processes, one of which is killed or stopped."""
    if reason := workload_runs.why_no_mpi():
        raise Skip(reason)
    gpus = sum(re.fullmatch(r"gpu \d+", check["name"]) is not None for check in machine.doctor()["checks"])
    if gpus < 2 and (reason := workload_runs.why_not_shared(machine.stepscope)):
        raise Skip(f"there is one GPU, and it cannot be shared: {reason}")
    wrong, numbers = workload_runs.run_in_processes(machine.stepscope, machine.recordings, gpus)
    if wrong:
        raise processes.Failure("; ".join(wrong), numbers)
    return numbers


def stage_pytorch_ratio(machine):
    """cifar10 and gpt compared with the same models in PyTorch eager: a measurement, never a failure."""
    here = os.path.dirname(os.path.abspath(__file__))
    scripts = [os.path.join(here, "pytorch_ratio.py"), os.path.join(here, "..", "..", "bench", "pytorch_ratio.py")]
    numbers = os.path.join(machine.recordings, "ratio.json")
    os.makedirs(machine.recordings, exist_ok=True)
    result = processes.run([sys.executable, next(path for path in scripts if os.path.exists(path)), "--stepscope", machine.stepscope,
                            "--pairs", "1", "--json", numbers], limit_s=600)
    found = {}
    if os.path.exists(numbers):  # also of rows that were measured before it failed or was killed
        with open(numbers, encoding="utf-8") as file:
            found = json.load(file)
    if result.code == SKIPPED and "PyTorch" in found.get("skipped", ""):
        raise Skip(result.output[-800:])
    if result.code != 0:
        raise processes.Failure(f"exit status {result.code}: {result.output[-2000:]}", found)
    return found


# What decides whether the rest is worth its time comes first.
STAGES = {"doctor": stage_doctor, "selftest": stage_selftest, "rate": stage_rate, "backend": stage_backend,
          "graphs": stage_graphs, "processes": stage_processes,
          "pytorch-ratio": stage_pytorch_ratio,
          **{f"pytorch-{model}-{mode}": pytorch_counts(model, mode) for model in ("cnn", "gpt") for mode in ("eager", "graph")},
          "window": pytorch_check(pytorch_pairs.record_window), "nccl": pytorch_check(pytorch_pairs.use_nccl),
          **{f"overhead-{model}-{mode}": pytorch_overhead(model, mode) for model, mode in (("cnn", "eager"), ("gpt", "graph"))}}


# What only hardware answers, and what does: stages, or a command where none does.
QUESTIONS = (
    ("Is every kernel, copy and launch in the trace, at any rate and end of the program?", ("selftest", "rate")),
    ("Do our kernels and NVIDIA's layers give the host's results?", ("backend", "graphs", "processes")),
    ("Are there as many kernels as torch.profiler sees?", tuple(name for name in STAGES if name.startswith("pytorch-") and "ratio" not in name)),
    ("What does recording cost, and what does torch.profiler?", tuple(name for name in STAGES if name.startswith("overhead-"))),
    ("Does NCCL's plugin name every collective of several processes?", ("nccl", "processes")),
    ("Has a window of steps all of its kernels, and does the next one, too?", ("window",)),
    ("Do kernels come without an end when CUPTI is flushed by force, and how many of a million lose their times on CUDA 12.6 to 13.0?",
     "stepscope doctor RUN, of a recording with --steps"),
    ("Does torch.profiler record after CUPTI was taken down?",
     "STEPSCOPE_CUPTI_FINALIZE=1 stepscope record --steps 2:4 -- a program that starts torch.profiler at step 6"),
    ("Do both record in one process from CUDA 13.3 and driver 610 on?", "stepscope record -- a program under torch.profiler"),
)


def print_questions(entries):
    """Each question with what this run says of it."""
    status = {entry["stage"]: entry["status"] for entry in entries}
    print("\nQuestions that only hardware answers:")
    for question, answered_by in QUESTIONS:
        if isinstance(answered_by, str):
            print(f"  {question}\n    not by a stage: {answered_by}")
        else:
            print(f"  {question}\n    " + ", ".join(f"{name}: {status.get(name, 'not asked')}" for name in answered_by))
    print()


# Plain CUDA programs. Programs with PyTorch have to find the CUPTI of its package by themselves.
PLAIN_STAGES = {"selftest", "rate"}


@contextlib.contextmanager
def variable(name, value):
    """Sets it for the programs of a stage, where the caller has not set it."""
    if not value or name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


def run_stage(name, machine, cupti, why_not):
    """The stage's entry of the summary."""
    begin = time.monotonic()
    entry = {"stage": name, "status": "passed"}
    try:
        if why_not:
            raise Skip(why_not)
        with variable(CUPTI_VARIABLE, cupti if name in PLAIN_STAGES else ""):
            entry["numbers"] = STAGES[name](machine)
    except Skip as reason:
        entry.update(status="skipped", reason=str(reason))
    except TimeIsUp as reason:
        entry.update(status="failed", reason=f"ended while it ran: {reason}")
    except Exception as error:  # pylint: disable=broad-except: the other stages must still run
        entry.update(status="failed", reason=f"{type(error).__name__}: {error}")
        if numbers := getattr(error, "numbers", None):
            entry["numbers"] = numbers
    entry["seconds"] = round(time.monotonic() - begin, 1)
    return entry


def run_stages(names, machine, found, entries):
    """Fills `entries`. Returns at the limit with what there is then."""
    why_no_gpu, cupti = "", ""
    with contextlib.suppress(TimeIsUp):
        why_no_gpu, cupti = machine.describe()
    for name in names:
        machine.recordings = found.stage_folder(name)
        entry = run_stage(name, machine, cupti, why_no_gpu or ("no time left" if time_is_up() else ""))
        entries.append(entry)
        print(f"{entry['status']:8} {name:24} {entry['seconds']:6.1f} s  {entry.get('reason', '')[:2000]}", flush=True)
        if entry["status"] != "skipped":
            with contextlib.suppress(TimeIsUp):
                entry["recordings"] = machine.words_of_recordings()
        if large := found.drop_large(name):
            entry["left_out"] = large
        found.write(entries)


_ends = []


def time_is_up():
    return bool(_ends)


def end_by_signal(number, _):
    """The first one ends the stage that runs; further ones must not disturb the packing."""
    is_first = not _ends
    _ends.append(number)
    if is_first:
        raise TimeIsUp("the limit is reached" if number == signal.SIGALRM else "SIGTERM")


def watch_time(limit_s):
    """TimeIsUp comes after that many seconds, or with SIGTERM."""
    _ends.clear()
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, end_by_signal)
    if limit_s <= 0:
        _ends.append(signal.SIGALRM)
    elif limit_s != float("inf"):
        signal.setitimer(signal.ITIMER_REAL, limit_s)


def default_program():
    """The program of the bundle that this script is in, else of the repository's build."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    programs = [os.path.join(root, "bin", "stepscope"), os.path.join(root, "build", "release", "bin", "stepscope")]
    return next((program for program in programs if os.path.exists(program)), programs[0])


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepscope", default=default_program())
    parser.add_argument("--out", default="gpu-proof")
    parser.add_argument("--stage", action="append", choices=list(STAGES))
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="end then, with what there is: the machine is lent for a while")
    options = parser.parse_args(arguments)
    if not os.path.exists(options.stepscope):
        parser.error(f"{options.stepscope}: there is no such program, build it or name it with --stepscope")
    machine = Machine(os.path.abspath(options.stepscope))
    entries = []
    watch_time(options.limit_s)
    with results.Results(os.path.abspath(options.out)) as found:
        with contextlib.suppress(TimeIsUp):  # between two stages
            run_stages(options.stage or list(STAGES), machine, found, entries)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if entries and (left_out := found.pack()):
            entries[-1]["left_out"] = entries[-1].get("left_out", []) + left_out
            print("left out of recordings.tar.gz: " + ", ".join(left_out))
        found.write(entries)
    print_questions(entries)
    count = {status: sum(entry["status"] == status for entry in entries) for status in ("passed", "failed", "skipped")}
    print(", ".join(f"{number} {status}" for status, number in count.items()))
    if count["failed"]:
        return 1
    return 0 if count["passed"] else SKIPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
