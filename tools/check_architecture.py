#!/usr/bin/env python3
"""Compares docs/architecture.md, the CMake targets and the includes, and fails on any difference.

The table of docs/architecture.md has one row for each directory of src/, and its last column lists what the module
includes. The PUBLIC list of its xaas_add_module() is what its public headers include, the PRIVATE list what only its
sources include. No module reaches itself.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r"^\s*#\s*include\s*<xaas/(\w+)/", re.MULTILINE)
problems = []


def modules_included(files):
    found = set()
    for file in files:
        found.update(INCLUDE.findall(file.read_text()))
    return found


def sources_in(directory):
    return [file for file in directory.rglob("*") if file.suffix in (".h", ".cpp")]


def declared(module):
    """The PUBLIC and PRIVATE modules of src/MODULE/CMakeLists.txt."""
    file = ROOT / "src" / module / "CMakeLists.txt"
    call = re.search(r"xaas_add_module\(\s*(\w+)([^)]*)\)", file.read_text())
    if not call or call.group(1) != module:
        problems.append(f"{file.relative_to(ROOT)}: no xaas_add_module({module} ...)")
        return set(), set()
    lists = {"PUBLIC": set(), "PRIVATE": set()}
    current = None
    for word in call.group(2).split():
        if word.isupper():
            current = word
        elif current in lists:
            lists[current].add(word)
    return lists["PUBLIC"], lists["PRIVATE"]


def compare(what, has, should):
    if extra := sorted(has - should):
        problems.append(f"{what}: names {' '.join(extra)}, which nothing includes")
    if missing := sorted(should - has):
        problems.append(f"{what}: lacks {' '.join(missing)}")


def read_document():
    """The modules of the table, in their order, with what each uses."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `src/(\w+)` \|[^|]*\|([^|]*)\|$", text, re.MULTILINE)
    names = [name for name, _ in rows]
    if len(names) != len(set(names)):
        problems.append("docs/architecture.md: a module stands twice in the table")
    return {name: set(uses.split()) for name, uses in rows}


def reachable(module, dependencies):
    found, waiting = set(), [module]
    while waiting:
        for other in dependencies.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def main():
    modules = sorted(file.parent.name for file in (ROOT / "src").glob("*/CMakeLists.txt"))
    public_headers = sorted(entry.name for entry in (ROOT / "include" / "xaas").iterdir())
    compare("include/xaas", set(public_headers) | {"cli"}, set(modules))
    table = read_document()
    compare("the table of docs/architecture.md", set(table), set(modules))
    dependencies = {}
    for module in modules:
        here = {module, "base"}
        public = modules_included(sources_in(ROOT / "include" / "xaas" / module)) - here
        private = modules_included(sources_in(ROOT / "src" / module)) - here - public
        dependencies[module] = public | private
        has_public, has_private = declared(module)
        compare(f"src/{module}/CMakeLists.txt: PUBLIC", has_public, public)
        compare(f"src/{module}/CMakeLists.txt: PRIVATE", has_private, private)
        if module in table:
            compare(f"docs/architecture.md: {module}", table[module], public | private)
    for module in modules:
        if module in reachable(module, dependencies):
            problems.append(f"src/{module}: depends on itself through other modules")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


sys.exit(main())
