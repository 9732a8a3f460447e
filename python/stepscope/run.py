"""Runs that were recorded: their analysis, their tables, and what a change would give."""

import builtins
import json
import os

from stepscope import _engine
from stepscope.errors import QueryError, TraceError
from stepscope.results import Analysis, Record
from stepscope.table import Table


def _paths_of(paths):
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    if not isinstance(paths, (list, tuple, set, frozenset)) and not hasattr(paths, "__iter__"):
        raise TypeError(f"stepscope.open: give paths, not {type(paths).__name__}")
    found = [os.fsencode(path) for path in paths]
    if not found:
        raise TraceError("no run was named")
    return found


def open(*paths, one_run=False):
    """Reads and analyzes a run: a folder, a trace file, or the files of its processes.

    Formats are those of `stepscope analyze`: Stepscope's own, PyTorch, Nsight Systems, XLA and
    others. one_run: files of different times are one run nevertheless. Raises TraceError.
    """
    if len(paths) == 1:
        paths = _paths_of(paths[0])
    return Run(_engine.open(_paths_of(paths), one_run))


class Run:
    """A run that is open. Any thread may ask it; close() or `with` gives its memory back."""

    def __init__(self, native):
        self._native = native
        self._analysis = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Gives the memory back. What was returned before stays; asking raises ClosedError."""
        self._native.close()
        self._analysis = None

    @property
    def closed(self):
        """After close(), and in a process that was forked since."""
        return self._native.closed

    @property
    def paths(self):
        """Where it was read from."""
        return [os.fsdecode(path) for path in self._native.paths]

    @property
    def notes(self):
        """Sentences about what could not be read or recorded."""
        return self._native.notes

    def analyze(self, steps=None, rank=None):
        """All numbers and findings, as `stepscope analyze --json` has them.

        steps: (first, last) or a range, only these; rank: only this one. Raises PartError.
        """
        if steps is None and rank is None:
            if self._analysis is None or self.closed:
                self._analysis = Analysis(self._native.analysis_json())
            return self._analysis
        if rank is not None and not _is_integer(rank):
            raise TypeError(f"rank: give an integer, not {rank!r}")
        return Analysis(self._native.analysis_json(_step_pair(steps), rank))

    @property
    def findings(self):
        """What costs time, the most first."""
        return self.analyze().findings

    def query(self, sql):
        """The rows of one SELECT in SQLite's SQL, as a Table. Raises QueryError.

        docs/reference/QUERY.md lists the tables, and so does stepscope.tables(). Times are ns.
        """
        if not isinstance(sql, str):
            raise TypeError(f"query: give SQL as a str, not {type(sql).__name__}")
        try:
            return Table(self._native.query(sql))
        except QueryError as error:
            raise QueryError(_with_place(str(error), sql, error.offset), error.offset) from None

    def table(self, name, columns=None):
        """A whole table, such as "kernels"; columns: only these. Raises QueryError."""
        if isinstance(columns, str):
            columns = [columns]
        if not isinstance(name, str):
            raise TypeError(f"table: give its name as a str, not {type(name).__name__}")
        columns = list(columns or [])
        return Table(self._native.table(name, columns), lambda: self._native.table(name, columns))

    def report(self, path="report.html", language="en"):
        """Writes the page of `stepscope report` and returns its path. language: en or zh."""
        if language not in ("en", "zh"):
            raise ValueError(f"language: give en or zh, not {language!r}")
        page = self._native.report_html(language)
        path = os.fspath(path)
        part = f"{path}.{os.getpid()}.part"
        try:
            with builtins.open(part, "w", encoding="utf-8", newline="") as file:
                file.write(page)
            os.replace(part, path)
        except OSError as error:
            if os.path.exists(part):
                os.remove(part)
            raise type(error)(error.errno, error.strerror, path) from None
        return path

    def whatif(self, *changes, together=False):
        """What changes would give, as `stepscope whatif --json`; without any, the findings' fixes.

        changes: such as "input=0", "kernel:gemm=/1.5" (docs/guide/WHATIF.md); together: all at once.
        Raises ChangeError.
        """
        if not all(isinstance(change, str) for change in changes):
            raise TypeError('whatif: give each change as a str, whatif("input=0", "sync=off")')
        return Record(json.loads(self._native.whatif_json(list(changes), together)))

    def __repr__(self):
        if self.closed:
            return "<stepscope.Run, closed>"
        return f"<stepscope.Run {', '.join(self.paths)}>"

    def __str__(self):
        if self.closed:
            return repr(self)
        return self._native.analysis_text()

    def _repr_html_(self):
        if self.closed:
            return None
        return self.analyze()._repr_html_()


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _step_pair(steps):
    """(first, last) of what analyze() takes."""
    if steps is None:
        return None
    if isinstance(steps, range):
        steps = (steps.start, steps.stop - 1) if steps.step == 1 else ()
    is_pair = isinstance(steps, (tuple, list)) and len(steps) == 2 and all(map(_is_integer, steps))
    if not is_pair:
        raise TypeError("steps: give (first, last), or a range without gaps")
    if steps[0] > steps[1]:
        raise ValueError(f"steps: the first, {steps[0]}, is behind the last, {steps[1]}")
    return tuple(steps)


def _with_place(message, sql, offset):
    """The line of the SQL with a mark below the place, as the command prints it."""
    if offset is None:
        return message
    before = sql.encode()[:offset].decode(errors="replace")
    line = sql.split("\n")[before.count("\n")]
    return f"{message}\n  {line}\n  {' ' * len(before.rpartition(chr(10))[2])}^"


class _Opened:
    """Runs that are open, or are opened from their paths for one question."""

    def __enter__(self):
        self._opened = []
        return self

    def __exit__(self, *_):
        for run in self._opened:
            run.close()

    def native(self, run):
        if not isinstance(run, Run):
            run = open(run)
            self._opened.append(run)
        return run._native

    def natives(self, runs):
        return [self.native(run) for run in _as_list(runs)]


def _as_list(runs):
    return [runs] if isinstance(runs, (Run, str, bytes, os.PathLike)) else list(runs)


def compare(base, candidate, min_effect_percent=2.0, paired=False):
    """What changed between runs and whether it is real, as `stepscope compare --json`.

    base, candidate: a run or several, open or by path. min_effect_percent: smallest change of the
    step that counts. paired: both sides were made in turn. Raises ComparisonError.
    """
    with _Opened() as runs:
        before, after = runs.natives(base), runs.natives(candidate)
        return Record(json.loads(_engine.compare(before, after, min_effect_percent, paired)))


def check(candidate, baseline=(), budget=None, name="", min_effect_percent=2.0, paired=False):
    """The gate of a CI, as `stepscope check --json`: `result.verdict` is passed, failed or unclear.

    candidate: the new runs, open or by path. baseline: runs, or files and folders of baselines.
    budget: a file of limits. name: of the workload, for both (docs/guide/GATE.md). Raises CheckError.
    """
    with _Opened() as runs:
        sides = []
        for each in _as_list(baseline):
            is_file = not isinstance(each, Run) and not _engine.is_run_for_gate(os.fsencode(each))
            sides.append(os.fsencode(each) if is_file else runs.native(each))
        limits = b"" if budget is None else os.fsencode(budget)
        new = runs.natives(candidate)
        return Record(json.loads(_engine.check(new, sides, limits, name, min_effect_percent, paired)))


def tables():
    """Every table that query() and table() know: {name: (meaning, [(column, meaning), …])}."""
    return _engine.schema()


__all__ = ["Run", "check", "compare", "open", "tables"]
