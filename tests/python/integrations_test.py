"""Marks of frameworks: the steps, phases and waits that a recorded training has. The frameworks are
stand-ins (stubs/README.md)."""

import os
import unittest

import stepscope
from support import BUILD, PROGRAM, SOURCE, TestWithFolder, main, python


class Integration(TestWithFolder):
    def record(self, code, *options):
        path = f"{SOURCE / 'tests/python/stubs'}:{BUILD / 'python'}"
        made = python(
            code,
            PROGRAM,
            "record",
            *options,
            "-o",
            self.folder / "run",
            "--",
            env={**os.environ, "PYTHONPATH": path},
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout

    def events(self, where="run"):
        """(kind, name, depth) of all ranges, by time."""
        with stepscope.open(self.folder / where) as run:
            table = run.query(
                "select kind, name, depth from events where kind in ('step', 'phase', 'input_wait', 'range') order by start_ns, depth"
            )
            notes = " ".join(run.notes)
            steps = [step.step for step in run.analyze().hosts[0].steps] if run.analyze().hosts else []
        self.assertNotIn("still open", notes)
        return list(table), steps

    def names(self, kind, events):
        return [name for its, name, _ in events if its == kind]


class Lightning(Integration):
    def test_has_steps_with_their_phases_and_waits(self):
        self.record(
            """
from lightning.pytorch import Trainer
from torch.utils.data import DataLoader
from stepscope.integrations.lightning import StepscopeCallback
Trainer([StepscopeCallback()], epochs=2, validate_every=2).fit(DataLoader([1, 2, 3]), [7])
for _ in DataLoader([1]): pass
"""
        )
        events, steps = self.events()
        self.assertEqual(steps, [0, 1, 2, 3, 4, 5])
        self.assertEqual(
            self.names("phase", events),
            ["evaluate"]
            + (["forward", "backward", "optimizer"] * 2 + ["evaluate"] + ["forward", "backward", "optimizer"]) * 2,
        )
        # The wait for the first batch of an epoch, and for one behind a validation, are in no step.
        waits = [depth for kind, _, depth in events if kind == "input_wait"]
        self.assertEqual(waits, [0, 1, 0, 1, 0, 1, 0, 1])
        self.assertEqual(len(waits), 8, "none after the training")

    def test_leaves_nothing_open_where_a_training_fails(self):
        self.record(
            """
import stepscope
from lightning.pytorch import Trainer
from stepscope.integrations.lightning import StepscopeCallback
try:
    Trainer([StepscopeCallback()], fails_at=1).fit([1, 2, 3])
except ValueError:
    pass
with stepscope.phase("after"): pass
"""
        )
        events, steps = self.events()
        self.assertEqual(steps, [0, 1])
        self.assertEqual(events[-1], ("phase", "after", 0))

    def test_goes_on_where_its_steps_cannot_be_recorded(self):
        made = self.record(
            """
import warnings
from lightning.pytorch import Trainer
from stepscope.integrations.lightning import StepscopeCallback
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    Trainer([StepscopeCallback(record=range(1, 2)), StepscopeCallback(record=range(3, 4))]).fit(range(5))
print([str(warning.message) for warning in caught])
""",
            "--from-code",
        )
        self.assertIn("these steps are not recorded: recording has ended", made)

    def test_records_the_steps_that_are_asked_for(self):
        self.record(
            """
from lightning.pytorch import Trainer
from stepscope.integrations.lightning import StepscopeCallback
Trainer([StepscopeCallback(record=range(2, 4))]).fit(range(6))
""",
            "--from-code",
            "--repeat",
        )
        self.assertEqual(self.events("run/window-1")[1], [2, 3])
        self.assertEqual(len(list((self.folder / "run").iterdir())), 1)


class Transformers(Integration):
    def test_has_steps_of_the_optimizer(self):
        self.record(
            """
from transformers import Trainer
from torch.utils.data import DataLoader
from stepscope.integrations.transformers import StepscopeCallback
callback = StepscopeCallback()
try: Trainer([callback], fails=True).train(DataLoader([1]))
except MemoryError: pass
Trainer([callback], accumulate=2, evaluate_every=2, save_every=4, at_epoch_end=True).train(DataLoader(range(8)))
list(DataLoader([1, 2]))
"""
        )
        events, steps = self.events()
        self.assertEqual(len(steps), 5, "one of the training that failed")
        phases = ["forward and backward", "optimizer"]
        self.assertEqual(
            self.names("phase", events),
            phases[:1] + phases * 2 + ["evaluate"] + phases * 2 + ["evaluate", "checkpoint"] * 2,
        )
        self.assertEqual([depth for kind, _, depth in events if kind == "step"], [0] * 5)
        self.assertEqual(len(self.names("input_wait", events)), 10, "none behind the training")


class Others(Integration):
    def test_keras_has_steps_over_all_epochs(self):
        self.record(
            """
from keras import Model
from stepscope.integrations.keras import StepscopeCallback
Model().fit(3, 2, [StepscopeCallback()])
"""
        )
        events, steps = self.events()
        self.assertEqual(steps, [0, 1, 2, 3, 4, 5])
        self.assertEqual(self.names("phase", events), ["evaluate", "evaluate"])

    def test_deepspeed_and_accelerate_mark_the_calls(self):
        self.record(
            """
import stepscope
from stepscope.integrations import accelerate, deepspeed
class Engine:
    def forward(self, x): return x + 1
    def backward(self, loss): return loss
    def step(self): return "stepped"
    def __call__(self, x): return self.forward(x)
engine = Engine()
engine.step = lambda: "own"
end = deepspeed.mark_engine(engine)
for batch in stepscope.steps([1]):
    assert engine.backward(engine(batch)) == 2 and engine.step() == "own"
end()
assert engine.step() == "own" and engine.forward.__func__ is Engine.forward
deepspeed.mark_engine(engine)
assert engine.backward.__self__ is engine and engine.backward.__func__.__name__ == "backward"

accelerator, optimizer = Engine(), Engine()
end = accelerate.mark(accelerator, optimizer)
accelerator.backward(1), optimizer.step()
end()
accelerator.backward(1), optimizer.step()
"""
        )
        events, _ = self.events()
        self.assertEqual(
            self.names("phase", events), ["forward", "backward", "optimizer", "backward", "optimizer"]
        )

    def test_jax_has_the_steps_of_both(self):
        said = self.record(
            """
import jax
from stepscope.integrations.jax import step
for i in range(2):
    with step(i): pass
print(jax.seen)
"""
        )
        self.assertEqual(said, "[('train', 0), ('train', 1)]\n")
        self.assertEqual(self.events()[1], [0, 1])


class Torch(Integration):
    def test_names_modules_forward_and_backward(self):
        self.record(
            """
import torch
from stepscope.integrations import torch as marks
class Net(torch.Module): pass
class Broken(torch.Module):
    def forward(self, x): raise KeyError(x)
net = Net(layers=torch.Module(attention=torch.Module()))
end = marks.mark_modules(net, backward=True)
assert net(1) == 4
net.backward()
optimizer = torch.Optimizer()
end_optimizer = marks.mark_optimizer(optimizer)
optimizer.step()
broken = Broken()
end_broken = marks.mark_modules(broken)
try: broken(1)
except KeyError: pass
for stop in (end, end_optimizer, end_broken): stop()
net(1), net.backward(), optimizer.step()
with marks.mark_operators(): pass
"""
        )
        events, _ = self.events()
        self.assertEqual(
            [(name, depth) for kind, name, depth in events if "backward" not in name],
            [("Net", 0), ("layers", 1), ("layers.attention", 2), ("optimizer", 0), ("Broken", 0)],
        )
        self.assertEqual(
            [name for _, name, _ in events if "backward" in name],
            ["Net (backward)", "layers (backward)", "layers.attention (backward)"],
        )

    def test_ends_gradients_that_never_came(self):
        self.record(
            """
import torch
from stepscope.integrations import torch as marks
net = torch.Module()
marks.mark_modules(net, backward=True)
net._back.clear()  # its inputs need no gradient: the hook is not called
for _ in range(3):
    net(1)
    net.backward()
net(1)
"""
        )
        events, _ = self.events()
        self.assertEqual(len([name for _, name, _ in events if "backward" in name]), 3)

    def test_marks_loaders_once(self):
        self.record(
            """
from torch.utils.data import DataLoader, dataloader
from stepscope.integrations.torch import mark_loaders
plain = dataloader._BaseDataLoaderIter.__next__
end, again = mark_loaders(), mark_loaders()
assert list(DataLoader([1, 2])) == [1, 2]
again(), again()
assert dataloader._BaseDataLoaderIter.__next__ is not plain
end()
assert dataloader._BaseDataLoaderIter.__next__ is plain
list(DataLoader([1, 2]))
"""
        )
        events, _ = self.events()
        self.assertEqual(self.names("input_wait", events), ["wait for batch"] * 3)


class Hooks(unittest.TestCase):
    def test_refuse_a_window_that_is_none(self):
        from stepscope.integrations._hooks import HookedSteps

        for wrong in (5, range(0), range(0, 10, 2), "1:2"):
            with self.assertRaisesRegex(ValueError, "range"):
                HookedSteps(record=wrong)


if __name__ == "__main__":
    main()
