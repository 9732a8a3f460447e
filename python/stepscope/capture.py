"""Marks of a training: steps, phases, waits and numbers.

They reach the tool that listens to NVTX in the process, such as `stepscope record`. Without one a
mark costs less than a tenth of a microsecond (bench/python_marks.py).
"""

import functools
import inspect
import os
import warnings

try:
    from stepscope import _capture
except ImportError as error:
    raise ImportError(
        "stepscope: marks need CPython 3.10 or newer with its global lock, and _capture.abi3.so "
        f"in the folder of this package ({error})"
    ) from error
from stepscope.errors import CaptureError

# Their docstrings are in python/native/capture.cpp.
step = _capture.step
phase = _capture.phase
work = _capture.work
input_wait = _capture.input_wait
memory_category = _capture.memory_category
note = _capture.note
name_thread = _capture.name_thread


def _decorate(scope, function):
    kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(is_kind(function) for is_kind in kinds):
        raise TypeError(
            f"{function.__name__} runs in parts, between which others run: mark what is inside of it"
        )
    # Half the cost of a `with`.
    begin, end = scope.__enter__, scope.__exit__

    @functools.wraps(function)
    def marked(*arguments, **named):
        begin()
        try:
            return function(*arguments, **named)
        finally:
            end()

    return marked


_capture._set_decorate(_decorate)


def wait(loader, name="wait for batch"):
    """The items of `loader`; the time until each one comes is marked as waiting for input."""
    waits = input_wait(name)
    items = iter(loader)
    while True:
        with waits:
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


class steps:
    """The items of `loader`, each in a training step of its own, counted from `first`.

    A step lasts from one item to the next: the wait for the next one is in it, and marked as
    waiting for input. A resumed training goes on counting: first=its number of steps.

        for batch in stepscope.steps(loader):
            train(batch)

    A loop that is left early ends its step when the iterator goes: close() it where it is kept.
    """

    def __init__(self, loader, first=0, name="wait for batch"):
        self._loader, self._first, self._name = loader, first, name
        step(first)  # raises what is wrong with the number here, and not in the loop

    def __len__(self):
        return len(self._loader)

    def __iter__(self):
        waits = input_wait(self._name)
        items = iter(self._loader)
        end = object()
        with waits:
            item = next(items, end)
        index = self._first
        while item is not end:
            with step(index):
                yield item
                with waits:
                    item = next(items, end)
            index += 1


def _tracer_beside():
    """The tracer of the wheel, or of the copy that has this package in lib/python3/dist-packages."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.join(here, "bundle", "lib")]
    packages = os.path.join("lib", "python3", "dist-packages")
    if here.endswith(os.path.join(os.sep, packages, "stepscope")):  # elsewhere it is not ours
        folders.append(os.path.dirname(os.path.dirname(os.path.dirname(here))))
    for folder in folders:
        path = os.path.join(folder, "libstepscope-tracer.so")
        if os.path.exists(path):
            return path
    return None


_TRACER = _tracer_beside()


def start(folder=None):
    """A window of recording opens and becomes a run of its own: FOLDER/window-1, and so on.

    Under `stepscope record --from-code --repeat` the folder is that of the command. Otherwise it is
    stepscope-run unless you name one; it has to be new, and one for all windows of a process. Call
    it before the first use of CUDA, NVTX and NCCL. The environment's STEPSCOPE_TRACER names the
    file libstepscope-tracer.so; without it the one that came with this package is used. Where `stepscope record`
    records the whole program, windows change nothing. Raises CaptureError where nothing is recorded.
    """
    records_all = os.environ.get("STEPSCOPE_OUTPUT") and not os.environ.get("STEPSCOPE_FROM_CODE")
    if records_all:
        warnings.warn(
            "the command chose what is recorded: windows need stepscope record --from-code --repeat",
            stacklevel=3,
        )
    if _TRACER is not None:
        os.environ.setdefault("STEPSCOPE_TRACER", _TRACER)
    if not _capture.start_window(folder):
        raise CaptureError(_capture.capture_error())


def stop():
    """The window closes: returns when its trace is complete. Raises CaptureError if it is not."""
    if not _capture.stop_window():
        raise CaptureError(_capture.capture_error())


class window:
    """`with stepscope.window("my-run"):` records what runs inside."""

    def __init__(self, folder=None):
        self._folder = folder

    def __enter__(self):
        start(self._folder)
        return self

    def __exit__(self, *_):
        stop()
