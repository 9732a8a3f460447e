#!/usr/bin/env python3
"""Checks that same_outputs.py finds no difference between a program and itself, and finds every planted one.

usage: same_outputs_test.py PROGRAM
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import comparison

PROGRAM = None
# A fault in the outputs of PROGRAM, and the line that must report it.
FAULTS = (
    ('echo more', r"info: stdout, line \d+"),
    ('[ "$1" = info ] && echo more >&2', r"info JSON: stderr, line 1"),
    ('[ "$1" = doctor ] && exit 7', r"doctor: exit status, line 1"),
    ('[ -f out.pftrace ] && printf x >> out.pftrace', r"export Perfetto: out.pftrace, byte \d+"),
    ('[ -f run/rank-0.stepscope ] && printf x >> run/rank-0.stepscope', r"import: run/rank-0.stepscope, byte \d+"),
    ('[ -f report.html ] && sed -i "s/<title>/<title>X/" report.html', r"report: report.html, line \d+"),
    ('[ -f report.html ] && sed -i "s/<style>/<style>X/" report.html', r"report: report.html styles and program, line \d+"),
    ('[ -f out.csv ] && rm out.csv', r"export CSV: out.csv\n"),
    ('[ -f out.sqlite ] && python3 -c "import sqlite3; sqlite3.connect(\'out.sqlite\').execute(\'CREATE VIEW x AS SELECT 1\')"',
     r"export SQLite: out.sqlite dump, line \d+"),
)


def run(*options, new=None):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "same_outputs.py")
    return subprocess.run([sys.executable, script, "--old", PROGRAM, "--new", new or PROGRAM, "--only", "synth/01", "--verbose", *options],
                          capture_output=True, text=True)


class SameOutputsTest(unittest.TestCase):
    def test_a_program_writes_what_it_writes(self):
        done = run()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\n\d{3} outputs of 1 traces compared, 0 differ, 0 differ as they may; the old program refuses 0 ")

    def test_nothing_compared_is_no_success(self):
        self.assertEqual(run("--commands", "no such command").returncode, 2)

    def test_each_fault_is_found_where_it_is(self):
        for fault, told in FAULTS:
            with self.subTest(fault), tempfile.TemporaryDirectory() as folder:
                program = os.path.join(folder, "program")
                with open(program, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/bash\n'{PROGRAM}' \"$@\"; status=$?\n{fault}\nexit $status\n")
                os.chmod(program, 0o755)

                command = re.match(r"[\w ]+", told)[0]
                done = run("--commands", f"^{command}$", new=program)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertRegex(done.stdout, told)


class AllowedTest(unittest.TestCase):
    def differ(self, old, new, *rules, name="stdout"):
        return bool(comparison.compare(name, old, new, comparison.Allowed(rules))[0])

    def test_a_renamed_word_is_allowed_and_no_more(self):
        self.assertFalse(self.differ(b"slow host 4 ms", b"launch-bound 4 ms", "old slow host => launch-bound"))
        self.assertTrue(self.differ(b"slow host 4 ms", b"launch-bound 5 ms", "old slow host => launch-bound"))

    def test_what_was_added_is_taken_out(self):
        self.assertFalse(self.differ(b'{"a":1}', b'{"a":1,"b":1}', 'new ,"b":\\d+ =>'))

    def test_lines_that_match_are_left_out(self):
        self.assertFalse(self.differ(b"a\nb 1\nc", b"a\nb 2\nc", "line ^b"))
        self.assertTrue(self.differ(b"a\nb 1\nc", b"a\nb 2\nd", "^b"))

    def test_lines_may_break_elsewhere(self):
        self.assertFalse(self.differ(b"one two\nthree", b"one\ntwo  three", "whitespace"))
        self.assertRaises(ValueError, comparison.Allowed, ["whitespace", "line x"])

    def test_binary_outputs_differ_unless_they_may_altogether(self):
        self.assertTrue(self.differ(b"old", b"new", "old old => new", name="run/a.stepscope"))
        self.assertFalse(self.differ(b"old", b"new", r"output \.stepscope$", name="run/a.stepscope"))

    def test_times_of_junit_files_are_no_difference(self):
        self.assertFalse(self.differ(b'<a timestamp="1">', b'<a timestamp="2">'))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
