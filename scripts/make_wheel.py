#!/usr/bin/env python3
"""Packs a folder as a wheel for the Python that runs this (PEP 427), and prints its path.

usage: make_wheel.py STAGE VERSION OUTPUT_FOLDER
"""
import base64
import hashlib
import os
import pathlib
import sys
import sysconfig
import zipfile

SUMMARY = "Where the time and memory of multi-GPU training go, why, and what fixing it would give"
METADATA = """Metadata-Version: 2.1
Name: stepscope
Version: {version}
Summary: {summary}
License: Apache-2.0
Requires-Python: >={python}
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Description-Content-Type: text/markdown

{description}
"""
WHEEL = """Wheel-Version: 1.0
Generator: stepscope
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """[console_scripts]
stepscope = stepscope.command:main
"""
# Reproducible: the same tree gives the same bytes.
TIME = (1980, 1, 1, 0, 0, 0)


def add(wheel, records, name, data, mode=0o644):
    info = zipfile.ZipInfo(name, TIME)
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(info, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    records.append(f"{name},sha256={digest},{len(data)}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    stage, version, output = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    root = pathlib.Path(__file__).resolve().parent.parent

    abi = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"{abi}-{abi}-{platform}"
    about = f"stepscope-{version}.dist-info"
    path = output / f"stepscope-{version}-{tag}.whl"
    metadata = METADATA.format(
        version=version, summary=SUMMARY, python=f"{sys.version_info.major}.{sys.version_info.minor}", description=(root / "docs/guide/PYTHON.md").read_text())

    records = []
    with zipfile.ZipFile(path, "w") as wheel:
        for file in sorted(stage.rglob("*")):
            if file.is_file():
                mode = 0o755 if os.access(file, os.X_OK) else 0o644
                add(wheel, records, file.relative_to(stage).as_posix(), file.read_bytes(), mode)
        add(wheel, records, f"{about}/METADATA", metadata.encode())
        add(wheel, records, f"{about}/WHEEL", WHEEL.format(tag=tag).encode())
        add(wheel, records, f"{about}/entry_points.txt", ENTRY_POINTS.encode())
        add(wheel, records, f"{about}/LICENSE", (root / "LICENSE").read_bytes())
        record = f"{about}/RECORD"
        add(wheel, [], record, "\n".join([*records, f"{record},,", ""]).encode())
    print(path)


if __name__ == "__main__":
    main()
