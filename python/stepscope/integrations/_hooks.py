"""Steps and phases whose begin and end are different calls, as hooks of frameworks are."""

import functools
import types
import warnings

from stepscope import capture
from stepscope.errors import CaptureError


class HookedSteps:
    """What is open is known: a hook that does not come leaves nothing open for long.

    record: a range of steps, whose trace is a run of its own: for programs under `stepscope record
    --from-code --repeat` (marks before the window would come too early without it). A window that
    cannot open is a warning, and the training goes on.
    """

    def __init__(self, record=None):
        if record is not None and (not isinstance(record, range) or record.step != 1 or not record):
            raise ValueError("record: give a range of steps, such as range(100, 105)")
        self._record = record
        self._is_recording = False
        self._index = None
        self._step = self._phase = None

    def begin_step(self, index):
        self.end_step()
        if self._record is not None and not self._is_recording and index in self._record:
            self._start()
        self._index = index
        self._step = capture.step(index)
        self._step.__enter__()

    def end_step(self):
        self.end_phase()
        if self._step is None:
            return
        self._step.__exit__(None, None, None)
        self._step = None
        if self._is_recording and self._index + 1 >= self._record.stop:
            self._stop()

    def begin_phase(self, name):
        self.end_phase()
        self._phase = capture.phase(name)
        self._phase.__enter__()

    def end_phase(self):
        if self._phase is not None:
            self._phase.__exit__(None, None, None)
            self._phase = None

    def end(self):
        """The training is over, or fails."""
        self.end_step()
        if self._is_recording:
            self._stop()

    def _start(self):
        try:
            capture.start()
            self._is_recording = True
        except CaptureError as error:
            self._record = None
            warnings.warn(f"these steps are not recorded: {error}", stacklevel=4)

    def _stop(self):
        self._is_recording, self._record = False, None
        try:
            capture.stop()
        except CaptureError as error:
            warnings.warn(f"the trace of these steps is not complete: {error}", stacklevel=4)


def mark_calls(owner, phases):
    """The methods of an object that are named, {name: phase}, are phases from now on. Returns a
    function that ends it."""
    before = {name: vars(owner).get(name) for name in phases}
    for name, phase in phases.items():
        setattr(owner, name, _marked_method(owner, getattr(owner, name), capture.phase(phase)))

    def end():
        for name, own in before.items():
            if own is not None:
                setattr(owner, name, own)
            elif name in vars(owner):
                delattr(owner, name)

    return end


def _marked_method(owner, method, phase):
    """Bound, as the method is: learning-rate schedulers look at what it is bound to."""

    @functools.wraps(method)
    def marked(_, *arguments, **named):
        with phase:
            return method(*arguments, **named)

    return types.MethodType(marked, owner)
