#!/usr/bin/env python3
"""Runs stepscope over the doubles where program, CUDA module, tracer and doubles are built with sanitizers.

No case may end with a report of a sanitizer. With the thread sanitizer, each wait of a stream is then removed from a training: the
sanitizer has to report a data race. The test presets asan-doubles and tsan-doubles have the sanitizers' options.
Prints a table; exit status 1 where a case fails.

usage: sanitized.py --tree build/asan-doubles/cuda_doubles --work FOLDER [NAME…]     all cases, or those named
"""
import dataclasses
import os
import re
import sys
import time

sys.dont_write_bytecode = True
import over_doubles

GPUS = {"DOUBLE_CUDA_DEVICES": 2}
REPORT = re.compile(r"(?:ERROR|WARNING|SUMMARY): (?:Address|Leak|Thread|UndefinedBehavior)Sanitizer[^\n]*|[^\n]*: runtime error: [^\n]*")
RACE = "WARNING: ThreadSanitizer: data race"
THREAD_OPTIONS = "TSAN_OPTIONS"  # set where the build has the thread sanitizer
# The tracer's threads have tables of file descriptors of their own. The thread sanitizer takes equal numbers for one file, unless it
# leaves out what functions of the C library access.
RECORDED = ":ignore_noninstrumented_modules=1"

QUIET = " --no-evaluate --log-every 0"
MNIST = "run mnist --device cuda:all --batch 2 --steps 2" + QUIET
SMALL_GPT = "run gpt --layers 1 --width 32 --heads 2 --context 16 --batch 2 --steps 2" + QUIET
SPLIT = "run split --device cuda:0,cuda:1 --batch 4 --micro-batches 2 --layers 3 --steps 1" + QUIET
RECORD = "record -o run -- {program} "


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    arguments: str
    knobs: dict = dataclasses.field(default_factory=dict)
    status: int = 0
    says: str = ""  # in its output


CASES = (
    Case("mnist", MNIST + " --accumulate 2 --check-replicas 1"),
    Case("mnist, jitter", MNIST + " --accumulate 2 --check-replicas 1", {"DOUBLE_CUDA_JITTER_US": 500}),
    Case("mnist with graphs", MNIST + " --cuda-graphs"),
    Case("gpt", SMALL_GPT + " --device cuda:all --zero1"),
    Case("gan", "run gan --device cuda:all --batch 1 --steps 1 --log-every 0"),
    Case("split 1f1b", SPLIT + " --schedule 1f1b"),
    Case("split tensor", SPLIT + " --tensor"),
    Case("allreduce", "run allreduce --device cuda:0,cuda:1 --max-bytes 4K --iterations 2 --warmup 1 --check"),
    Case("refused algorithm", MNIST, {"DOUBLE_CUDNN_REFUSED": 0}),
    Case("failing kernel", MNIST, {"DOUBLE_CUDA_FAIL_AT_KERNEL": 40}, status=1, says="illegal memory access"),
    Case("record", RECORD + MNIST),
    Case("record, CUPTI 12.4", RECORD + MNIST, {"DOUBLE_CUPTI_VERSION": 22}),
    Case("record, CUPTI 13.4", RECORD + MNIST, {"DOUBLE_CUPTI_VERSION": 130400}),
    Case("record steps", RECORD.replace("-o", "--steps 1:2 -o") + MNIST.replace("--steps 2", "--steps 4")),
    Case("record, failing kernel", RECORD + MNIST, {"DOUBLE_CUDA_FAIL_AT_KERNEL": 40}, status=1, says="illegal memory access"),
    Case("record, a hole", RECORD + MNIST, {"DOUBLE_CUPTI_FAULTS": "hole"}, says="left a part of its buffers unreadable"),
)


# Each of its waits of streams is removed.
WITHOUT_WAITS = Case("without", MNIST + " --accumulate 2")


def run(doubles, case, knobs):
    folder = doubles.folder(case.name.replace(",", ""))
    options = dict(case.knobs)
    if THREAD_OPTIONS in os.environ:
        is_recorded = case.name.startswith("record")
        options[THREAD_OPTIONS] = os.environ[THREAD_OPTIONS] + (RECORDED if is_recorded else "")
    arguments = case.arguments.format(program=doubles.program).split()
    return doubles.run(arguments, folder, {**GPUS, **options, **knobs})


def try_case(doubles, case):
    """What is wrong; empty where nothing is."""
    done = run(doubles, case, {})
    said = done.stdout + done.stderr
    report = REPORT.search(said)
    faults = [report[0]] if report else []
    if done.returncode != case.status:
        faults.append(f"exit status {done.returncode}")
    if case.says not in said:
        faults.append(f"does not say '{case.says}'")
    if faults:
        with open(os.path.join(doubles.work, case.name.replace(" ", "_") + ".log"), "w", encoding="utf-8") as log:
            log.write(said)
    return faults


def try_without(doubles, wait):
    """The thread sanitizer's own test."""
    case = dataclasses.replace(WITHOUT_WAITS, name=f"without {wait}")
    done = run(doubles, case, {"DOUBLE_CUDA_SKIPPED_WAITS": wait})
    return [] if RACE in done.stderr else ["no data race is reported"]


def waits_of_streams(doubles):
    file = os.path.join(doubles.work, "waits")
    run(doubles, WITHOUT_WAITS, {"DOUBLE_CUDA_WAITS": file})
    with open(file, encoding="ascii") as lines:
        return sorted({wait for wait in lines.read().split() if not wait.startswith("host<")})


def main():
    options = over_doubles.arguments_of(__doc__.split("\n", maxsplit=1)[0])
    doubles = over_doubles.Doubles(options.tree, options.work)
    tries = [(case.name, try_case, case) for case in CASES]
    if THREAD_OPTIONS in os.environ:
        waits = waits_of_streams(doubles)
        if not waits:
            sys.exit("the training has no wait of a stream that could be removed: the thread sanitizer would not be tried")
        tries += [(f"without {wait}", try_without, wait) for wait in waits]
    if options.names:
        tries = [one for one in tries if any(name in one[0] for name in options.names)]

    rows, all_faults = [], []
    for name, attempt, what in tries:
        began = time.monotonic()
        faults = attempt(doubles, what)
        rows.append((name, f"{time.monotonic() - began:.1f}", "FAILED" if faults else "ok"))
        all_faults += [f"{name}: {text}" for text in faults]

    over_doubles.print_table(("case", "seconds", "result"), rows)
    print(*all_faults, f"{sum(row[-1] == 'ok' for row in rows)} of {len(rows)} cases as they should be", sep="\n")
    return 1 if all_faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
