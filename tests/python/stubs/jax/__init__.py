from types import SimpleNamespace
import contextlib

seen = []


@contextlib.contextmanager
def _annotation(name, step_num):
    seen.append((name, step_num))
    yield


profiler = SimpleNamespace(StepTraceAnnotation=_annotation)
