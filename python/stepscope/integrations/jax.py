"""JAX: steps that its own profiler sees as well.

    for i, batch in enumerate(stepscope.wait(loader)):
        with stepscope.integrations.jax.step(i):
            state = train_step(state, batch)

JAX returns before devices have computed: a step is how long the host takes, unless it waits with
jax.block_until_ready(state). Written for JAX 0.4 to 0.8.
"""

import contextlib

from stepscope import capture


@contextlib.contextmanager
def step(index, name="train"):
    """A step for Stepscope, and for jax.profiler, whose traces Stepscope opens."""
    import jax

    with capture.step(index), jax.profiler.StepTraceAnnotation(name, step_num=index):
        yield
