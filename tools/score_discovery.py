#!/usr/bin/env python3
"""Compares a document of `xaas inspect --schema paper` with one written by hand.

    score_discovery.py TRUTH FOUND [--facts]

A fact is a category, a name in it and an attribute with a value. Equal in both: right. Found with another value, or not in the
truth: wrong. Only in the truth: missed. Prints precision|recall|F1|right|wrong|missed; --facts lists the facts that are not right.
"""
import json
import sys

COMPARED = {
    "parallel_programming_libraries": ["used_as_default", "build_flag"],
    "gpu_backends": ["used_as_default", "build_flag"],
    "linear_algebra_libraries": ["used_as_default"],
    "FFT_libraries": ["built-in", "used_as_default", "build_flag"],
    "simd_vectorization": ["build_flag", "default"],
}
SINGLE = {
    "gpu_build": ["value", "build_flag"],
    "build_system": ["type", "minimum_version"],
    "internal_build": ["library_name", "build_flag"],
}


def normal(text):
    return text.lower().replace("-", "_").replace(" ", "_")


def facts_of(path):
    with open(path) as file:
        document = json.load(file)
    facts = {}
    for category, attributes in COMPARED.items():
        for key, entry in document[category].items():
            for attribute in attributes:
                facts[category, normal(key), attribute] = entry.get(attribute)
    for category, attributes in SINGLE.items():
        for attribute in attributes:
            value = document[category].get(attribute)
            is_name = attribute in ("type", "library_name") and value
            facts[category, "", attribute] = normal(value) if is_name else value
    return {key: value for key, value in facts.items() if value is not None}


def main():
    arguments = [each for each in sys.argv[1:] if each != "--facts"]
    truth, found = map(facts_of, arguments)
    right = sum(found.get(key) == value for key, value in truth.items())
    wrong = len(found) - right
    missed = sum(key not in found for key in truth)
    if "--facts" in sys.argv:
        for key in sorted(set(truth) | set(found)):
            if truth.get(key) != found.get(key):
                print("  ", ".".join(key), "expected", truth.get(key), "found", found.get(key), file=sys.stderr)
    precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    print(f"{precision:.3f}|{recall:.3f}|{f1:.3f}|{right}|{wrong}|{missed}")


main()
