#!/usr/bin/env python3
"""Runs the collection of cases: inputs that people hit, each with what a right answer must hold.

usage: cases_test.py --stepscope PROGRAM --cases FOLDER

The collection is data of others, so it lies beside this repository; it brings its own run_cases.py, which prints a line a case. A case in
EXPECTED_TO_FAIL asks for what Stepscope does not have; once such a case passes, it must leave that list.
Exit status 0: every case is as expected; 1: not so; 77: there is no collection.
"""

import argparse
import os
import re
import subprocess
import sys

MISSING = 77
# Name of the case, and what it asks for.
EXPECTED_TO_FAIL: dict[str, str] = {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stepscope", required=True)
    parser.add_argument("--cases", required=True)
    options = parser.parse_args()

    runner = os.path.join(options.cases, "run_cases.py")
    if not os.path.isfile(runner):
        print(f"skipped: no cases in {options.cases}")
        return MISSING
    done = subprocess.run([sys.executable, runner, os.path.abspath(options.stepscope)], capture_output=True, text=True)
    results = re.findall(r"^(PASS|FAIL) ([^:\n]+)(.*)$", done.stdout, re.MULTILINE)

    wrong = 0
    for result, name, reason in results:
        if (result == "FAIL") != (name in EXPECTED_TO_FAIL):
            wrong += 1
            print(f"{result} {name}{reason}" if result == "FAIL" else f"{name} passes now: take it out of EXPECTED_TO_FAIL")
    if not results:
        print(f"{runner} ran no case:\n{done.stdout}{done.stderr}")
        return 1
    print(f"{len(results)} cases, {wrong} not as expected; {len(EXPECTED_TO_FAIL)} may fail: {', '.join(EXPECTED_TO_FAIL)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
