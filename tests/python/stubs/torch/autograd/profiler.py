import contextlib


@contextlib.contextmanager
def emit_nvtx(enabled=True, record_shapes=False):
    yield
