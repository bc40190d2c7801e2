#!/usr/bin/env python3
"""Make the clinic that the demo replicates: one JSON document per line, the same for the same seed.

    demo/generate.py [--documents N] [--seed N] [--first N]

The documents are what a small clinic keeps on the machines of its LAN: patients, visits,
laboratory results, readings of bedside devices, stock and appointments. They are meant to be
hard on a document store: nested objects and arrays, names in several scripts with combining
characters and emoji, IDs with slashes and spaces, integers beyond 2^53 and beyond 2^64, doubles
with all their digits, and sizes from about a hundred bytes to about twenty kilobytes.

Every line has an `_id`, and no two lines of one run have the same one. `--first N` numbers the
documents from N, so that two runs make documents that do not meet.
"""

import argparse
import json
import sys


class Dice:
    """SplitMix64: unlike Python's own generator, the same in every version of Python."""

    MASK = (1 << 64) - 1

    def __init__(self, seed):
        self.state = seed & self.MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self.MASK
        return z ^ (z >> 31)

    def between(self, low, high):
        """A whole number from low to high, both included."""
        return low + self.next() % (high - low + 1)

    def fraction(self):
        """A double from 0 to below 1, with all its 53 bits."""
        return (self.next() >> 11) / (1 << 53)

    def one_of(self, choices):
        return choices[self.next() % len(choices)]

    def some_of(self, choices, most):
        """Up to `most` different ones, in the order of the list."""
        wanted = {self.next() % len(choices) for _ in range(self.between(0, most))}
        return [choices[i] for i in sorted(wanted)]

    def chance(self, percent):
        return self.next() % 100 < percent


# Names as people really have them. "Ame\u0301lie" is written with a combining accent and is
# another string than "Am\u00e9lie"; the last one joins emoji with zero-width joiners.
GIVEN_NAMES = [
    "Ame\u0301lie", "Am\u00e9lie", "Søren", "Łucja", "Nguyễn", "Ζωή", "Ярослава", "Ğülşen", "محمد", "רות",
    "अनुष्का", "สมชาย", "小蘭", "さくら", "지훈", "თამარ", "Հայկ", "Ọlá", "Máire", "Björk", "O’Neil", "Jean-Luc",
]
FAMILY_NAMES = [
    "Müller", "d’Alembert", "Þórsdóttir", "Ivanović", "Παπαδόπουλος", "Шевченко", "Öztürk", "الخوارزمي", "כהן",
    "शर्मा", "วงศ์สุวรรณ", "王", "高橋", "김", "ბერიძე", "Պետրոսյան", "Adébáyọ̀", "Ó Súilleabháin", "van 't Hoff",
]
MOODS = ["🙂", "😷", "🤒", "👩🏽\u200d⚕️", "👨\u200d👩\u200d👧", "🩸", "❤️\u200d🩹", "—", ""]
COMPLAINTS = [
    "Husten seit drei Tagen, nachts schlimmer", "toux sèche, fièvre à 38,5 °C", "πονοκέφαλος",
    "боль в колене после падения", "頭痛とめまい", "두통", "ألم في الظهر", "sore throat; \"like sandpaper\"",
    "rash on left forearm\n(photo taken)", "Kontrolle nach OP \\ Faden ziehen", "0\u0327verdose question\ttab",
]
REMARKS = [
    "Patient kam zu Fuß.", "Tension artérielle prise deux fois.", "血圧は安定しています。", "Жалоб больше нет.",
    "Allergisch gegen Penicillin (Ausweis gesehen).", "يُراجع بعد أسبوع.", "Μιλάει μόνο ελληνικά.",
    "Follow-up by telephone agreed; prefers mornings ☎️.", "รอผลตรวจเลือด", "Wound clean & dry, <5 mm.",
]
DRUGS = [
    ("ibuprofène 400 mg", "tablet"), ("amoxicillin/clavulanic acid", "tablet"), ("Парацетамол 500 мг", "tablet"),
    ("NaCl 0,9 %", "bag"), ("インスリン グラルギン", "pen"), ("adrénaline 1 mg/ml", "ampoule"), ("Ringer-Laktat", "bag"),
]
ANALYTES = [
    ("haemoglobin", "g/dl", 12.0, 17.5), ("leucocytes", "10⁹/l", 4.0, 10.0), ("CRP", "mg/l", 0.0, 5.0),
    ("glucose", "mmol/l", 3.9, 5.8), ("creatinine", "µmol/l", 53.0, 106.0), ("Na⁺", "mmol/l", 135.0, 145.0),
    ("K⁺", "mmol/l", 3.5, 5.1), ("TSH", "mU/l", 0.4, 4.0), ("ferritin", "µg/l", 15.0, 300.0),
]
ROOMS = ["reception", "laboratory", "ward 1", "ward 2", "Röntgen", "手術室"]
STAFF = ["dr-østergaard", "schwester-ute", "lab-tech-7", "д-р Соколова", "ดร. มาลี"]


def day(dice):
    return f"2026-{dice.between(1, 12):02}-{dice.between(1, 28):02}"


def moment(dice):
    return f"{day(dice)}T{dice.between(6, 21):02}:{dice.between(0, 59):02}:{dice.between(0, 59):02}Z"


def serial(dice):
    """A device's serial number: exact in JSON, but not in a double (above 2^53)."""
    return 9_007_199_254_740_993 + 2 * dice.between(0, 1 << 60)


def patient(dice, number):
    return {
        "_id": f"patient:{number:06}",
        "type": "patient",
        "name": {"given": [dice.one_of(GIVEN_NAMES) for _ in range(dice.between(1, 3))],
                 "family": dice.one_of(FAMILY_NAMES)},
        "born": f"{dice.between(1931, 2025)}-{dice.between(1, 12):02}-{dice.between(1, 28):02}",
        # An insurance number has 20 digits: beyond any 64-bit integer, and not to be rounded.
        "insurance": 10 ** 19 + dice.next() * 4 + dice.between(0, 3),
        "weightKg": 3 + dice.fraction() * 110,
        "allergies": dice.some_of(["penicillin", "Nüsse", "латекс", "花粉", "sulfonamides"], 3),
        "contact": {"phone": f"+{dice.between(1, 998)} {dice.between(10 ** 7, 10 ** 9)}",
                    "relatives": [{"name": dice.one_of(GIVEN_NAMES), "mayBeTold": dice.chance(70)}
                                  for _ in range(dice.between(0, 2))]},
        "mood": dice.one_of(MOODS),
        "insured": True if dice.chance(90) else None,
    }


def visit(dice, number):
    return {
        "_id": f"visit/{day(dice)}/{number:06}",
        "type": "visit",
        "patient": f"patient:{dice.between(0, max(number, 1)):06}",
        "at": moment(dice),
        "complaint": dice.one_of(COMPLAINTS),
        "vitals": {"bloodPressure": [dice.between(85, 190), dice.between(50, 110)],
                   "temperatureC": 35.5 + dice.fraction() * 5, "pulse": dice.between(42, 160),
                   "saturation": dice.between(86, 100) / 100},
        "notes": [{"by": dice.one_of(STAFF), "text": " ".join(dice.one_of(REMARKS) for _ in range(dice.between(1, 8)))}
                  for _ in range(dice.between(1, 5))],
        "orders": dice.some_of(["x-ray", "full blood count", "ECG", "リハビリ", "vaccination"], 3),
    }


def laboratory(dice, number):
    results = []
    for name, unit, low, high in dice.some_of(ANALYTES, 8):
        value = low + (dice.fraction() * 1.6 - 0.3) * (high - low)
        results.append({"analyte": name, "unit": unit, "value": value, "range": {"low": low, "high": high},
                        "flag": "L" if value < low else "H" if value > high else None})
    return {
        "_id": f"lab:{number:06} {dice.one_of(['α', 'β', 'γ', 'Ж', '検'])}",
        "type": "lab",
        "sample": {"barcode": serial(dice), "takenAt": moment(dice), "by": dice.one_of(STAFF)},
        "results": results,
        "final": dice.chance(80),
    }


def device(dice, number):
    """A bedside device: from a single value to a strip of an ECG, which makes the big documents."""
    samples = dice.one_of([1, 1, 4, 12, 60, 250, 900, 2300])
    level, strip = 0.0, []
    for _ in range(samples):
        level += dice.fraction() - 0.5
        strip.append(round(level, 4))
    return {
        "_id": f"device:{number:06}",
        "type": "reading",
        "serial": serial(dice),
        "counter": dice.next(),
        "at": moment(dice),
        "channel": {"name": dice.one_of(["I", "II", "aVR", "SpO₂", "ΔP"]), "unit": "mV", "gain": 1e-6 * dice.between(1, 9)},
        "samples": strip,
        "battery": dice.fraction(),
    }


def stock(dice, number):
    name, form = dice.one_of(DRUGS)
    return {
        "_id": f"stock:{name} #{number:06}",
        "name": name,
        "form": form,
        "count": dice.between(0, 4000),
        "batches": [{"lot": f"{dice.next():016X}", "until": day(dice)} for _ in range(dice.between(0, 3))],
        "shelf": {"room": dice.one_of(ROOMS), "row": dice.between(1, 30)},
    }


def appointment(dice, number):
    """The small documents, of about a hundred bytes."""
    return {"_id": f"appt:{number:06}", "at": moment(dice), "room": dice.one_of(ROOMS), "done": dice.chance(40)}


KINDS = [patient, visit, visit, laboratory, laboratory, device, device, stock, appointment, appointment]


def documents(count, seed, first=0):
    """The documents of one run, as Python objects in a fixed order."""
    dice = Dice(seed)
    for number in range(first, first + count):
        yield dice.one_of(KINDS)(dice, number)


def line(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2000, metavar="N", help="how many (2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the same seed makes the same clinic (1)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first document (0)")
    options = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    for document in documents(options.documents, options.seed, options.first):
        print(line(document))


if __name__ == "__main__":
    main()
