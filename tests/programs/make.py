#!/usr/bin/env python3
"""Writes an application of many small programs: sources, a build and a spec for xaas, from the tables in this directory.

    make.py [--sample N] DIRECTORY [REGEX [LEVEL...]]

Only programs whose names match; with --sample, one of N of the combinations that a program's `for` lines make, always the same
ones. LEVELs are those of the application, by default x86-64.

A table is text. `==# ` begins a comment, `=== NAME` a program; lines `@ ...` say how it is made, `--- FILE` begins a file of it:

    @ for A/B x/y z/w      once for each; @A@ and @B@ are replaced everywhere. Several make all combinations.
    @ class NAME           its class, by default the name of the table
    @ use FILE...          adds files of use/ to it
    @ flags FILE OPTION... for compiling FILE; `*` stands for every file
    @ link OPTION...       for linking
    @ needs NAME...        programs, or absolute paths of files; reported and skipped if one is missing
    @ cpu                  it queries the CPU, so it runs on an emulated one of the target
    @ level NAME           only in a configuration of that ISA level
    @ bare                 its sources do not begin with `#include "common.h"`

A file `build` is a shell script that makes $OUT; without one each source is compiled and all are linked. It sees $CC, $CXX, $FC,
$F (options of every compile), $L (of every link), $SRC (the root of the sources), and $LIB (for libraries, which programs find there).
"""
import argparse
import itertools
import json
import os
import random
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILERS = {".c": "$CC $F", ".s": "$CC", ".S": "$CC", ".cpp": "$CXX $F", ".f90": "$FC $F"}


class Program:
    def __init__(self, name, table):
        self.name, self.table, self.lines, self.files = name, table, [], {}

    def words(self, key):
        return [line.split()[1:] for line in self.lines if line.split()[0] == key]

    def has(self, key):
        return bool(self.words(key))

    def replaced(self, values):
        def replace(text):
            return re.sub(r"@(\w+)@", lambda match: values.get(match[1], match[0]), text)

        program = Program(replace(self.name), self.table)
        program.lines = [replace(line) for line in self.lines]
        program.files = {replace(name): replace(text) for name, text in self.files.items()}
        return program

    def expanded(self):
        choices = []
        for names, *values in self.words("for"):
            choices.append([dict(zip(names.split("/"), value.split("/"))) for value in values])
        for chosen in itertools.product(*choices):
            yield self.replaced({name: value for one in chosen for name, value in one.items()})


def read_table(path):
    programs, file = [], None
    for line in open(path):
        if line.startswith("==#"):
            continue
        if line.startswith("=== "):
            programs.append(Program(line.split()[1], os.path.basename(path)[: -len(".txt")]))
            file = None
        elif line.startswith("--- "):
            file = line.split()[1]
            programs[-1].files[file] = ""
        elif file:
            programs[-1].files[file] += line
        elif line.startswith("@ "):
            programs[-1].lines.append(line[2:].strip())
    return programs


def missing(program):
    for words in program.words("needs"):
        for word in words:
            if not (os.path.exists(word) if word.startswith("/") else shutil.which(word)):
                return word
    return None


def default_build(program):
    flags = {file: "" for file in program.files}
    for file, *options in program.words("flags"):
        for name in flags if file == "*" else [file]:
            flags[name] += " " + " ".join(options)
    objects, kinds, script = [], set(), ""
    for name in program.files:
        base, ending = os.path.splitext(name)
        if ending in COMPILERS:
            script += f"{COMPILERS[ending]}{flags[name]} -c {name} -o {base}.o\n"
            objects.append(f"{base}.o")
            kinds.add(ending)
    linker = "$FC" if ".f90" in kinds else "$CXX" if ".cpp" in kinds else "$CC"
    options = " ".join(word for words in program.words("link") for word in words)
    return f"{script}{linker} {' '.join(objects)} {options} $L -o $OUT\n"


def write(program, top):
    directory = os.path.join(top, "p", program.name)
    os.makedirs(directory)
    for words in program.words("use"):
        for name in words:
            program.files.setdefault(name, open(os.path.join(HERE, "use", name)).read())
    build = program.files.pop("build", None) or default_build(program)
    for name, text in program.files.items():
        with open(os.path.join(directory, name), "w") as out:
            if name.endswith((".c", ".cpp")) and not program.has("bare") and '"abi.h"' not in text:
                out.write('#include "common.h"\n')
            out.write(text)
    with open(os.path.join(directory, "build.sh"), "w") as out:
        out.write("set -e\nOUT=$BIN/" + program.name + "\n" + build)


def sampled(programs, step):
    return random.Random(programs[0].name).sample(programs, -(-len(programs) // step))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("directory")
    parser.add_argument("regex", nargs="?", default="")
    parser.add_argument("level", nargs="*")
    arguments = parser.parse_args()
    top, wanted = arguments.directory, arguments.regex
    os.makedirs(top)
    for name in ("abi.h", "common.h", "build.sh"):
        shutil.copy(os.path.join(HERE, name), top)
    with open(os.path.join(top, "xaas.json"), "w") as out:
        json.dump({"name": "programs", "isa": arguments.level or ["x86-64"], "build": {"system": "commands", "build": "bash $SRC/build.sh",
                   "install": [{"from": f"made/{name}", "to": name} for name in ("bin", "lib", "failed")]}}, out)
    names = set()
    with open(os.path.join(top, "list"), "w") as out:
        for table in sorted(os.listdir(HERE)):
            if not table.endswith(".txt"):
                continue
            for template in read_table(os.path.join(HERE, table)):
                for program in sampled(list(template.expanded()), arguments.sample):
                    if program.name in names:
                        sys.exit(f"{program.name}: there are two")
                    names.add(program.name)
                    if not re.search(wanted, program.name):
                        continue
                    if tool := missing(program):
                        print(f"not run: {program.name}: {tool} is not here")
                        continue
                    write(program, top)
                    kind = (program.words("class") or [[program.table]])[0][0]
                    level = (program.words("level") or [["any"]])[0][0]
                    ways = "cpu" if program.has("cpu") else "-"
                    print(program.name, kind, level, ways, file=out)


main()
