#!/usr/bin/env python3
"""Runs the Python tests of some folders, one after the other, and writes down the counts.

    run_python_tests.py [--filter WORD] [--counts FILE] FOLDER...

Prints one line per test with its time. FILE gets "passed failed skipped". A test that takes longer
than TEST_SECONDS_MAX has hung: it fails, with the place where it was.
"""

import argparse
import faulthandler
import os
import signal
import sys
import time
import unittest
from pathlib import Path

TEST_SECONDS_MAX = 300 if os.environ.get("KITH_TESTS_LONG") != "1" else 1800


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.passed = self.failed = self.skips = 0

    def startTest(self, test):
        super().startTest(test)
        self.outcome = "passed"
        self.reports = []
        self.started = time.monotonic()
        signal.alarm(TEST_SECONDS_MAX)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)
        name = test.shortDescription() or str(test)
        print(f"  {self.outcome:7} {time.monotonic() - self.started:6.1f} s  {name}", flush=True)
        for report in self.reports:
            print("\n".join("      " + line for line in report.rstrip().splitlines()), flush=True)
        if self.outcome == "passed":
            self.passed += 1
        elif self.outcome == "skipped":
            self.skips += 1
        else:
            self.failed += 1

    def _fail(self, test, error):
        self.outcome = "FAILED"
        self.reports.append(f"{test.id()}\n{self._exc_info_to_string(error, test)}")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._fail(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._fail(test, error)
        if not isinstance(test, unittest.TestCase):  # a module or a class that could not be set up
            self.failed += 1
            print("\n".join(self.reports), flush=True)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._fail(subtest, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.outcome = "skipped"
        self.reports.append(reason)


class Interrupted(Exception):
    """SIGINT or SIGTERM. Not KeyboardInterrupt, after which a test's clean-up would not run."""


def hung(*_):
    faulthandler.dump_traceback()
    raise TimeoutError(f"the test did not end within {TEST_SECONDS_MAX} s")


def tests_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--filter", default="", metavar="WORD", help="only tests whose name or description has it")
    parser.add_argument("--counts", metavar="FILE", help="where to write the counts")
    options = parser.parse_args()

    signal.signal(signal.SIGALRM, hung)
    result = Result()

    def interrupted(number, _):
        result.shouldStop = True
        raise Interrupted(signal.Signals(number).name)
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    result.reports, result.outcome, result.started = [], "", time.monotonic()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "LAN"))
    word = options.filter.lower()
    for folder in options.folders:
        suite = unittest.defaultTestLoader.discover(folder, pattern="test_*.py", top_level_dir=folder)
        chosen = unittest.TestSuite(
            t for t in tests_of(suite)
            if word in t.id().lower() or word in (t.shortDescription() or "").lower() or "_FailedTest" in t.id())
        chosen.run(result)
    if options.counts:
        Path(options.counts).write_text(f"{result.passed} {result.failed} {result.skips}\n")
    sys.exit(1 if result.failed else 0)


if __name__ == "__main__":
    main()
