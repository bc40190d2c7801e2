#!/usr/bin/env python3
"""Prints "passed failed skipped" of the tests in the xunit files of `swift test --xunit-output`."""

import sys
import xml.etree.ElementTree as xml
from pathlib import Path

passed = failed = skipped = 0
for path in map(Path, sys.argv[1:]):
    if not path.exists():
        continue
    for case in xml.parse(path).iter("testcase"):
        # The counts in the file's head are of issues, of which one test can have many.
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
print(passed, failed, skipped)
