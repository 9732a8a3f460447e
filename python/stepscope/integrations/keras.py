"""Keras and TensorFlow: steps and evaluation of model.fit().

    from stepscope.integrations.keras import StepscopeCallback
    model.fit(…, callbacks=[StepscopeCallback()])

A step lasts from one call of the compiled train function to the next. The function fetches its batch
itself, so that the wait for data is in the step and not marked apart. With steps_per_execution Keras
calls once for several batches, which are one step here. Written for Keras 2.11 to 3.12.
"""

from stepscope.integrations._hooks import HookedSteps

try:
    from keras.callbacks import Callback
except ImportError:
    try:
        from tensorflow.keras.callbacks import Callback
    except ImportError as error:
        raise ImportError("this needs Keras 2.11 or later: pip install keras") from error


class StepscopeCallback(Callback):
    """record: only these steps become a run, see HookedSteps; first: number of the first.

    It has no hook behind a batch: Keras would wait for the device there to have its numbers.
    """

    _supports_tf_logs = True  # Keras 2: nor before one

    def __init__(self, record=None, first=0):
        super().__init__()
        self._steps = HookedSteps(record)
        self._next = first

    def on_train_begin(self, logs=None):
        self._steps.end()  # no hook tells that a training failed

    def on_train_batch_begin(self, batch, logs=None):
        self._steps.begin_step(self._next)
        self._next += 1

    def on_test_begin(self, logs=None):
        self._steps.end_step()
        self._steps.begin_phase("evaluate")

    def on_test_end(self, logs=None):
        self._steps.end_phase()

    def on_epoch_end(self, epoch, logs=None):
        self._steps.end_step()

    def on_train_end(self, logs=None):
        self._steps.end()
