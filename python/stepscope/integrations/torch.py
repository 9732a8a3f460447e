"""PyTorch: waits of its loaders, phases of its optimizers, its modules and its operators.

Written for PyTorch 2.1 to 2.9. A training loop of your own needs none of it:

    for batch in stepscope.steps(loader): ...
"""

import functools

from stepscope import _capture, capture


_loader_marks = []  # callers that have not ended it: the first one patched, the last one restores


def mark_loaders():
    """From now on each wait for a batch of a DataLoader is marked, in every loop of the process.

    Trainers that fetch batches themselves are marked so, too. Returns a function that ends it.
    """
    from torch.utils.data import dataloader

    iterator = getattr(dataloader, "_BaseDataLoaderIter", None)
    fetch = getattr(iterator, "__next__", None)
    if fetch is None:
        raise RuntimeError(
            "this version of PyTorch has no _BaseDataLoaderIter: mark the loop with stepscope.wait(loader)"
        )
    if not _loader_marks:
        iterator.__next__ = _marked_fetch(fetch)
    token = object()
    _loader_marks.append(token)

    def end():
        if token not in _loader_marks:
            return
        _loader_marks.remove(token)
        marked = iterator.__next__
        if not _loader_marks and hasattr(marked, "_stepscope_fetch"):
            iterator.__next__ = marked._stepscope_fetch

    return end


def _marked_fetch(fetch):
    waits = capture.input_wait("wait for batch")

    @functools.wraps(fetch)
    def marked(self):
        with waits:
            return fetch(self)

    marked._stepscope_fetch = fetch
    return marked


def mark_optimizer(optimizer, name="optimizer"):
    """Marks each step() of an optimizer as a phase. Returns a function that ends it."""
    phase = capture.phase(name)

    def begin(*_):
        phase.__enter__()

    def end(*_):
        phase.__exit__(None, None, None)

    handles = [optimizer.register_step_pre_hook(begin), optimizer.register_step_post_hook(end)]
    return lambda: [handle.remove() for handle in handles]


def mark_modules(model, backward=False):
    """Marks forward of every module by its name, such as "layers.3.attention".

    Kernels that are launched inside belong to it. Each mark costs a microsecond or two of Python,
    and torch.compile breaks its graphs at hooks: use it to look, not always.

    backward: mark the gradients, too. PyTorch's hooks for that fail in models that change values in
    place (ReLU(inplace=True), x += shortcut), and say nothing of modules whose inputs need no
    gradient. Returns a function that ends it.
    """
    handles = []
    for name, module in model.named_modules():
        handles += _mark_module(module, name or type(model).__name__, backward)
    return lambda: [handle.remove() for handle in handles]


def _mark_module(module, name, backward):
    forward = capture.work(name)
    open_ranges = []  # one for each call that waits for its gradients

    def forward_begins(*_):
        while open_ranges:  # no gradient has come for the inputs of an earlier call
            _capture.end_range(open_ranges.pop())
        forward.__enter__()

    def forward_ends(*_):
        forward.__exit__(None, None, None)

    handles = [
        module.register_forward_pre_hook(forward_begins),
        # Also where an exception leaves the module.
        module.register_forward_hook(forward_ends, always_call=True),
    ]
    if not backward:
        return handles

    # The autograd engine may run modules of two branches in turn: these ranges need not nest.
    def backward_begins(*_):
        open_ranges.append(_capture.start_range(f"{name} (backward)"))

    def backward_ends(*_):
        if open_ranges:
            _capture.end_range(open_ranges.pop())

    handles.append(module.register_full_backward_pre_hook(backward_begins))
    handles.append(module.register_full_backward_hook(backward_ends))
    return handles


def mark_operators():
    """`with mark_operators():` marks every operator of PyTorch, forward and backward.

    It is PyTorch's own emit_nvtx(), which needs PyTorch with CUDA and slows a training down.
    """
    from torch.autograd import profiler

    return profiler.emit_nvtx()
