"""The files that come back from a machine that is lent for a while and may be taken away at any time: few and small, in one folder.
The numbers are in summary.json, as many recordings as fit in recordings.tar.gz."""
import json
import os
import shutil
import tarfile
import tempfile

# Machines that are lent give back some MiB a file. Recordings are compressed already: their size is nearly that of the archive.
MAX_ARCHIVE_BYTES = 12_000_000


class Results:
    """Recordings are made in a temporary folder, which is gone at the end; `folder` gets the two files."""

    def __init__(self, folder, max_bytes=MAX_ARCHIVE_BYTES):
        self.folder = folder
        self.max_bytes = max_bytes
        self.scratch = tempfile.mkdtemp(prefix="gpu-proof-")
        os.makedirs(folder, exist_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def stage_folder(self, stage):
        path = os.path.join(self.scratch, stage)
        os.makedirs(path, exist_ok=True)
        return path

    def write(self, summary):
        """Replaces the summary at once: who reads it meanwhile reads a whole one."""
        path = os.path.join(self.folder, "summary.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1)
        os.replace(path + ".new", path)

    def drop_large(self, stage):
        """Frees the disk of what a stage recorded and no archive can hold. Returns the names."""
        large = [name for name, size in self._files(stage) if size > self.max_bytes]
        for name in large:
            os.remove(os.path.join(self.scratch, name))
        return large

    def pack(self):
        """Writes the archive, the smallest recordings first. Returns the names that did not fit."""
        left_out, room = [], self.max_bytes
        path = os.path.join(self.folder, "recordings.tar.gz")
        with tarfile.open(path + ".new", "w:gz", compresslevel=1) as archive:
            for name, size in sorted(self._files(), key=lambda file: file[1]):
                if size > room:
                    left_out.append(name)
                    continue
                archive.add(os.path.join(self.scratch, name), arcname=name)
                room -= size
        os.replace(path + ".new", path)
        return left_out

    def _files(self, below=""):
        """(name in the scratch folder, bytes) of every file."""
        found = []
        for top, _, files in os.walk(os.path.join(self.scratch, below)):
            for path in (os.path.join(top, file) for file in files):
                found.append((os.path.relpath(path, self.scratch), os.path.getsize(path)))
        return found
