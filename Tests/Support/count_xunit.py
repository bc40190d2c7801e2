#!/usr/bin/env python3
"""Prints "passed failed skipped" of the tests in the xunit files of `swift test --xunit-output`."""

import sys
from pathlib import Path

passed = failed = skipped = 0
for path in map(Path, sys.argv[1:]):
    if not path.exists():
        continue
    # Cut up as text and not as XML: a name or a message may have characters that XML does not allow. The counts in
    # the file's head are of issues, of which one test can have many.
    for case in path.read_text(errors="replace").split("<testcase ")[1:]:
        if "<failure" in case or "<error" in case:
            failed += 1
        elif "<skipped" in case:
            skipped += 1
        else:
            passed += 1
print(passed, failed, skipped)
