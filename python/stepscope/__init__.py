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


def __getattr__(name):
    # A program that only marks its steps never loads what reads traces.
    if name in _READING:
        from stepscope import results, run, table

        return next(getattr(module, name) for module in (run, table, results) if hasattr(module, name))
    if name == "__version__":
        from stepscope import _engine

        return _engine.__version__
    raise AttributeError(f"module 'stepscope' has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | _READING | {"__version__"})
