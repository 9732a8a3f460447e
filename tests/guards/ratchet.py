"""A ratchet file holds, for each file and rule, how many faults are allowed today. The number may only shrink.

A guard fails when a count grows and when a file that the ratchet does not list has a fault. It also fails when a count is
smaller than the ratchet says, so that nobody can use up what somebody else has mended: `--shrink` then writes the smaller
numbers. Nothing but an edit by hand makes a number larger.
"""
import os
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass

from guards import tree

SHOWN_OF_A_FILE = 25  # faults printed for one file and rule; the rest is counted


@dataclass(frozen=True)
class Fault:
    path: str
    line: int  # 0: the whole file
    rule: str
    text: str
    count: int = 1
    key: str = ""  # what the ratchet lists it under, if that is not the file

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"


def key_of(fault):
    return fault.key or fault.path, fault.rule


def counts_of(faults):
    counts = Counter()
    for fault in faults:
        counts[key_of(fault)] += fault.count
    return counts


def load(path):
    """{(path, rule): count} of a ratchet file; empty where there is none."""
    allowed = {}
    if not os.path.exists(path):
        return allowed
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            parts = line.rsplit(maxsplit=2)
            if len(parts) != 3 or not parts[2].isdigit():
                raise ValueError(f"{path}:{number}: expected `file rule count`, found {line!r}")
            allowed[(parts[0], parts[1])] = int(parts[2])
    return allowed


def save(path, allowed, program):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# Faults that {program} allows today: file, rule, count. Only `{program} --shrink` writes it; it only shrinks.\n")
        for (name, rule), count in sorted(allowed.items()):
            if count > 0:
                file.write(f"{name} {rule} {count}\n")


def compare(faults, allowed, program):
    """(lines about what grew, lines about what shrank)"""
    found = counts_of(faults)
    by_key = defaultdict(list)
    for fault in faults:
        by_key[key_of(fault)].append(fault)
    grown, shrunk = [], []
    for key in sorted(found):
        limit = allowed.get(key, 0)
        if found[key] <= limit:
            continue
        shown = by_key[key][:SHOWN_OF_A_FILE]
        grown += [str(fault) for fault in shown]
        if len(shown) < len(by_key[key]):
            grown.append(f"{key[0]}: {len(by_key[key]) - len(shown)} more of rule {key[1]}")
        if limit:
            grown.append(f"{key[0]}: {found[key]} of rule {key[1]}, the ratchet allows {limit}: mend the new ones above")
    for key in sorted(allowed):
        if found.get(key, 0) < allowed[key]:
            shrunk.append(f"{key[0]}: {found.get(key, 0)} of rule {key[1]}, the ratchet still allows {allowed[key]}: "
                          f"run {program} --shrink")
    return grown, shrunk


def shrink(faults, path, program):
    allowed = load(path)
    grown, _ = compare(faults, allowed, program)
    if grown:
        print("\n".join(grown))
        print("the ratchet does not grow: mend these first")
        return 1
    found = counts_of(faults)
    save(path, {key: min(count, found.get(key, 0)) for key, count in allowed.items()}, program)
    return 0


def create(faults, path, program):
    if os.path.exists(path):
        print(f"{path} exists: --create is for the first time, use --shrink")
        return 1
    save(path, counts_of(faults), program)
    return 0


def run(faults, root, name, arguments, program):
    """The end of a guard's main(): acts on its faults as the arguments say and returns the exit status.

    --all [PATH…]  prints every fault, in these files and folders only, whatever the ratchet allows
    --shrink       writes the smaller counts
    --create       writes the ratchet for the first time
    """
    path = os.path.join(root, "tests", "ratchets", f"{name}.txt")
    faults = sorted(faults, key=lambda fault: (fault.path, fault.line, fault.rule, fault.text))
    if "--all" in arguments:
        wanted = [argument.rstrip("/") for argument in arguments[arguments.index("--all") + 1:]]
        chosen = [fault for fault in faults if not wanted or any(tree.within(fault.path, each) for each in wanted)]
        for fault in chosen:
            print(fault)
        for rule, count in Counter(fault.rule for fault in chosen).most_common():
            print(f"{count:7} {rule}", file=sys.stderr)
        return 1 if chosen else 0
    if "--shrink" in arguments:
        return shrink(faults, path, program)
    if "--create" in arguments:
        return create(faults, path, program)
    allowed = load(path)
    grown, shrunk = compare(faults, allowed, program)
    for line in grown + shrunk:
        print(line)
    print(f"{len(grown)} lines about new faults, {len(shrunk)} counts to shrink; {sum(allowed.values())} faults allowed")
    return 1 if grown or shrunk else 0


def self_test(make_faults, root, name, program, mended_root):
    """Failures of a guard's ratchet: `root` has faults, `mended_root` is the same tree with fewer of them."""
    import contextlib
    import io

    def quietly(where, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            status = run(make_faults(where), where, name, list(arguments), program)
        return status, out.getvalue()

    failures = []

    def expect(what, result, status, words=""):
        if result[0] != status or words not in result[1]:
            failures.append(f"ratchet: {what}: status {result[0]}, said {result[1]!r}")

    ratchet = os.path.join("tests", "ratchets", f"{name}.txt")
    expect("faults without a ratchet", quietly(root), 1)
    expect("create", quietly(root, "--create"), 0)
    expect("create twice", quietly(root, "--create"), 1, "exists")
    expect("what the ratchet allows", quietly(root), 0)
    tree.write(mended_root, ratchet, tree.read(root, ratchet))
    expect("fewer faults than allowed", quietly(mended_root), 1, "--shrink")
    expect("shrink", quietly(mended_root, "--shrink"), 0)
    expect("after shrink", quietly(mended_root), 0)
    tree.write(root, ratchet, tree.read(mended_root, ratchet))
    expect("a count that grows", quietly(root), 1)
    expect("shrink refuses to grow", quietly(root, "--shrink"), 1, "does not grow")
    if tree.read(root, ratchet) != tree.read(mended_root, ratchet):
        failures.append("ratchet: --shrink wrote a larger count")
    return failures
