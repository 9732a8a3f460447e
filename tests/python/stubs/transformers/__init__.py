"""The events of Trainer.train(), in their order, with the flags that its own callback sets first."""

from types import SimpleNamespace


class TrainerCallback:
    def __getattr__(self, name):
        if name.startswith("on_"):
            return lambda *arguments, **named: None
        raise AttributeError(name)


class Trainer:
    def __init__(self, callbacks, accumulate=1, evaluate_every=None, save_every=None, at_epoch_end=False, fails=False):
        self.callbacks, self.accumulate = callbacks, accumulate
        self.evaluate_every, self.save_every = evaluate_every, save_every
        self.at_epoch_end, self.fails = at_epoch_end, fails
        self.state = SimpleNamespace(global_step=0)
        self.control = SimpleNamespace(should_evaluate=False, should_save=False)

    def _call(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(None, self.state, self.control, model=None, optimizer=None)

    def train(self, loader):
        self._call("on_train_begin")
        self._call("on_epoch_begin")
        for index, _ in enumerate(loader):
            if index % self.accumulate == 0:
                self.control.should_evaluate = self.control.should_save = False
                self._call("on_step_begin")
                if self.fails:
                    raise MemoryError("out of memory")
            if (index + 1) % self.accumulate != 0:
                self._call("on_substep_end")
                continue
            self._call("on_pre_optimizer_step")
            self._call("on_optimizer_step")
            self.state.global_step += 1
            done = self.state.global_step
            self.control.should_evaluate = bool(self.evaluate_every) and done % self.evaluate_every == 0
            self.control.should_save = bool(self.save_every) and done % self.save_every == 0
            self._call("on_step_end")
            self._evaluate_and_save()
        self.control.should_evaluate = self.control.should_save = self.at_epoch_end
        self._call("on_epoch_end")
        self._evaluate_and_save()
        self._call("on_train_end")

    def _evaluate_and_save(self):
        if self.control.should_evaluate:
            self.control.should_evaluate = False
            self._call("on_evaluate")
        if self.control.should_save:
            self.control.should_save = False
            self._call("on_save")
