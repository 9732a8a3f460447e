"""What the tests of the Python package share."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["STEPSCOPE_BUILD"])
SOURCE = pathlib.Path(os.environ["STEPSCOPE_SOURCE"])
PROGRAM = BUILD / "bin" / "stepscope"


def command(*arguments, **options):
    """The command line of the same build; its output."""
    made = subprocess.run(
        [str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )
    if made.returncode not in (0, 1, 3):
        raise AssertionError(f"stepscope {arguments}: {made.stderr}")
    return made.stdout


def python(code, *before, **options):
    """Runs code in an interpreter of its own, behind the words of `before`."""
    return subprocess.run(
        [*map(str, before), sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        **options,
    )


class TestWithFolder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def synth(self, name="run", *options):
        path = self.folder / name
        command("synth", "-o", path, "--ranks", "2", "--steps", "12", *options)
        return path


def main():
    """Ends with 77 where every test was skipped, as ctest wants it."""
    result = unittest.main(exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.skipped and len(result.skipped) == result.testsRun else 0)
