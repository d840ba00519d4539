"""Extracts the shell text of a pipeline (GitHub Actions or GitLab CI) as jobs that run here.

    pipelines.py FILE STAND_INS.json DIRECTORY

Writes, for each job and each value of its matrix, a directory DIRECTORY/NN-NAME with `environment` (to be sourced) and
the steps `0.sh`, `1.sh`, ... STAND_INS has the values that the forge would provide: expressions of GitHub (`github.sha`), or
variables of GitLab. Everything unknown is an error. Paths below /tmp are moved below DIRECTORY.
"""
import itertools
import json
import os
import re
import shlex
import string
import sys

import yaml


def die(text):
    sys.exit(f"{sys.argv[1]}: {text}")


def instances(matrix):
    """Of a matrix {NAME: [VALUE...]}."""
    names = list(matrix)
    for values in itertools.product(*(matrix[name] for name in names)):
        yield dict(zip(names, map(str, values)))


def in_order(jobs, needs):
    done = []
    while len(done) < len(jobs):
        ready = [name for name in jobs if name not in done and all(other in done for other in needs(jobs[name]))]
        if not ready:
            die("jobs that need each other, or what is not there")
        done += ready
    return done


def github(document, known):
    def expand(text, matrix):
        def value(match):
            name = match.group(1).strip()
            if name.startswith("matrix."):
                return matrix[name.removeprefix("matrix.")]
            return known[name] if name in known else die(f"nothing stands in for {name}")

        return re.sub(r"\$\{\{(.*?)\}\}", value, str(text))

    if document["defaults"]["run"]["shell"] != "bash":
        die("its shell is not bash")
    jobs = document["jobs"]

    def needs(job):
        needed = job.get("needs", [])
        return [needed] if isinstance(needed, str) else needed

    for name in in_order(jobs, needs):
        job = jobs[name]
        for matrix in instances(job.get("strategy", {}).get("matrix", {})):
            environment = {key: expand(value, matrix) for key, value in {**document["env"], **job.get("env", {})}.items()}
            steps = []
            for step in job["steps"]:
                if ("run" in step) == ("uses" in step):
                    die(f"{name}: a step that neither runs nor uses something, or both")
                if "run" not in step:
                    continue
                if "${{" in step["run"]:
                    die(f"{name}: an expression in a shell text: whoever names a branch could run commands")
                exports = "".join(
                    f"export {key}={shlex.quote(expand(value, matrix))}\n" for key, value in step.get("env", {}).items()
                )
                steps.append(exports + step["run"])
            yield "-".join([name, *matrix.values()]), environment, steps


def gitlab(document, known):
    jobs = {name: job for name, job in document.items() if isinstance(job, dict) and "script" in job}
    stages = document["stages"]
    for name in sorted(jobs, key=lambda name: stages.index(jobs[name]["stage"])):
        job = jobs[name]
        # Each entry of the list is a separate matrix.
        for matrix in itertools.chain.from_iterable(map(instances, job.get("parallel", {}).get("matrix", [{}]))):
            environment = dict(known)
            for key, value in {**document["variables"], **job.get("variables", {}), **matrix}.items():
                value = str(value)
                try:
                    environment[key] = string.Template(value).substitute(environment)
                except KeyError as missing:
                    die(f"nothing stands in for {missing}")
            lines = document.get("default", {}).get("before_script", []) + job.get("before_script", []) + job["script"]
            yield "-".join([name, *matrix.values()]), environment, ["\n".join(lines) + "\n"]


def main():
    path, stand_ins, directory = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    with open(stand_ins, encoding="utf-8") as file:
        known = json.load(file)
    overridden = {key.removeprefix("="): value for key, value in known.items() if key.startswith("=")}
    read = github if "jobs" in document else gitlab
    for number, (name, environment, steps) in enumerate(read(document, known)):
        place = os.path.join(directory, f"{number:02}-{name}")
        os.makedirs(place)
        with open(os.path.join(place, "environment"), "w", encoding="utf-8") as file:
            for key, value in {**environment, **overridden}.items():
                if key.startswith("="):
                    continue
                value = re.sub(r"^/tmp/", os.path.abspath(directory) + "/tmp/", value)
                file.write(f"export {key}={shlex.quote(value)}\n")
        for step, text in enumerate(steps):
            with open(os.path.join(place, f"{step}.sh"), "w", encoding="utf-8") as file:
                file.write(text)


main()
