"""What the measurements on a LAN have in common: each is a test case, so that it makes and ends everything as tests do."""

import json
import sys


def run(case):
    """Runs one measurement; false, with the reason on the standard error, when nothing came of it."""
    result = case.run()
    for _, report in result.errors + result.failures:
        print(report, file=sys.stderr)
    if result.skipped or not result.wasSuccessful():
        print(f"{sys.argv[0]}: {type(case).__name__}: nothing was measured (it needs root)", file=sys.stderr)
        return False
    return True


def median(figures):
    return sorted(figures)[len(figures) // 2]


def print_row(suite, row, figure, unit, bar=None, as_json=False):
    """One row, as Benchmarks/run prints its own; `bar` is what the figure may not exceed."""
    if as_json:
        print(json.dumps({
            "suite": suite, "row": row, "figure": round(figure, 3), "unit": unit, "ratio": None, "bar": bar,
            "bar_is": "most" if bar else None, "holds": figure <= bar if bar else None}), flush=True)
        return
    missed = "missed" if bar and figure > bar else ""
    bar = f"<= {bar}" if bar else "-"
    print(f"{suite:12} {row:62} {figure:<10.4g} {unit:14} {'-':8} {bar:10} {missed}".rstrip(), flush=True)
