#!/usr/bin/env python3
"""Writes what a bundle holds, as a software bill of materials (SPDX 2.3, JSON). It names each library of the system that was
carried into the folder, with its Debian package and version.

usage: sbom.py FOLDER VERSION OUTPUT.json     on the machine that made the bundle
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

#: Folders of bundle_libraries.sh; the bundle's tests have doubles of their own elsewhere.
CARRIED_TO = ("lib", "libs")
OWN = re.compile(r"^(libstepscope-|stepscope|_engine\.|_capture\.)")


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def run(*command):
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    return made.stdout if made.returncode == 0 else ""


def package_of(library):
    """(package, version, licence's file) of a library by its name, as the linker finds it here."""
    for line in run("ldconfig", "-p").splitlines():
        name, _, place = line.strip().partition(" ")
        if name != library or "=>" not in place or "x86-64" not in place:
            continue
        real = os.path.realpath(place.rpartition("=> ")[2])
        for path in (real, real.replace("/usr/lib/", "/lib/"), f"/usr{real}"):
            owner = run("dpkg", "-S", path).partition(":")[0]
            if owner:
                return owner, run("dpkg-query", "-W", "-f", "${Version}", owner)
    return None


def time_now():
    # Reproducible where the builder says when.
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc) if epoch else datetime.datetime.now(datetime.timezone.utc)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def entry(identity, name, version, **more):
    return {"SPDXID": f"SPDXRef-{identity}", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, **more}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, version, output = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])

    own = entry("stepscope", "stepscope", version, licenseDeclared="Apache-2.0")
    packages, relations, missing = {}, [], []
    for path in sorted(folder.rglob("*.so*")):
        is_carried = path.parent.name in CARRIED_TO and path.is_file() and is_elf(path)
        if not is_carried or OWN.match(path.name):
            continue
        found = package_of(path.name)
        if found is None:
            missing.append(path.name)
            continue
        name, its_version = found
        identity = re.sub(r"[^A-Za-z0-9.-]", "-", name)
        package = packages.setdefault(name, entry(identity, name, its_version, sourceInfo="", externalRefs=[{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:deb/debian/{name}@{its_version}"}]))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        line = f"{path.relative_to(folder).as_posix()} sha256:{digest}"
        package["sourceInfo"] = "\n".join(filter(None, [package["sourceInfo"], line]))
    if missing:
        sys.exit(f"sbom.py: {', '.join(sorted(set(missing)))}: no package of this system has them, run it where the bundle was made")

    for package in packages.values():
        relations.append({"spdxElementId": own["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": package["SPDXID"]})
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"stepscope-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/stepscope-{version}-{hashlib.sha256(str(sorted(packages)).encode()).hexdigest()[:16]}",
        "creationInfo": {"created": time_now(), "creators": ["Tool: stepscope-sbom"]},
        "documentDescribes": [own["SPDXID"]], "packages": [own, *packages.values()], "relationships": relations,
    }
    output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{output}: {len(packages)} packages")


if __name__ == "__main__":
    main()
