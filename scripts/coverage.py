#!/usr/bin/env python3
"""Sums what gcov counted in build/coverage: see coverage.sh, which runs the tests first."""
import collections
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "coverage")
FOLDERS = ("tracer/cupti", "tracer/nccl", "tracer/nvml", "workloads/backend/cuda")
LEAST_PERCENT = 90


def counted_files(data):
    """What gcov says of one object's counts: (path below the root, its lines) of each source that it has lines of."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", data], cwd=BUILD, capture_output=True, check=True)
    for document in filter(None, done.stdout.splitlines()):
        report = json.loads(document)
        for file in report["files"]:
            path = os.path.normpath(os.path.join(report["current_working_directory"], file["file"]))
            yield os.path.relpath(path, ROOT), file["lines"]


def count_lines():
    """{source: {line: how often it ran}} of the folders' sources, summed over all objects that have the line."""
    counts = collections.defaultdict(collections.Counter)
    for notes in glob.glob(os.path.join(BUILD, "**", "*.gcno"), recursive=True):
        # Without counts gcov takes the notes: nothing of the object ran.
        data = notes.removesuffix(".gcno") + ".gcda"
        for path, lines in counted_files(data if os.path.exists(data) else notes):
            if path.startswith(tuple(folder + "/" for folder in FOLDERS)):
                for line in lines:
                    counts[path][line["line_number"]] += line["count"]
    return counts


def print_missing(path, lines):
    missing = sorted(number for number, count in lines.items() if count == 0)
    if not missing:
        return
    print(f"\n{path}: {len(missing)} of {len(lines)} lines did not run")
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read().splitlines()
    for number in missing:
        print(f"  {number:4}  {text[number - 1].strip()}")


def main():
    counts = count_lines()
    if not counts:
        sys.exit("no counts in build/coverage: run scripts/coverage.sh")
    if "--lines" in sys.argv[1:]:
        for path in sorted(counts):
            print_missing(path, counts[path])
        print()

    is_enough = True
    print(f"{'folder':24} {'lines':>6} {'run':>6} {'share':>7}")
    for folder in FOLDERS:
        lines = [count for path in counts if path.startswith(folder + "/") for count in counts[path].values()]
        run = sum(count > 0 for count in lines)
        percent = 100 * run / max(1, len(lines))
        is_enough = is_enough and percent >= LEAST_PERCENT
        print(f"{folder:24} {len(lines):6} {run:6} {percent:5.1f} %")
    return 0 if is_enough else 1


if __name__ == "__main__":
    sys.exit(main())
