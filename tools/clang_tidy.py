#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a compilation database, as many modules at a time as there are processors.

usage: clang_tidy.py BUILD_DIRECTORY [DIRECTORY...]

DIRECTORY selects the sources below it, relative to the repository; by default all but generated ones.

Two checks ask for the parents of statements, and Clang then visits every declaration of every header, which takes longer than
everything else. So the sources of a target are checked as one, BUILD_DIRECTORY/clang-tidy/TARGET.cpp. The sources are copied
into it, not included, because a check of using-declarations looks at the main file only; findings name the original file. As in
a unity build, a name of one source must not mean something else in another source of its module.

A target that passed is not checked again until its command line, a source, a file that it includes, .clang-tidy or clang-tidy
itself changes: the digests of all of these name an empty file in BUILD_DIRECTORY/clang-tidy/passed. Exits with 1 if there are
findings, each of which is printed once.

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


def sources_of(entry):
    """The sources of an entry: those that CMake's unity build includes, or the one."""
    path = pathlib.Path(entry["file"])
    if "/Unity/" in entry["file"]:
        return re.findall(r'(?m)^#include "(/.*)"$', path.read_text())
    return [entry["file"]]


def targets(entries, build, directories):
    """The command line and the sources of each target that has a source in one of the directories."""
    found = {}
    for entry in entries:
        sources = [source for source in sources_of(entry)
                   if any(directory in pathlib.Path(source).parents for directory in directories)
                   and build not in pathlib.Path(source).parents]
        name = re.search(r" -o \S*?([^/ ]+)\.dir/", entry["command"]).group(1)
        if sources:
            command = re.sub(r" -o \S+ -c \S+", "", entry["command"])
            target = found.setdefault(name, {"sources": [], "command": command, "directory": entry["directory"]})
            if target["command"] != command:
                sys.exit(f"{sources[0]}: its options are not those of the other sources of {name}, with which it is checked")
            target["sources"] += sources
    return found


def joined(sources):
    """One text of all sources, and the file and line of each of its lines."""
    lines = []
    origins = []
    for source in sorted(sources):
        directory = pathlib.Path(source).parent
        for number, line in enumerate(pathlib.Path(source).read_text().splitlines(), 1):
            name = re.match(r'#include "(.*)"', line)
            if name and (directory / name.group(1)).exists():
                line = f'#include "{directory / name.group(1)}"'
            lines.append(line)
            origins.append((source, number))
    return "\n".join(lines) + "\n", origins


def included_files(place, jobs):
    """The source and headers of each object file, as the preprocessor finds them."""
    rules = subprocess.run([SCAN, "-format=make", "-j", str(jobs), "-compilation-database", place / "compile_commands.json"],
                           capture_output=True, text=True, check=False).stdout
    files = {}
    for rule in rules.replace("\\\n", " ").splitlines():
        output, colon, names = rule.partition(": ")
        if colon:
            files[output.strip()] = names.split()
    return files


def key_of(entry, files, version):
    """The name of the marker file of a target; None if the preprocessor failed on it."""
    names = files.get(entry["output"])
    if names is None:
        return None
    parts = [version, file_digest(ROOT / ".clang-tidy"), entry["command"]]
    for name in names:
        path = os.path.join(entry["directory"], name)
        if not os.path.exists(path):
            return None
        parts += [name, file_digest(path)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def check(place, entry):
    done = subprocess.run([TIDY, "-p", place, "--quiet", entry["file"]], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def findings(output, entry):
    """Splits what clang-tidy prints at the lines that begin a finding, which then name the original files."""
    def original(match):
        source, number = entry["origins"][min(int(match.group(1)), len(entry["origins"])) - 1]
        return f"{source}:{number}:"

    output = re.sub(rf"(?m)^{re.escape(entry['file'])}:(\d+):", original, output)
    found = re.split(r"(?m)^(?=/\S+:\d+:\d+: (?:warning|error): |error: )", output)
    return [text.rstrip() for text in found if text.strip()]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.split("\n\n")[1])
    build = pathlib.Path(sys.argv[1]).resolve()
    directories = [ROOT / path for path in sys.argv[2:]] or [ROOT]
    place = build / "clang-tidy"
    markers = place / "passed"
    markers.mkdir(parents=True, exist_ok=True)
    jobs = os.process_cpu_count() if hasattr(os, "process_cpu_count") else len(os.sched_getaffinity(0))

    start = time.monotonic()
    database = []
    for name, target in targets(json.loads((build / "compile_commands.json").read_text()), build, directories).items():
        text, origins = joined(target["sources"])
        file = place / f"{name}.cpp"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        output = str(file.with_suffix(".o"))
        database.append({"directory": target["directory"], "file": str(file), "output": output, "origins": origins,
                         "command": f"{target['command']} -o {output} -c {file}"})
    database.sort(key=lambda entry: -len(entry["origins"]))
    (place / "compile_commands.json").write_text(
        json.dumps([{name: entry[name] for name in ("directory", "file", "output", "command")} for entry in database]))

    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    files = included_files(place, jobs)
    keys = [key_of(entry, files, version) for entry in database]
    todo = [(entry, key) for entry, key in zip(database, keys) if key is None or not (markers / key).exists()]

    printed = set()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (entry, key), (code, output) in zip(todo, pool.map(lambda one: check(place, one[0]), todo)):
            if code == 0:
                if key is not None:
                    (markers / key).touch()
                continue
            failed += 1
            for text in findings(output, entry):
                if text not in printed:
                    printed.add(text)
                    print(text.replace(f"{ROOT}/", ""), flush=True)
    for marker in markers.iterdir():
        if marker.name not in keys:
            marker.unlink()
    print(f"clang-tidy: {len(todo)} of {len(database)} targets checked, {failed} with findings, "
          f"{time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
