"""The hooks of Trainer.fit() with automatic optimization, in their order."""

from types import SimpleNamespace


class Trainer:
    def __init__(self, callbacks, epochs=1, validate_every=None, fails_at=None):
        self.callbacks, self.epochs = callbacks, epochs
        self.validate_every, self.fails_at = validate_every, fails_at
        self.fit_loop = SimpleNamespace(epoch_loop=SimpleNamespace(total_batch_idx=-1))

    def _call(self, hook, *arguments):
        for callback in self.callbacks:
            getattr(callback, hook)(self, None, *arguments)

    def fit(self, loader, validation=()):
        try:
            self._fit(loader, validation)
        except BaseException as error:
            self._call("on_exception", error)
            raise

    def _validate(self, loader):
        self._call("on_validation_start")
        for batch in loader:
            self._call("on_validation_batch_start", batch, 0)
            self._call("on_validation_batch_end", None, batch, 0)
        self._call("on_validation_end")

    def _fit(self, loader, validation):
        self._call("on_sanity_check_start")
        self._validate(validation)
        self._call("on_sanity_check_end")
        self._call("on_train_start")
        for _ in range(self.epochs):
            self._call("on_train_epoch_start")
            for index, batch in enumerate(loader):
                self.fit_loop.epoch_loop.total_batch_idx += 1
                self._call("on_train_batch_start", batch, index)
                if self.fails_at == self.fit_loop.epoch_loop.total_batch_idx:
                    raise ValueError("training failed")
                self._call("on_before_zero_grad", None)
                self._call("on_before_backward", None)
                self._call("on_after_backward")
                self._call("on_before_optimizer_step", None)
                self._call("on_train_batch_end", None, batch, index)
                if self.validate_every and (index + 1) % self.validate_every == 0:
                    self._validate(validation)
            self._call("on_train_epoch_end")
        self._call("on_train_end")
