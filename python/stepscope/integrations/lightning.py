"""Lightning: steps, phases, validation and waits for data of a Trainer.

    from stepscope.integrations.lightning import StepscopeCallback
    Trainer(callbacks=[StepscopeCallback()])

A step is a batch: it lasts until the next one begins, so that the wait for that one is in it. It
ends earlier where validation or the end of the epoch follows. Written for Lightning 2.0 to 2.6.
"""

from stepscope.integrations import torch as marks
from stepscope.integrations._hooks import HookedSteps

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    try:
        from pytorch_lightning.callbacks import Callback
    except ImportError as error:
        raise ImportError("this needs Lightning 2.0 or later: pip install lightning") from error


class StepscopeCallback(Callback):
    """record: only these steps become a run, see HookedSteps; waits: mark DataLoaders."""

    def __init__(self, record=None, waits=True):
        super().__init__()
        self._steps = HookedSteps(record)
        self._marks_waits = waits
        self._end_waits = None

    def on_train_start(self, trainer, pl_module):
        self._end()
        if self._marks_waits:
            self._end_waits = marks.mark_loaders()

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self._steps.begin_step(trainer.fit_loop.epoch_loop.total_batch_idx)
        # In a step that you optimize by hand no hook says where the next forward begins.
        if getattr(pl_module, "automatic_optimization", True):
            self._steps.begin_phase("forward")

    def on_before_backward(self, trainer, pl_module, loss):
        self._steps.begin_phase("backward")

    def on_after_backward(self, trainer, pl_module):
        self._steps.end_phase()

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        if getattr(pl_module, "automatic_optimization", True):
            self._steps.begin_phase("optimizer")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self._steps.end_phase()

    def on_validation_start(self, trainer, pl_module):
        self._steps.end_step()
        self._steps.begin_phase("evaluate")

    def on_validation_end(self, trainer, pl_module):
        self._steps.end_phase()

    def on_train_epoch_end(self, trainer, pl_module):
        self._steps.end_step()

    def on_train_end(self, trainer, pl_module):
        self._end()

    def on_exception(self, trainer, pl_module, exception):
        self._end()

    def _end(self):
        self._steps.end()
        if self._end_waits is not None:
            self._end_waits()
            self._end_waits = None
