"""The package as `cmake --install` copies it: in lib/python3/dist-packages, with the tracer in lib."""

import os
import shutil
import subprocess
import sys
import unittest

from support import BUILD, SOURCE, TestWithFolder, main, python

TRAINS_IN_A_WINDOW = """
import stepscope, sys
with stepscope.window(sys.argv[1]):
    for i in stepscope.steps(range(3)): sum(range(10000))
"""
MARKS_AND_READS = """
import stepscope
with stepscope.phase("marked"): pass
try:
    stepscope.open("run")
except AttributeError as error:
    print(error)
assert stepscope.__version__ and hasattr(stepscope, "__version__") and not hasattr(stepscope, "open")
"""


class InstalledCopy(TestWithFolder):
    def setUp(self):
        super().setUp()
        made = subprocess.run(
            ["cmake", "--install", BUILD, "--prefix", self.folder, "--component", "python"], capture_output=True, text=True, check=False
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        self.packages = self.folder / "lib" / "python3" / "dist-packages"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("STEPSCOPE_")}
        self.environment["PYTHONPATH"] = str(self.packages)

    def test_has_all_of_the_package(self):
        source = SOURCE / "python" / "stepscope"
        ours = lambda folder: {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".py", ".pyi", ".typed")}
        self.assertEqual(ours(self.packages / "stepscope"), ours(source))
        self.assertEqual(len(list((self.packages / "stepscope").glob("_capture.abi3.so"))), 1, "marks for every Python")

    def test_records_with_the_tracer_beside_it_and_reads(self):
        shutil.copy(BUILD / "lib" / "libstepscope-tracer.so", self.folder / "lib")
        run = self.folder / "run"
        code = TRAINS_IN_A_WINDOW + "print(len(stepscope.open(sys.argv[1] + '/window-1').analyze().hosts[0].steps))"
        made = subprocess.run(
            [sys.executable, "-c", code, str(run)], capture_output=True, text=True, check=False, env=self.environment, cwd=self.folder
        )
        self.assertEqual((made.returncode, made.stdout), (0, "3\n"), made.stderr)

    def test_takes_no_tracer_from_a_stranger(self):
        strange = self.folder / "a" / "b"
        strange.mkdir(parents=True)
        shutil.copytree(self.packages / "stepscope", strange / "stepscope")
        (self.folder / "libstepscope-tracer.so").write_bytes(b"")
        self.environment["PYTHONPATH"] = str(strange)
        made = python("import stepscope.capture; print(stepscope.capture._TRACER)", env=self.environment)
        self.assertEqual(made.stdout, "None\n", made.stderr)

    def test_marks_in_other_pythons(self):
        tried = []
        for version in range(10, 16):
            interpreter = shutil.which(f"python3.{version}")
            if interpreter is None or version == sys.version_info.minor:
                continue
            made = subprocess.run([interpreter, "-c", MARKS_AND_READS], capture_output=True, text=True, check=False, env=self.environment)
            if "command not found" in made.stderr:
                continue  # a shim without its Python
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertIn(f"cannot read runs in Python 3.{version}", made.stdout)
            tried.append(version)
        if not tried:
            self.skipTest("no other Python from 3.10 on is here")

    def test_says_which_python_reads(self):
        for engine in (self.packages / "stepscope").glob("_engine.*"):
            engine.rename(engine.with_name("_engine.cpython-39-x86_64-linux-gnu.so"))
        made = python(MARKS_AND_READS, env=self.environment)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("it has _engine.cpython-39-x86_64-linux-gnu.so", made.stdout)
        self.assertIn(f"cannot read runs in Python {sys.version_info.major}.{sys.version_info.minor}", made.stdout)
        self.assertIn("stepscope analyze RUN --json", made.stdout)


if __name__ == "__main__":
    main()
