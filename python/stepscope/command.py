"""The command `stepscope`, as the wheel carries it."""

import os
import sys


def program():
    """The path of the program beside this package; None where it came without one."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundle", "bin", "stepscope")
    return path if os.path.exists(path) else None


def main():
    path = program()
    if path is None:
        sys.exit("stepscope: this package came without the program, install it beside (README.md)")
    os.execv(path, [path, *sys.argv[1:]])
