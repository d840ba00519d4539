#!/usr/bin/env python3
"""How long lowering would take on a machine with more cores.

  tools/bench/schedule.py [--cores N] TRACE...

TRACE is a file of `xaas deploy --trace`. The IR modules that were lowered are scheduled in the order in which
the deploy started them, each on the first core that is free, for the seconds that they took. No schedule ends
before the larger of sum / cores and the longest module, so the last column is how far this one is from the
best. Seconds of a machine whose cores share resources (hyper-threads) are longer than those of 64 cores of
their own; the ratio changes little.
"""

import argparse
import heapq
import json
import sys


def lowered(path):
    """Seconds of the modules that no cache had, in the order of their start."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    spans = [
        event
        for event in events
        if event.get("cat") == "module" and event.get("args", {}).get("cache") != "hit"
    ]
    spans.sort(key=lambda event: event["ts"])
    return [event["dur"] / 1e6 for event in spans]


def wall(seconds, cores):
    free = [0.0] * cores
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=64)
    parser.add_argument("trace", nargs="+")
    arguments = parser.parse_args()
    if arguments.cores < 1:
        parser.error("--cores: at least 1")
    print(f"{'modules':>8} {'sum s':>9} {'longest s':>10} {'sum/cores':>10} {'schedule s':>11} {'ratio':>6}  trace")
    for path in arguments.trace:
        seconds = lowered(path)
        if not seconds:
            sys.exit(f"{path}: no IR module was lowered")
        bound = max(sum(seconds) / arguments.cores, max(seconds))
        made = wall(seconds, arguments.cores)
        print(
            f"{len(seconds):8} {sum(seconds):9.2f} {max(seconds):10.2f} {sum(seconds) / arguments.cores:10.2f} "
            f"{made:11.2f} {made / bound:6.2f}  {path}"
        )


if __name__ == "__main__":
    main()
