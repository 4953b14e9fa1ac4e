"""What trained heads must look like: ranges that a study of other code found (2 layers, 4 heads, d 64), over 3 seeds.

Run by ctest with the built program as argument.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SEEDS = (1, 2, 3)
STEPS = "700"


def study(folder, task, seed):
    """heads.json of a training."""
    run = pathlib.Path(folder) / f"{task}-{seed}"
    done = subprocess.run([PROGRAM, "train", task, "--n-layers", "2", "--n-heads", "4", "--d-model", "64", "--steps", STEPS,
                           "--seed", str(seed), "--eval-every", "0", "--quiet", "--json", "--out", run],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads((run / "heads.json").read_text())


def layer(found, index):
    return [head for head in found["heads"] if head["layer"] == index]


def explained(heads, key="explained"):
    """The best head's; a head that is uniform has none."""
    return max([head["kernel"][key] for head in heads if head["kernel"][key] is not None], default=0.0)


def accuracies(found):
    return (found["all_replaced"][which]["token_accuracy"] for which in ("base", "replaced"))


class ExpectedHeads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.found = {(task, seed): study(cls.folder.name, task, seed)
                     for task in ("reverse", "induction", "sort", "histogram") for seed in SEEDS}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self, task):
        for seed in SEEDS:
            with self.subTest(f"{task}, seed {seed}"):
                yield self.found[task, seed]

    def test_reverse_is_mirrored_gaussians(self):
        for found in self.each("reverse"):
            heads = layer(found, 0)
            nearest = max(heads, key=lambda head: head["kernel"]["explained"] or 0.0)
            self.assertEqual((nearest["kernel"]["family"], nearest["kernel"]["slope"]), ("gaussian", -1.0))
            self.assertAlmostEqual(nearest["kernel"]["offset"], 15.0, delta=0.3)
            self.assertGreaterEqual(explained(heads), 0.88)
            self.assertGreaterEqual(explained(heads, "positional_share"), 0.95)
            base, replaced = accuracies(found)
            self.assertGreaterEqual(base, 0.995)
            self.assertGreaterEqual(replaced, 0.995)

    def test_induction_is_previous_token_then_induction(self):
        for found in self.each("induction"):
            previous = [head for head in layer(found, 0) if "previous-token" in head["labels"]]
            following = [head for head in layer(found, 1) if "induction" in head["labels"]]
            self.assertTrue(previous, "no head of layer 0 is named previous-token")
            self.assertTrue(following, "no head of layer 1 is named induction")
            kernel = max(previous, key=lambda head: head["kernel"]["explained"])["kernel"]
            self.assertEqual((kernel["family"], kernel["slope"]), ("gaussian", 1.0))
            self.assertAlmostEqual(kernel["offset"], -1.0, delta=0.1)
            self.assertGreaterEqual(kernel["explained"], 0.75)
            self.assertEqual({head["kernel"]["family"] for head in following}, {"induction"})
            self.assertGreaterEqual(explained(following), 0.78)
            base, replaced = accuracies(found)
            self.assertGreaterEqual(base, 0.99)
            self.assertGreaterEqual(replaced, 0.99)

    def test_sort_is_no_kernel_and_needs_its_weights(self):
        for found in self.each("sort"):
            self.assertLess(explained(found["heads"]), 0.1)
            base, replaced = accuracies(found)
            self.assertGreaterEqual(base, 0.99)
            self.assertLess(replaced, 0.85)

    def test_histogram_looks_at_the_same_token_but_is_more_than_that(self):
        for found in self.each("histogram"):
            nearest = max(found["heads"], key=lambda head: head["kernel"]["explained"] or 0.0)
            self.assertEqual(nearest["kernel"]["family"], "same-token")
            self.assertLess(explained(found["heads"]), 0.8)
            base, replaced = accuracies(found)
            self.assertGreaterEqual(base, 0.95)
            self.assertLess(replaced, 0.75)


if __name__ == "__main__":
    unittest.main(verbosity=2)
