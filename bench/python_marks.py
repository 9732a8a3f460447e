#!/usr/bin/env python3
"""What a mark of the Python package costs, in ns: where nothing records, and while `stepscope record` does.

usage: python_marks.py [--build BUILD] [--rounds N]     medians of N rounds; each has a million marks of a kind
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKS = """
import statistics, timeit, sys
import stepscope
COUNT, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
held = stepscope.phase("forward")
def plain(): pass
marked = stepscope.phase("f")(plain)
KINDS = {
    "with step(i)": "with step(i): pass",
    "with phase(name)": "with phase('forward'): pass",
    "with a phase that was made before": "with held: pass",
    "call of a marked function, beyond the call": "marked()",
    "note(name, value)": "note('loss', 0.5)",
}
names = dict(step=stepscope.step, phase=stepscope.phase, note=stepscope.note, held=held, marked=marked, plain=plain)
def time_of(body):
    return timeit.timeit(f"for i in range({COUNT}):\\n    {body}", globals=names, number=1) / COUNT * 1e9
for kind, body in KINDS.items():
    rounds = [time_of(body) - time_of("plain()" if "marked" in body else "pass") for _ in range(ROUNDS)]
    print(f"{kind}: {statistics.median(rounds):.0f}")
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", default=7, type=int)
    options = parser.parse_args()

    environment = {**os.environ, "PYTHONPATH": str(options.build / "python")}
    with tempfile.TemporaryDirectory() as folder:
        program = [options.python, "-c", MARKS]
        record = [str(options.build / "bin/stepscope"), "record", "--buffer-mb", "1024", "-o", f"{folder}/run", "--"]
        for title, before, count in (("nothing records", [], 1_000_000), ("recorded", record, 100_000)):
            made = subprocess.run([*before, *program, str(count), str(options.rounds)], env=environment, check=True,
                                  capture_output=True, text=True)
            print(f"{title}, ns a mark, median of {options.rounds}:")
            print("".join(f"  {line}\n" for line in made.stdout.splitlines()), end="")


if __name__ == "__main__":
    main()
