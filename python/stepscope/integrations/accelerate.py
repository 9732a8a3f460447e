"""Accelerate: backward and optimizer of a loop of your own.

    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    end = stepscope.integrations.accelerate.mark(accelerator, optimizer)
    for batch in stepscope.steps(loader): ...

Written for Accelerate 0.20 to 1.11.
"""

from stepscope.integrations._hooks import mark_calls


def mark(accelerator, *optimizers):
    """Marks accelerator.backward() and each optimizer's step() as phases. Returns a function that
    ends it."""
    ends = [mark_calls(accelerator, {"backward": "backward"})]
    ends += [mark_calls(optimizer, {"step": "optimizer"}) for optimizer in optimizers]
    return lambda: [end() for end in ends]
