#!/usr/bin/env python3
"""Sums up ctest's JUnit files for people: failures with their output, skipped cases with their reason, then the last line
"N passed, N failed, N skipped". Exit status 1 when a case failed or none ran.

usage: summarize_tests.py [--brief] RESULTS.xml...         (--brief: no skipped and slow cases)
       summarize_tests.py --may-run-again RESULTS.xml      exit status 0 when what failed may have failed by chance
       summarize_tests.py --merge AGAIN.xml RESULTS.xml    notes in RESULTS.xml what passed in the second run, AGAIN.xml
"""
import itertools
import re
import sys
import xml.etree.ElementTree as ElementTree

# Lines shown of a failed case's output: its assertions and its end, where sanitizers report.
ASSERTION_LINES = 8
ASSERTIONS_SHOWN = 5
LAST_LINES = 40

# More failures than these are no chance.
RUN_AGAIN_AT_MOST = 3
# What a test program of GoogleTest prints at its end when assertions failed: it was not ended by a signal or for its time.
CAME_TO_ITS_END = re.compile(r"^ *\d+ FAILED TESTS?$", re.MULTILINE)
# A fault of memory or a data race is one, whatever a second run says.
SANITIZER = re.compile(r"Sanitizer|runtime error:")


def skip_reason(output, message):
    """What GTEST_SKIP() << "…" or a script that exits with 77 said, else ctest's own word."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for index, line in enumerate(lines):
        if re.search(r": Skipped$", line) and index + 1 < len(lines):
            return lines[index + 1]
    said = [line for line in lines if not line.startswith("[") and not re.match(r"(Running|Note:)", line)]
    if message and not message.startswith("SKIP_"):
        return message
    return said[-1] if said else (message or "no reason given")


def telling_lines(output):
    """The first assertions of GoogleTest that failed, each with the test that it is in, then the end of the output."""
    lines = output.splitlines()
    end = max(0, len(lines) - LAST_LINES)
    failures = [index for index, line in enumerate(lines[:end]) if re.search(r": Failure$", line)]
    shown = []
    for index in failures[:ASSERTIONS_SHOWN]:
        test = next((line for line in reversed(lines[:index]) if line.startswith("[ RUN ")), None)
        if test and test not in shown:
            shown.append(test)
        assertion = lines[index : min(index + ASSERTION_LINES, end)]
        shown += itertools.takewhile(lambda line: not line.startswith("[ "), assertion)
    if len(failures) > ASSERTIONS_SHOWN:
        shown.append(f"… {len(failures) - ASSERTIONS_SHOWN} more")
    return shown + (["…"] if end else []) + lines[end:]


def read_cases(path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.get("status") == "fail":
            yield "failed", case, output, (case.find("failure").get("message", "") if case.find("failure") is not None else "")
        elif skipped is not None:
            message = skipped.get("message", "")
            # A test program that was not built or a fixture that failed is not a skipped test.
            broken = message and not message.startswith("SKIP_") and message != "Disabled"
            yield ("failed" if broken else "skipped"), case, output, message
        else:
            yield "passed", case, output, ""


def may_run_again(path):
    """Whether a second run can tell a busy machine from a fault: few cases failed, and all by an assertion."""
    failed = [output for result, _, output, _ in read_cases(path) if result == "failed"]
    by_assertion = [output for output in failed if CAME_TO_ITS_END.search(output) and not SANITIZER.search(output)]
    return 0 < len(failed) <= RUN_AGAIN_AT_MOST and len(by_assertion) == len(failed)


def merge(again_path, path):
    """A case that failed in `path` and passed in `again_path` has passed; its failure stays in the file, as Surefire names it."""
    passed_again = {case.get("name") for result, case, _, _ in read_cases(again_path) if result == "passed"}
    tree = ElementTree.parse(path)
    for case in tree.getroot().iter("testcase"):
        failure = case.find("failure")
        if failure is None or case.get("name") not in passed_again:
            continue
        failure.tag = "flakyFailure"
        case.set("status", "run")
    tree.write(path, encoding="unicode")


def main(arguments):
    if arguments[:1] == ["--may-run-again"]:
        return 0 if may_run_again(arguments[1]) else 1
    if arguments[:1] == ["--merge"]:
        merge(*arguments[1:])
        return 0
    brief = "--brief" in arguments
    paths = [argument for argument in arguments if argument != "--brief"]
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    cases = {"passed": [], "failed": [], "skipped": []}
    for path in paths:
        for result, case, output, message in read_cases(path):
            cases[result].append((case, output, message))
    unsteady = [(case, output, message) for case, output, message in cases["passed"] if case.find("flakyFailure") is not None]
    for case, output, _ in unsteady:
        print(f"\nUNSTEADY {case.get('name')} (failed beside other tests, passed alone)")
        for line in telling_lines(output):
            print(f"    {line}")
    for case, output, message in cases["failed"]:
        print(f"\nFAILED {case.get('name')} {'(' + message + ')' if message else ''}")
        for line in telling_lines(output):
            print(f"    {line}")
    if not brief:
        if cases["skipped"]:
            print("\nSkipped:")
            for case, output, message in cases["skipped"]:
                print(f"    {case.get('name')}: {skip_reason(output, message)}")
        timed = sorted(((float(case.get("time") or 0), case.get("name")) for group in cases.values() for case, _, _ in group), reverse=True)
        slow = [f"{name} {seconds:.0f} s" for seconds, name in timed[:5] if seconds >= 5]
        if slow:
            print(f"\nSlowest: {', '.join(slow)}")
    if cases["failed"]:
        print("\nFailed: " + ", ".join(case.get("name") for case, _, _ in cases["failed"]))
    if unsteady:
        print("\nUnsteady: " + ", ".join(case.get("name") for case, _, _ in unsteady))
    if cases["failed"] or unsteady or not brief:
        print()
    print(f"{len(cases['passed'])} passed, {len(cases['failed'])} failed, {len(cases['skipped'])} skipped")
    return 1 if cases["failed"] or not cases["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
