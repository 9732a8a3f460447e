"""DeepSpeed: forward, backward and step of an engine.

    engine, _, loader, _ = deepspeed.initialize(…)
    end = stepscope.integrations.deepspeed.mark_engine(engine)
    for batch in stepscope.steps(loader): ...

Written for DeepSpeed 0.9 to 0.18. With train_batch() of a pipeline engine, mark that call as your
step: `with stepscope.step(engine.global_steps): engine.train_batch(…)`.
"""

from stepscope.integrations._hooks import mark_calls


def mark_engine(engine):
    """Marks the three calls of the engine as phases. Returns a function that ends it."""
    return mark_calls(engine, {"forward": "forward", "backward": "backward", "step": "optimizer"})
