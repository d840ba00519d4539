#!/usr/bin/env python3
"""messages.py DOCUMENT SOURCES: prints the messages in the tables of DOCUMENT that no source has.

The first column quotes messages in backticks. Words in capitals, and single letters, stand for values; what is between
them must be part of a string in the sources.
"""
import pathlib
import re
import sys


# Of the kernel, the C library, libcurl, the linker, compilers.
OTHERS = {"Permission denied", "Read-only file system", "No space left on device", "Disk quota exceeded", "level is lower than required",
          "version GLIBC_2.", "Could not resolve host", "Connection refused", "unable to find library -lNAME", "-march", "native", "--set isa"}


def strings(text):
    """The string literals; adjacent ones are one."""
    text = re.sub(r'(?<=[^\\])"\s*\n?\s*"', "", text)
    return [s.replace('\\"', '"') for s in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)]


def main(document, sources):
    known = "\n".join(
        s for path in sorted(pathlib.Path(sources).rglob("*")) if path.suffix in (".cpp", ".h", ".c")
        for s in strings(path.read_text(encoding="utf-8")))
    for line in pathlib.Path(document).read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            continue
        for message in re.findall(r"`([^`]+)`", re.split(r"(?<!\\)\|", line)[1]):
            parts = re.split(r"\b[A-Z][A-Z]+s?\b|\b[NMAV]\b|\.\.\.|=|/|'|5NN", message)
            for part in (p.strip(" :\"") for p in parts):
                if len(part) > 4 and part not in known and part not in OTHERS:
                    print(f"{message}: {part}")


main(*sys.argv[1:])
