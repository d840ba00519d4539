#!/usr/bin/env python3
"""Checks the JSON files of the repository: syntax, repeated keys, the schemas of specs/schema, and the documents that have one.

usage: check_json.py

Files may contain comments (`//` to the end of the line). Exits with 1 and a line per finding if something is wrong.
"""

import json
import pathlib
import re
import subprocess
import sys

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = {
    "application": ["specs/applications/*.json", "examples/*/*.json", "tests/data/specs/*.json"],
    "bundle": ["tests/fuzz/seeds/bundle/*.json"],
    "suggestions": ["tests/fuzz/seeds/answer/document.json"],
}


def refuse_repeated_keys(pairs):
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"repeated key '{key}'")
    return dict(pairs)


def read(path):
    text = re.sub(r'"(?:\\.|[^"\\])*"|//[^\n]*', lambda match: match[0] if match[0][0] == '"' else "", path.read_text())
    return json.loads(text, object_pairs_hook=refuse_repeated_keys)


def main():
    findings = []
    documents = {}
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.json"], cwd=ROOT, capture_output=True, text=True,
                             check=True).stdout.split()
    for name in tracked:
        if (ROOT / name).is_file():  # not one that was deleted
            try:
                documents[name] = read(ROOT / name)
            except ValueError as error:
                findings.append(f"{name}: {error}")

    schemas = [name for name in documents if re.fullmatch(r"specs/schema/.*\.json", name)]
    for name in schemas:
        try:
            jsonschema.Draft7Validator.check_schema(documents[name])
        except jsonschema.SchemaError as error:
            findings.append(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message}")

    validated = 0
    for kind, patterns in DOCUMENTS.items():
        validator = jsonschema.Draft7Validator(documents[f"specs/schema/{kind}.schema.json"])
        for pattern in patterns:
            names = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob(pattern))]
            if not names:
                findings.append(f"{pattern}: no such file")
            for name in names:
                validated += 1
                for error in validator.iter_errors(documents.get(name, {})):
                    findings.append(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message}")

    print("\n".join(findings), end="\n" if findings else "")
    print(f"{len(documents)} JSON files, {len(schemas)} schemas, {validated} documents validated, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
