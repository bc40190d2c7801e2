"""The demo's generator: the same for the same seed, and as hard on a store as it promises."""

import hashlib
import json
import subprocess
import sys
import unicodedata
import unittest

from kithtest import ROOT

import generate



class Generator(unittest.TestCase):
    def lines(self, *arguments):
        return subprocess.run(
            [sys.executable, str(ROOT / "demo" / "generate.py"), *arguments], check=True, capture_output=True).stdout

    def test_same_seed(self):
        """generator: one seed gives the same bytes, another seed gives others"""
        once, twice = self.lines("--documents", "200", "--seed", "7"), self.lines("--documents", "200", "--seed", "7")
        self.assertEqual(once, twice)
        self.assertNotEqual(once, self.lines("--documents", "200", "--seed", "8"))

    def test_same_everywhere(self):
        """generator: the bytes are those of every other machine and Python"""
        text = "\n".join(map(generate.line, generate.documents(300, 1)))
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest(), "e825e46b4e47112c5c5b062f1e3deae37ff51e2b4f67583f9a7bd0842b25490a")

    def test_content(self):
        """generator: sizes, scripts, nesting, large integers and doubles are all there"""
        documents = list(generate.documents(2000, 1))
        lines = [generate.line(d).encode() for d in documents]
        self.assertEqual(len({d["_id"] for d in documents}), 2000)
        self.assertLess(min(map(len, lines)), 120)
        self.assertGreater(max(map(len, lines)), 15_000)
        self.assertLess(max(map(len, lines)), 25_000)
        text = b"".join(lines).decode()
        for script in ("GREEK", "CYRILLIC", "ARABIC", "HEBREW", "DEVANAGARI", "THAI", "CJK", "HANGUL", "GEORGIAN"):
            self.assertTrue(any(unicodedata.name(c, "").startswith(script) for c in set(text)), script)
        self.assertIn("\u0301", text, "no combining character")
        self.assertIn("\u200d", text, "no joined emoji")
        numbers = [n for d in documents for n in scalars(d) if isinstance(n, (int, float)) and not isinstance(n, bool)]
        self.assertTrue(any(isinstance(n, int) and n > 1 << 53 and int(float(n)) != n for n in numbers))
        self.assertTrue(any(isinstance(n, int) and n > 1 << 64 for n in numbers))
        self.assertTrue(any(isinstance(n, float) and not n.is_integer() for n in numbers))
        self.assertTrue(all(not key.startswith("_") or key == "_id" for d in documents for key in d))
        self.assertTrue(all(len(d["_id"].encode()) <= 240 for d in documents))
        self.assertEqual([json.loads(line) for line in lines], documents)

    def test_first(self):
        """generator: two runs with other first numbers make documents that do not meet"""
        one = {d["_id"] for d in generate.documents(500, 1)}
        other = {d["_id"] for d in generate.documents(500, 1, first=500)}
        self.assertEqual(one & other, set())


def scalars(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from scalars(item)
    else:
        yield value
