"""The files of the repository that guards read, and the made trees of their self-tests."""
import contextlib
import os
import tempfile

CPP = (".h", ".cpp", ".cu", ".cuh", ".c")
HEADERS = (".h", ".cuh")
# Folders that hold nothing of ours: by name anywhere, and by path from the root.
SKIPPED_NAMES = {"node_modules", "__pycache__", "corpus"}
SKIPPED_PATHS = {"build", "demo", "data"}


def files(root, endings, tops=None):
    """Paths from the root, sorted, of the files with one of these endings (in these top-level folders)."""
    found = []
    for folder, names, here in os.walk(root):
        relative = os.path.relpath(folder, root)
        names[:] = [name for name in names if not name.startswith(".") and name not in SKIPPED_NAMES
                    and os.path.normpath(os.path.join(relative, name)) not in SKIPPED_PATHS
                    and (tops is None or relative != "." or name in tops)]
        found += [os.path.normpath(os.path.join(relative, name)) for name in here if name.endswith(endings)]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write(text)


@contextlib.contextmanager
def made_tree(contents):
    """A folder for the time of a test that holds {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in contents.items():
            write(root, path, text)
        yield root


def within(path, folder):
    return path == folder or path.startswith(folder + "/")
