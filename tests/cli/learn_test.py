"""`regress --learn`: kernels that gradients fit, against definitions written out here."""

import csv
import math
import pathlib
import sys
import unittest

from program import ProgramTest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
SINE = SOURCE / "data" / "noisy_sine.csv"
FORMS = ["gaussian", "dot", "dot-standardised", "dot-unit", "shared", "linear", "separate", "network", "heads"]
CV_BANDWIDTH, CV = 0.15949337759617208, 0.042760421098622194  # ../shared/reference/kernel.json


def sine():
    with open(SINE, newline="") as file:
        return [(float(row["x"]), float(row["y"])) for row in csv.DictReader(file)]


def left_out_error(data, score):
    """Mean squared error of softmax-weighted averages of the other rows."""
    total = 0.0
    for i, (x, y) in enumerate(data):
        others = [(score(x, other), value) for j, (other, value) in enumerate(data) if j != i]
        top = max(s for s, _ in others)
        weights = [math.exp(s - top) for s, _ in others]
        total += (y - sum(w * value for w, (_, value) in zip(weights, others)) / sum(weights))**2
    return total / len(data)


class Learn(ProgramTest):

    def test_one_document_for_all_kernels(self):
        found = self.json_of("regress", str(SINE), "--x", "x", "--y", "y", "--learn", "--seeds", "2", "--out", "fit", "--format",
                             "png,csv,npy")
        self.assertEqual([row["kernel"] for row in found["rows"]], FORMS)
        self.assertEqual([row["parameters"] for row in found["rows"]], [1, 0, 0, 0, 12, 16, 24, 96, 100])
        self.assertLess(abs(found["learned"]["bandwidth"][0] / CV_BANDWIDTH - 1), 1e-3)
        self.assertLess(abs(found["learned"]["loo"] / CV - 1), 1e-6)
        self.assertLess(found["identity_difference"], 1e-12)
        for row in found["rows"]:
            self.assertEqual(len(row["held_out"]["splits"]), 8)
            self.assertEqual(len(row["loo"]["seeds"]), 2 if row["kernel"] in FORMS[4:] else 1)
            self.assertIsNone(row["loo"]["low"])
            if row["kernel"] == "gaussian":
                self.assertIsNone(row["against_gaussian"])
            else:
                self.assertLess(row["against_gaussian"]["low"], row["against_gaussian"]["high"])
        self.assertEqual(found["local_bandwidth"].keys(), {"x", "gaussian", "shared", "linear", "separate", "network"})
        self.assertAlmostEqual(found["local_bandwidth"]["gaussian"]["width"][2], CV_BANDWIDTH, delta=1e-4)
        self.assertIn("on held-out rows", found["verdict"])
        names = {path.name for path in (self.folder / "fit").iterdir()}
        self.assertEqual(names, {"result.json", "learned.png", "learned-weights.png", "learned.csv"} |
                         {f"weights-{form}.npy" for form in FORMS})
        self.check_what_nothing_trains({row["kernel"]: row["loo"]["mean"] for row in found["rows"]})

    def check_what_nothing_trains(self, loss):
        data = sine()
        mean = sum(x for x, _ in data) / len(data)
        sd = math.sqrt(sum((x - mean)**2 for x, _ in data) / len(data))

        def unit(x):
            return 1 / math.hypot(1, (x - mean) / sd), (x - mean) / sd / math.hypot(1, (x - mean) / sd)

        scores = {
            "dot": lambda a, b: a * b,
            "dot-standardised": lambda a, b: (a - mean) * (b - mean) / sd**2,
            "dot-unit": lambda a, b: sum(p * q for p, q in zip(unit(a), unit(b))),
        }
        for form, score in scores.items():
            self.assertAlmostEqual(loss[form], left_out_error(data, score), delta=1e-10)

    def test_what_cannot_be_learned_is_refused(self):
        (self.folder / "words.csv").write_text("x,y,c\n" + "".join(f"{i},{i % 7},{'ab'[i % 2]}\n" for i in range(20)))
        (self.folder / "few.csv").write_text("x,y\n" + "".join(f"{i},{i % 7}\n" for i in range(9)))
        (self.folder / "many.csv").write_text("x,y\n" + "".join(f"{i},{i % 7}\n" for i in range(2001)))
        for file, x, code, part in (("words.csv", "x,c", 78, "column c"), ("few.csv", "x", 65, "9 rows"),
                                    ("many.csv", "x", 78, "2001 rows")):
            self.assert_refused(("regress", file, "--x", x, "--y", "y", "--learn"), code, part)


if __name__ == "__main__":
    unittest.main()
