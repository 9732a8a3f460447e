#!/usr/bin/env python3
"""An exam of `stepscope mcp`: makes runs with known faults and healthy ones, and asks what is wrong with them.

A scripted agent answers with nothing but the server's tools (student.py). The file questions.py holds what it is asked, what
a right answer must contain, and what it must not claim. It also lists what is not asked. The two are compared by grading.py.

usage: exam.py STEPSCOPE [--only NAME] [--keep DIR] [--verbose]    exit status 0: recall is at least 95 %, every refusal and
                                                                   number is right, and no healthy run has a claim
       exam.py STEPSCOPE --self-check                              whether wrong answers and dead servers are noticed
"""
import argparse
import os
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from client import Client, ServerError
from grading import grade
from questions import Training, all_items
from runs import Runs
from self_check import check_all
from student import Student

LEAST_RECALL = 0.95
# Another program may take the cores during a training of a second. What most of three show is the fault's.
TRAININGS = 3


class Totals:
    def __init__(self):
        self.faults = self.right_faults = 0
        self.others = self.right_others = 0  # refusals and numbers
        self.claims = self.true_claims = 0
        self.healthy = self.false_on_healthy = 0
        self.known_faults = {}  # whether every answer about a fault of synth is right

    def add(self, item, result):
        self.claims += result.claims
        self.true_claims += result.true_claims
        if item.is_healthy:
            self.healthy += 1
            self.false_on_healthy += len(result.false_claims)
        elif item.right:
            self.faults += 1
            self.right_faults += result.is_right
            for name in item.fault_names():
                self.known_faults[name] = self.known_faults.get(name, True) and result.is_right
        else:
            self.others += 1
            self.right_others += result.is_right

    def is_passed(self):
        return (self.right_faults >= LEAST_RECALL * self.faults and self.right_others == self.others
                and self.false_on_healthy == 0)

    def text(self):
        def share(part, whole):
            return f"{part}/{whole} ({100 * part / whole if whole else 100:.1f} %)"

        return (f"faults of synth with every answer right {share(sum(self.known_faults.values()), len(self.known_faults))}\n"
                f"refusals and numbers {share(self.right_others, self.others)}, healthy runs {self.healthy}\n"
                f"recall {share(self.right_faults, self.faults)}, precision {share(self.true_claims, self.claims)}, "
                f"false claims on healthy runs {self.false_on_healthy}")


def ask(item, runs, student, attempt=0):
    """The answer and its grade."""
    made = [runs.make(source, attempt) for source in item.runs]
    question = item.question.format(*(name for name, _ in made))
    # The last run is the one that a comparison is about.
    answer = student.answer(question)
    return answer, grade(item, answer, made[-1][1])


def ask_fairly(item, runs, student):
    """A training is repeated if its first answer is wrong; then two of three must be right."""
    answer, result = ask(item, runs, student)
    if result.is_right or not isinstance(item.runs[0], Training):
        return answer, result
    again = [ask(item, runs, student, attempt) for attempt in range(1, TRAININGS)]
    return again[0] if all(each.is_right for _, each in again) else (answer, result)


def report(item, answer, result, seconds, is_verbose):
    claimed = ", ".join(claim.cause for claim in answer.claims) or ("refused" if answer.refusal else "no claim")
    is_good = result.is_right and not result.false_claims
    print(f"{'ok   ' if is_good else 'right' if result.is_right else 'WRONG'} {item.name:<28} {seconds:5.2f} s  {claimed}", flush=True)
    if is_good and not is_verbose:
        return

    for text in result.faults:
        print(f"      {text}")
    for cause in result.false_claims:
        print(f"      false claim: {cause}")
    print("      | " + "\n      | ".join([f"Q: {answer.question}"] + answer.markdown().splitlines()), flush=True)


def sit_exam(stepscope, items, folder, is_verbose):
    """Whether it is passed. One server answers all, confined to the folder of the runs."""
    runs, totals = Runs(stepscope, folder), Totals()
    with Client([stepscope, "mcp", runs.served]) as client:
        student = Student(client)
        for item in items:
            begin = time.monotonic()
            answer, result = ask_fairly(item, runs, student)
            totals.add(item, result)
            report(item, answer, result, time.monotonic() - begin, is_verbose)
        if client.close() != 0:
            raise ServerError("the server did not end with status 0 when its input ended")
    print(f"\n{len(items)} items, {client.calls} calls of tools")
    print(totals.text())
    return totals.is_passed()


def main():
    parser = argparse.ArgumentParser(description="exam of stepscope mcp")
    parser.add_argument("stepscope")
    parser.add_argument("--only", metavar="NAME", default="", help="items whose name contains NAME")
    parser.add_argument("--keep", metavar="DIR", help="make the runs there and leave them")
    parser.add_argument("--verbose", action="store_true", help="print every answer")
    parser.add_argument("--self-check", action="store_true", help="whether wrong answers and dead servers are noticed")
    options = parser.parse_args()

    items = [item for item in all_items() if options.only in item.name]
    if not items:
        parser.error(f"no item has {options.only} in its name")
    stepscope = os.path.abspath(options.stepscope)
    folder = options.keep or tempfile.mkdtemp(prefix=f"stepscope-exam-{os.getpid()}-")
    try:
        if options.self_check:
            return 0 if check_all(stepscope, folder) else 1
        return 0 if sit_exam(stepscope, items, folder, options.verbose) else 1
    except (ServerError, RuntimeError) as error:
        print(f"exam.py: {error}", file=sys.stderr)
        return 1
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
