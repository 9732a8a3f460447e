"""Where the time and memory of a training go, why, and what fixing it would give.

    import stepscope

    run = stepscope.open("my-run")           # a folder or file that stepscope can read
    for finding in run.analyze().findings:
        print(finding.title)
    run.table("kernels").to_pandas()

and in the program that is trained, under `stepscope record -- python3 train.py`:

    for batch in stepscope.steps(loader):
        with stepscope.phase("forward"):
            ...

Reading needs nothing beside this package; numpy, pandas, polars and pyarrow are used where they
are there. Marking needs no GPU and does nothing where nothing records.
"""

from stepscope.capture import (
    input_wait,
    memory_category,
    name_thread,
    note,
    phase,
    start,
    step,
    steps,
    stop,
    wait,
    window,
    work,
)
from stepscope.errors import (
    CaptureError,
    ChangeError,
    CheckError,
    ClosedError,
    ComparisonError,
    Error,
    PartError,
    QueryError,
    TraceError,
)

__all__ = [
    "Analysis",
    "Column",
    "Record",
    "Table",
    "CaptureError",
    "ChangeError",
    "CheckError",
    "ClosedError",
    "ComparisonError",
    "Error",
    "PartError",
    "QueryError",
    "TraceError",
    "Run",
    "check",
    "compare",
    "input_wait",
    "memory_category",
    "name_thread",
    "note",
    "open",
    "phase",
    "start",
    "step",
    "steps",
    "stop",
    "tables",
    "wait",
    "window",
    "work",
]

_READING = {"Run", "Table", "Column", "Analysis", "Record", "check", "compare", "open", "tables"}


def _load_engine():
    """What reads traces; it is made for one version of Python, while marks work in all."""
    try:
        from stepscope import _engine
    except ImportError as error:
        import importlib.machinery
        import os
        import sys

        suffixes = importlib.machinery.EXTENSION_SUFFIXES
        files = os.listdir(os.path.dirname(os.path.abspath(__file__)))
        if any("_engine" + suffix in files for suffix in suffixes):
            raise  # one for this Python is there, and says itself what it lacks
        made_for = ", ".join(sorted(file for file in files if file.startswith("_engine.")))
        raise AttributeError(  # as hasattr() and loggers that look for versions expect it
            "stepscope: marks work here, but this copy cannot read runs in Python "
            f"{sys.version_info.major}.{sys.version_info.minor}: it has {made_for or 'no _engine'}. "
            "Read them with the command (`stepscope analyze RUN --json`), or install the wheel of "
            "this Python"
        ) from error
    return _engine


def __getattr__(name):
    # A program that only marks its steps never loads what reads traces.
    if name in _READING:
        _load_engine()
        from stepscope import results, run, table

        return next(getattr(module, name) for module in (run, table, results) if hasattr(module, name))
    if name == "__version__":
        from stepscope import _capture

        return _capture.version
    raise AttributeError(f"module 'stepscope' has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | _READING | {"__version__"})
