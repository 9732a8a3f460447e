"""Hugging Face's Trainer: steps, phases, evaluation, checkpoints and waits for data.

    from stepscope.integrations.transformers import StepscopeCallback
    Trainer(…, callbacks=[StepscopeCallback()])

A step is one of the optimizer, with all batches that it accumulates. It lasts until the next one
begins, or ends where evaluation, a checkpoint or the end of the epoch follows. Written for
transformers 4.30 to 4.57; before 4.45 there is no phase of the optimizer.
"""

from transformers import TrainerCallback

from stepscope.integrations import torch as marks
from stepscope.integrations._hooks import HookedSteps


class StepscopeCallback(TrainerCallback):
    """record: only these steps become a run, see HookedSteps; waits: mark DataLoaders."""

    def __init__(self, record=None, waits=True):
        self._steps = HookedSteps(record)
        self._marks_waits = waits
        self._end_waits = None

    def on_train_begin(self, args, state, control, **_):
        self._end()  # no hook tells that a training failed
        if self._marks_waits:
            self._end_waits = marks.mark_loaders()

    def on_step_begin(self, args, state, control, **_):
        self._steps.begin_step(state.global_step)
        self._steps.begin_phase("forward and backward")

    def on_pre_optimizer_step(self, args, state, control, **_):
        self._steps.begin_phase("optimizer")

    def on_optimizer_step(self, args, state, control, **_):
        self._steps.end_phase()

    def on_step_end(self, args, state, control, **_):
        self._steps.end_phase()
        self._begin_what_follows(control)

    def on_epoch_end(self, args, state, control, **_):
        self._steps.end_step()
        self._begin_what_follows(control)

    def on_evaluate(self, args, state, control, **_):
        # With several data sets it comes for each; the next step ends what is open.
        if not control.should_evaluate and control.should_save:
            self._steps.begin_phase("checkpoint")
        elif not control.should_evaluate:
            self._steps.end_phase()

    def on_save(self, args, state, control, **_):
        self._steps.end_phase()

    def on_train_end(self, args, state, control, **_):
        self._end()

    def _begin_what_follows(self, control):
        if control.should_evaluate or control.should_save:
            self._steps.end_step()
            self._steps.begin_phase("evaluate" if control.should_evaluate else "checkpoint")

    def _end(self):
        self._steps.end()
        if self._end_waits is not None:
            self._end_waits()
            self._end_waits = None
