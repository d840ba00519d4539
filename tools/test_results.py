#!/usr/bin/env python3
"""Summarizes test results: the reasons of skipped tests and parts, the last lines of failed tests, and the counts.

    tools/test_results.py FILE    written by `ctest --output-junit FILE`
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

LAST_LINES = 40


def why_skipped(output):
    """The reason that a case of tests/e2e or a GoogleTest gives for skipping."""
    case = re.search(r"^SKIP +[^:\n]*: (.*)", output, re.MULTILINE)
    unit = re.search(r": Skipped\n((?:.*\n)*?)\n", output)
    if case:
        return case[1]
    return " ".join(unit[1].split()) if unit else "no reason given"


def main():
    tests = ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
    found = {"run": [], "fail": [], "notrun": [], "disabled": []}
    for test in sorted(tests, key=lambda test: test.get("name")):
        status = test.get("status")
        if status == "notrun" and not test.find("skipped").get("message").startswith("SKIP_"):
            status = "fail"  # ctest could not start it
        found[status].append((test.get("name"), test.findtext("system-out", "")))
    for name, output in found["fail"]:
        print(f"\n== {name}", *output.splitlines()[-LAST_LINES:], sep="\n")
    for name, output in found["run"]:
        for line in re.findall(r"^ *not run: (.*)", output, re.MULTILINE):
            print(f"== not run: {name}: {line}")
    for name, output in found["notrun"]:
        print(f"== skipped: {name}: {why_skipped(output)}")
    for name, _ in found["disabled"]:
        print(f"== disabled: {name}")
    print(f"== tests: {len(found['run'])} passed, {len(found['fail'])} failed, {len(found['notrun']) + len(found['disabled'])} skipped")


main()
