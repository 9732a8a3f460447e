"""Marks of a program in Python are in the trace that is recorded of it."""

import stepscope
from support import BUILD, PROGRAM, TestWithFolder, main, python

PROGRAM_THAT_TRAINS = """
import stepscope, time

class Index:  # as numpy's integers are
    def __init__(self, value): self.value = value
    def __index__(self): return self.value

@stepscope.phase("backward")
def backward(x):
    \"\"\"Doubles.\"\"\"
    return 2 * x

stepscope.name_thread("trainer")
for i, batch in enumerate(stepscope.wait([10, 20, 30])):
    with stepscope.step(i):
        with stepscope.phase("forward"):
            time.sleep(0.001)
        with stepscope.memory_category("weights"):
            assert backward(batch) == 2 * batch
        with stepscope.work("décode"):
            pass
        stepscope.note("loss", 1 / (i + 1))
        stepscope.note("tokens", Index(2**53 + 1))
    stepscope.note("hash", 2**64 - 1)
assert backward.__doc__ == "Doubles." and backward.__name__ == "backward"
"""


class Marks(TestWithFolder):
    def record(self, code, *options):
        return python(code, PROGRAM, "record", *options, "-o", self.folder / "run", "--")

    def test_are_recorded(self):
        made = self.record(PROGRAM_THAT_TRAINS)
        self.assertEqual(made.returncode, 0, made.stderr)
        with stepscope.open(self.folder / "run") as run:
            steps = run.query("select id from events where kind = 'step'")
            names = run.query("select name, count(*) as n from events group by name").to_dicts()
            count = {row["name"]: row["n"] for row in names}
            self.assertEqual(len(steps), 3)
            for name in ("forward", "backward", "décode"):
                self.assertEqual(count[name], 3, count)
            for name in ("loss", "tokens"):  # a mark, and a point of the curve
                self.assertEqual(count[name], 6, count)
            payloads = {row["name"]: row["payload"] for row in run.table("ranges").to_dicts()}
            self.assertEqual(payloads["tokens"], 2**53 + 1)
            self.assertEqual(payloads["hash"], 2**64 - 1)
            self.assertEqual(count["wait for batch"], 4, "the last finds no batch")
            self.assertIn("trainer", run.query("select distinct track_name as t from events").t.to_list())

    def test_of_steps_have_their_wait_inside(self):
        made = self.record(
            """
import stepscope, time
def slow():
    for i in range(4):
        time.sleep(0.002)
        yield i
seen = []
for batch in stepscope.steps(slow(), first=7):
    seen.append(batch)
for batch in stepscope.steps("abc", first=20):
    break
assert seen == [0, 1, 2, 3] and list(stepscope.steps([])) == [] and len(stepscope.steps("abc")) == 3
assert "counted from 0" in stepscope.step.__doc__ and stepscope.note.__text_signature__ == "($module, name, value, /)"
with stepscope.work("outside"): pass
"""
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        with stepscope.open(self.folder / "run") as run:
            waits = run.query("select depth from events where kind = 'input_wait' order by start_ns")
            self.assertEqual(waits.depth.to_list(), [0, 1, 1, 1, 1, 0, 0])
            self.assertEqual(len(run.query("select 1 from events where kind = 'step'")), 5)
            self.assertEqual(run.query("select depth from events where name = 'outside'").depth[0], 0)
            self.assertEqual([step.step for step in run.analyze().hosts[0].steps], [7, 8, 9, 10, 20])

    def test_do_nothing_where_nothing_records(self):
        made = python(PROGRAM_THAT_TRAINS)
        self.assertEqual((made.returncode, made.stderr), (0, ""))

    def test_refuse_what_they_cannot_say(self):
        for call in (
            lambda: stepscope.step("one"),
            lambda: stepscope.phase(3),
            lambda: stepscope.note("loss"),
            lambda: stepscope.note("loss", "small"),
            lambda: stepscope.note(1, 2),
            lambda: stepscope.wait(3).__next__(),
        ):
            with self.assertRaises(TypeError):
                call()
        async def coroutine(): ...

        def generator():
            yield

        async def both():
            yield

        for function in (coroutine, generator, both):
            with self.assertRaisesRegex(TypeError, "runs in parts"):
                stepscope.phase("x")(function)
        with self.assertRaises(ValueError):
            stepscope.step(-1)
        with self.assertRaises(OverflowError):
            stepscope.step(2**70)
        with self.assertRaises(UnicodeEncodeError):
            stepscope.phase("\ud800")

    def test_end_where_an_exception_leaves(self):
        made = self.record(
            """
import stepscope
for i in range(2):
    try:
        with stepscope.step(i), stepscope.phase("broken"):
            raise KeyError(i)
    except KeyError:
        pass
with stepscope.phase("after"):
    pass
"""
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        with stepscope.open(self.folder / "run") as run:
            depth = run.query("select depth from events where name = 'after'").depth[0]
            self.assertEqual(depth, 0)


class Windows(TestWithFolder):
    CODE = """
import stepscope, sys
for i in range(2):
    with stepscope.window(*sys.argv[1:]):
        with stepscope.step(i):
            pass
    with stepscope.step(10 + i):
        pass
"""

    def expect_windows(self):
        for i in range(2):
            with stepscope.open(self.folder / "run" / f"window-{i + 1}") as run:
                self.assertEqual(len(run.query("select 1 from events where kind = 'step'")), 1)

    def test_are_runs_under_the_command(self):
        made = python(
            self.CODE, PROGRAM, "record", "--from-code", "--repeat", "-o", self.folder / "run", "--"
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        self.expect_windows()

    def test_are_runs_without_it(self):
        code = self.CODE.replace("*sys.argv[1:]", repr(str(self.folder / "run")))
        tracer = BUILD / "lib" / "libstepscope-tracer.so"
        made = python(code, "env", f"STEPSCOPE_TRACER={tracer}")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.expect_windows()

    def test_leave_nothing_in_the_run_of_their_children(self):
        code = f"""
import os, stepscope, subprocess, sys
for name in ("run", "./run", "run/"):
    with stepscope.window(name):
        with stepscope.step(1): pass
os.mkdir("elsewhere")
os.chdir("elsewhere")
with stepscope.window("run"): pass
try: stepscope.start("other")
except stepscope.CaptureError as error: print(error)
subprocess.run([sys.executable, "-c", "import stepscope\\nwith stepscope.step(1): pass"], check=True)
"""
        made = python(code, "env", f"STEPSCOPE_TRACER={BUILD / 'lib' / 'libstepscope-tracer.so'}", cwd=self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("all windows of a process go to one folder", made.stdout)
        found = sorted(path.name for path in (self.folder / "run").iterdir())
        self.assertEqual(found, ["window-1", "window-2", "window-3", "window-4"])

    def test_leave_a_whole_recording_alone(self):
        made = python(self.CODE, PROGRAM, "record", "-o", self.folder / "run", "--")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("windows need stepscope record --from-code --repeat", made.stderr)
        with stepscope.open(self.folder / "run") as run:
            self.assertEqual(len(run.query("select 1 from events where kind = 'step'")), 4)

    def test_change_nothing_of_what_the_command_chose(self):
        made = python(self.CODE, PROGRAM, "record", "--on-request", "-o", self.folder / "run", "--")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual([path.name for path in (self.folder / "run").glob("steps-*")], [])
        made = python(self.CODE, PROGRAM, "record", "--force", "--steps", "11:11", "-o", self.folder / "run", "--")
        with stepscope.open(self.folder / "run") as run:
            self.assertEqual([step.step for step in run.analyze().hosts[0].steps], [11])

    def test_say_why_the_next_one_cannot_begin(self):
        (self.folder / "run").mkdir()
        (self.folder / "run" / "window-2").write_text("a file")
        code = "import stepscope\n" + "with stepscope.window(): pass\n" * 2
        code += "try: stepscope.start()\nexcept stepscope.CaptureError as e: print(e)\n"
        made = python(
            code.replace("with stepscope.window(): pass\n" * 2, "with stepscope.window(): pass\ntry:\n  with stepscope.window(): pass\nexcept stepscope.CaptureError: pass\n"),
            PROGRAM, "record", "--force", "--from-code", "--repeat", "-o", self.folder / "run", "--",
        )
        self.assertIn("window-2", made.stdout, made.stderr)

    def test_say_why_there_is_none(self):
        made = python(
            "import stepscope\ntry: stepscope.start()\nexcept stepscope.CaptureError as e: print(e)",
            "env",
            "-u",
            "STEPSCOPE_TRACER",
        )
        self.assertIn("libstepscope-tracer.so was not found", made.stdout, made.stderr)


if __name__ == "__main__":
    main()
