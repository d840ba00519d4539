#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a compilation database, as many at a time as there are processors.

usage: clang_tidy.py BUILD_DIRECTORY [PATH...]

PATH selects the sources below it, relative to the repository; by default all but generated ones. A source that passed is not
checked again until its command line, a file that it includes, .clang-tidy or clang-tidy itself changes: the digests of all of
these name an empty file in BUILD_DIRECTORY/clang-tidy. Exits with 1 if there are findings, each of which is printed once.

The precompiled headers that the command lines name must exist: build the targets xaas_precompiled and
xaas_precompiled_clang first.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-22"
SCAN = "clang-scan-deps-22"


@functools.cache
def file_digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def included_files(database, jobs):
    """The source and headers of each object file, as the preprocessor finds them."""
    rules = subprocess.run([SCAN, "-format=make", "-j", str(jobs), "-compilation-database", database],
                           capture_output=True, text=True, check=False).stdout
    files = {}
    for rule in rules.replace("\\\n", " ").splitlines():
        output, colon, names = rule.partition(": ")
        if colon:
            files[output.strip()] = names.split()
    return files


def key_of(entry, files, version):
    """The name of the marker file of a source; None if the preprocessor failed on it."""
    output = re.search(r" -o (\S+)", entry["command"]).group(1)
    names = files.get(output)
    if names is None:
        return None
    parts = [version, file_digest(ROOT / ".clang-tidy"), entry["command"]]
    for name in names:
        path = os.path.join(entry["directory"], name)
        if not os.path.exists(path):
            return None
        parts += [name, file_digest(path)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def check(build, entry):
    done = subprocess.run([TIDY, "-p", build, "--quiet", entry["file"]], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def findings(output):
    """Splits what clang-tidy prints at the lines that begin a finding."""
    found = re.split(r"(?m)^(?=/\S+:\d+:\d+: (?:warning|error): |error: )", output)
    return [text.rstrip() for text in found if text.strip()]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.split("\n\n")[1])
    build = pathlib.Path(sys.argv[1]).resolve()
    paths = [ROOT / path for path in sys.argv[2:]] or [ROOT]
    database = build / "compile_commands.json"
    entries = [entry for entry in json.loads(database.read_text())
               if any(path in pathlib.Path(entry["file"]).parents for path in paths)
               and build not in pathlib.Path(entry["file"]).parents]
    jobs = os.process_cpu_count() if hasattr(os, "process_cpu_count") else len(os.sched_getaffinity(0))

    start = time.monotonic()
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    files = included_files(database, jobs)
    markers = build / "clang-tidy"
    markers.mkdir(exist_ok=True)
    keys = [key_of(entry, files, version) for entry in entries]
    todo = [(entry, key) for entry, key in zip(entries, keys) if key is None or not (markers / key).exists()]

    printed = set()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (entry, key), (code, output) in zip(todo, pool.map(lambda one: check(build, one[0]), todo)):
            if code == 0:
                if key is not None:
                    (markers / key).touch()
                continue
            failed += 1
            for text in findings(output):
                if text not in printed:
                    printed.add(text)
                    print(text.replace(f"{ROOT}/", ""), flush=True)
    for marker in markers.iterdir():
        if marker.name not in keys:
            marker.unlink()
    print(f"clang-tidy: {len(todo)} of {len(entries)} sources checked, {failed} with findings, "
          f"{time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
