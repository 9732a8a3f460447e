#!/usr/bin/env python3
"""Records a part of a Python program from its own code: no `stepscope record`, no package.

usage: capture.py TRACER RUN     TRACER: libstepscope-tracer.so of the installation; RUN: the folder to write
"""
import contextlib
import ctypes
import sys


@contextlib.contextmanager
def capture(tracer_path, run):
    """Records what happens inside. Begin before the program first uses CUDA (import torch comes first, torch.cuda later)."""
    tracer = ctypes.CDLL(tracer_path)
    tracer.stepscope_capture_error.restype = ctypes.c_char_p
    if not tracer.stepscope_start_capture(run.encode()):
        raise RuntimeError(tracer.stepscope_capture_error().decode())
    try:
        yield
    finally:
        if not tracer.stepscope_stop_capture():
            print(tracer.stepscope_capture_error().decode(), file=sys.stderr)


def train():
    return sum(i * i for i in range(1_000_000))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        with capture(sys.argv[1], sys.argv[2]):
            train()
    except (OSError, RuntimeError) as error:
        sys.exit(f"capture.py: {error}")
