"""Type checkers know the package: its stubs are those of the schema, and of the modules."""

import ast
import importlib
import inspect
import subprocess
import sys

from support import SOURCE, TestWithFolder, main

PROGRAM = """
import stepscope
with stepscope.open("run") as run:
    title: str = run.findings[0].title
    gain: float | None = run.findings[0].gain_alone
    steps = run.analyze(steps=(1, 2)).steps
    assert steps is not None
    step: int = steps[0].step
    names: list[str] = run.table("kernels", ["name"]).names
for batch in stepscope.steps([1, 2]):
    number: int = batch
@stepscope.phase("forward")
def forward(x: int) -> str:
    return str(x)
text: str = forward(2)
def first_of(analysis: stepscope.Analysis, table: stepscope.Table) -> stepscope.Column:
    return table[analysis.findings[0].rule]
"""
WRONG = 'import stepscope\ncount: int = stepscope.open("run").findings[0].title\n'


class Stubs(TestWithFolder):
    def test_are_made_of_the_schema(self):
        made = subprocess.run([sys.executable, SOURCE / "scripts/python_stubs.py", "--check"])
        self.assertEqual(made.returncode, 0)

    def test_name_what_the_modules_have(self):
        for name in ("run", "table", "capture", "errors"):
            module = importlib.import_module(f"stepscope.{name}")
            tree = ast.parse((SOURCE / f"python/stepscope/{name}.pyi").read_text())
            for node in tree.body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name != "_Scope":
                    self.assertTrue(hasattr(module, node.name), f"{name}.{node.name}")
                if isinstance(node, ast.ClassDef) and node.name != "_Scope":
                    real = getattr(module, node.name)
                    for part in node.body:
                        if isinstance(part, ast.FunctionDef):
                            self.assertTrue(hasattr(real, part.name), f"{node.name}.{part.name}")
            known = {node.name for node in tree.body if hasattr(node, "name")}
            for name_of, value in vars(module).items():
                is_own = inspect.isclass(value) and value.__module__ == module.__name__
                if is_own and not name_of.startswith("_"):
                    self.assertIn(name_of, known)

    def test_let_a_checker_find_mistakes(self):
        try:
            from mypy import api
        except ImportError:
            self.skipTest("mypy is not installed")
        (self.folder / "good.py").write_text(PROGRAM)
        (self.folder / "wrong.py").write_text(WRONG)
        options = ["--strict-optional", "--cache-dir", str(self.folder / "cache")]
        said, _, code = api.run([*options, str(self.folder / "good.py")])
        self.assertEqual(code, 0, said)
        said, _, code = api.run([*options, str(self.folder / "wrong.py")])
        self.assertIn('expression has type "str"', said)


if __name__ == "__main__":
    main()
