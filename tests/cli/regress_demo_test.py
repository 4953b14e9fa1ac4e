"""The verb regress --demo: its numbers against the formulas, written out here, and its files."""

import json
import math
import pathlib
import unittest

from program import ProgramTest, strict_json

GOLDEN = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "noisy_sine.json").read_text())
PICTURES = ["three_bandwidths", "temperature", "choices", "dot_product"]
OCCUPIED, USAGE = 73, 64


def softmax(scores):
    largest = max(scores)
    weights = [math.exp(score - largest) for score in scores]
    return [weight / sum(weights) for weight in weights]


def gaussian(x, points, h):
    return softmax([-((x - point) / h) ** 2 / 2 for point in points])


def mean(values):
    return sum(values) / len(values)


class RegressDemo(ProgramTest):
    def check_fit(self, fit, document, weights_at):
        """Values, entropy and points used are those of the weights."""
        rows = [weights_at(place) for place in document["places"]]
        for value, row in zip(fit["values"], rows, strict=True):
            self.assertAlmostEqual(value, sum(w * y for w, y in zip(row, document["y"])), 9)
        self.assertAlmostEqual(fit["entropy"], mean([-sum(w * math.log(w) for w in row if w > 0) for row in rows]), 9)
        self.assertAlmostEqual(fit["effective_n"], mean([1 / sum(w * w for w in row) for row in rows]), 7)

    def test_numbers(self):
        document = self.json_of("regress", "--demo", "--format", "svg", "--out", "demo")
        x, y = document["x"], document["y"]
        self.assertEqual(x, GOLDEN["x"])
        for ours, theirs in zip(y, GOLDEN["y"], strict=True):
            self.assertAlmostEqual(ours, theirs, 6)
        self.assertEqual((document["places"][0], document["places"][-1], len(document["places"])), (-1, 11, 200))

        self.assertEqual([fit["bandwidth"] for fit in document["bandwidths"]], [0.05, 0.5, 10])
        for fit in document["bandwidths"]:
            h = fit["bandwidth"]
            self.check_fit(fit, document, lambda place: gaussian(place, x, h))
            errors = []
            for i in range(80):
                row = gaussian(x[i], x[:i] + x[i + 1:], h)
                errors.append((y[i] - sum(w * v for w, v in zip(row, y[:i] + y[i + 1:]))) ** 2)
            self.assertAlmostEqual(fit["cv"], mean(errors), 9)

        entropies = [row["entropy"] for row in document["temperatures"]]
        self.assertEqual(entropies, sorted(entropies))
        self.assertAlmostEqual(entropies[-1], math.log(80), 3)
        for row in document["temperatures"]:
            self.assertAlmostEqual(row["temperature"], row["bandwidth"] ** 2)
            self.assertLess(row["difference"], 1e-12)

        dots = document["dot_product"]
        centre = mean(x)
        variance = mean([(point - centre) ** 2 for point in x])
        self.check_fit(dots["raw"], document, lambda place: softmax([place * point for point in x]))
        self.check_fit(dots["normalised"], document,
                       lambda place: softmax([(place - centre) * (point - centre) / variance for point in x]))
        self.check_fit(dots["identity"], document, lambda place: gaussian(place, x, 0.5))
        self.assertLess(dots["identity_difference"], 1e-12)

        choices = {choice["method"]: choice for choice in document["choices"]}
        self.assertEqual(list(choices), ["cv", "aicc", "rot", "plug-in"])
        for choice in choices.values():
            self.assertLessEqual(choices["cv"]["cv"], choice["cv"])
        spread = sorted(x)
        sd = math.sqrt(sum((point - centre) ** 2 for point in x) / 79)
        self.assertLessEqual(choices["rot"]["bandwidth"], 1.06 * sd * 80 ** -0.2 * (1 + 1e-9))
        self.assertGreater(choices["rot"]["bandwidth"], 0.1 * (spread[-1] - spread[0]) * 80 ** -0.2)

        self.assertEqual(sorted(path.name for path in (self.folder / "demo").iterdir()),
                         sorted(["result.json", *[name + ".svg" for name in PICTURES]]))
        self.assertEqual(strict_json((self.folder / "demo" / "result.json").read_text()), document)

    def test_for_a_person(self):
        out = self.succeed("regress", "--demo", "--format", "png,csv", "--out", "demo")
        self.assertIn("temperature", out)
        self.assertIn("Written: demo", out)
        for name in PICTURES:
            self.assertTrue((self.folder / "demo" / f"{name}.png").read_bytes().startswith(b"\x89PNG"))
        lines = (self.folder / "demo" / "curves.csv").read_text().splitlines()
        self.assertEqual(len(lines), 201)
        self.assertTrue(lines[0].startswith("x,h_0.05,h_0.5,h_10,"))
        self.assert_refused(["regress", "--demo", "--out", "demo"], OCCUPIED, "demo")

    def test_it_brings_its_own_data(self):
        self.assert_refused(["regress", "some.csv", "--demo"], USAGE, "--demo")
        self.assert_refused(["regress", "--demo", "--format", "npy"], USAGE, "npy")


if __name__ == "__main__":
    unittest.main(verbosity=2)
