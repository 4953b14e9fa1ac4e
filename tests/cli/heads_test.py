"""The verb heads, and what train says of heads: numbers of runs and of files of weights, and what is refused."""

import csv
import json
import math
import struct
import unittest

from program import ProgramTest, strict_json

TINY = ["--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--batch", "8", "--quiet", "--eval-every", "0"]
NOT_FOUND, USAGE, BAD_DATA, BAD_CONFIG = 66, 64, 65, 78
SCORES = ["entropy", "entropy_normalised", "max_weight", "previous_token", "duplicate_token", "induction", "mean_distance",
          "sink", "confidence", "effective_df", "copying", "importance", "ablation"]
KERNEL = ["family", "slope", "offset", "bandwidth", "eps", "kl", "explained", "explained_unweighted", "positional_share"]


def npy(path, shape, values):
    """A float32 array in NumPy's format 1.0."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}f", *values))


def gaussian(length, slope, offset, h):
    """Rows of weights, written out by the formula."""
    values = []
    for i in range(length):
        row = [math.exp(-(j - (slope * i + offset)) ** 2 / (2 * h * h)) for j in range(length)]
        values += [weight / sum(row) for weight in row]
    return values


class Heads(ProgramTest):
    def train(self, task="reverse", *flags):
        return self.json_of("train", task, "--steps", "20", *TINY, *flags)["run"]

    def test_every_head_has_its_numbers(self):
        run = self.train()
        document = self.json_of("heads", run)
        self.assertEqual([(head["layer"], head["head"]) for head in document["heads"]], [(0, 0), (0, 1), (1, 0), (1, 1)])
        for head in document["heads"]:
            for name in SCORES:
                self.assertEqual(list(head[name]), ["value", "low", "high", "rows", "chance"], name)
            for name in KERNEL:
                self.assertIn(name, head["kernel"])
            self.assertAlmostEqual(head["entropy_normalised"]["chance"], 1.0)
            self.assertLessEqual(head["entropy"]["low"], head["entropy"]["value"])
            self.assertLessEqual(head["entropy"]["value"], head["entropy"]["high"])
            self.assertTrue(head["sentence"].startswith(f"L{head['layer']}H{head['head']} "))
        kept = strict_json((self.folder / run / "heads.json").read_text())
        self.assertEqual(kept["heads"], document["heads"])
        rows = list(csv.DictReader((self.folder / run / "heads" / "heads.csv").read_text().splitlines()))
        self.assertEqual(len(rows), 4)
        for row, head in zip(rows, document["heads"], strict=True):
            self.assertEqual(float(row["entropy"]), head["entropy"]["value"])
            self.assertEqual(row["family"], head["kernel"]["family"])
        for path in document["files"]:
            self.assertTrue((self.folder / path).is_file(), path)

    def test_train_says_it_and_keeps_it_for_each_step_looked_at(self):
        text = self.succeed("train", "reverse", "--steps", "4", "--heatmap-every", "2", "--out", "run", *TINY)
        self.assertIn("L1H1 is ", text)
        self.assertIn("With every head replaced by its kernel, token accuracy ", text)
        lines = [strict_json(line) for line in (self.folder / "run" / "heads.jsonl").read_text().splitlines()]
        self.assertEqual([line["step"] for line in lines], [2, 4])
        self.assertEqual(lines[-1]["heads"], strict_json((self.folder / "run" / "heads.json").read_text())["heads"])
        self.assertTrue((self.folder / "run" / "heads" / "history.png").is_file())
        self.assertTrue((self.folder / "run" / "report.html").is_file())

    def test_chosen_and_sorted(self):
        run = self.train()
        self.assertEqual({head["layer"] for head in self.json_of("heads", run, "--layer", "1")["heads"]}, {1})
        entropies = [head["entropy"]["value"] for head in self.json_of("heads", run, "--sort", "entropy")["heads"]]
        self.assertEqual(entropies, sorted(entropies, reverse=True))
        self.assertEqual(self.json_of("heads", run, "--label", "induction")["heads"], [])
        self.assertIn("No head fits", self.succeed("heads", run, "--label", "induction"))

    def test_examples_are_told_and_drawn_strongest_first(self):
        examples = self.json_of("heads", self.train(), "--examples", "1.0")["examples"]
        self.assertEqual([example["kind"] for example in examples], ["strongest", "typical", "weakest"])
        strengths = [example["strength"] for example in examples]
        self.assertEqual(strengths, sorted(strengths, reverse=True))
        for example in examples:
            self.assertEqual(len(example["tokens"]), 16)
            self.assertEqual((self.folder / example["file"]).read_bytes()[1:4], b"PNG")

    def test_a_file_of_weights_gives_its_kernels_back(self):
        wanted = [(1, -1, 0.8), (-1, 19, 1.5), (0, 7, 2.5)]
        npy(self.folder / "w.npy", [3, 20, 20], sum((gaussian(20, *one) for one in wanted), []))
        document = self.json_of("heads", "w.npy")
        for head, (slope, offset, h) in zip(document["heads"], wanted):
            kernel = head["kernel"]
            self.assertEqual((kernel["family"], kernel["slope"]), ("gaussian", slope))
            self.assertAlmostEqual(kernel["offset"], offset, delta=0.02 * max(1, abs(offset)))
            self.assertAlmostEqual(kernel["bandwidth"], h, delta=0.02 * h)
            self.assertGreater(kernel["explained"], 0.999)
            self.assertFalse(kernel["weighted"])
        self.assertIn("every row counts alike", self.succeed("heads", "w.npy"))

    def test_the_own_position_under_a_causal_mask(self):
        npy(self.folder / "own.npy", [1, 8, 8], [float(i == j) for i in range(8) for j in range(8)])
        document = self.json_of("heads", "own.npy")
        self.assertEqual((document["n_fit"], document["n_judge"]), (1, 0))
        head = document["heads"][0]
        self.assertEqual((head["kernel"]["slope"], head["kernel"]["offset"]), (1, 0))
        self.assertIn("identity", head["labels"])
        self.assertIsNone(head["kernel"]["positional_share"])
        self.assertIn("fitted and judged on the same weights", self.succeed("heads", "own.npy").replace("\n", " "))

    def test_padding_in_a_file_is_not_counted(self):
        real, whole = 7, 10
        row = [1 / real] * real + [0.0] * (whole - real)
        npy(self.folder / "padded.npy", [1, whole, whole], row * real + [0.0] * whole * (whole - real))
        head = self.json_of("heads", "padded.npy")["heads"][0]
        self.assertEqual(head["entropy_normalised"]["rows"], real)
        self.assertAlmostEqual(head["entropy_normalised"]["value"], 1.0, places=5)

    def test_cross_attention_and_one_token(self):
        npy(self.folder / "cross.npy", [1, 2, 4], [0.25] * 8)
        head = self.json_of("heads", "cross.npy")["heads"][0]
        self.assertEqual((head["previous_token"]["rows"], head["previous_token"]["value"]), (0, None))
        self.assertIn("uniform", head["labels"])
        npy(self.folder / "one.npy", [1, 1, 1], [1.0])
        self.assertEqual(self.json_of("heads", "one.npy")["heads"][0]["max_weight"]["value"], 1.0)

    def test_what_is_refused(self):
        run = self.train()
        self.assert_refused(["heads", "absent"], NOT_FOUND, "absent")
        self.assert_refused(["heads", "absent.npy"], NOT_FOUND, "absent.npy")
        self.assert_refused(["heads", run, "--examples", "1"], USAGE, "--examples", "LAYER.HEAD")
        self.assert_refused(["heads", run, "--examples", "2.0"], BAD_CONFIG, "--examples")
        self.assert_refused(["heads", run, "--sort", "beauty"], USAGE, "--sort", "previous_token")
        self.assert_refused(["heads", run, "--layer", "2"], BAD_CONFIG, "--layer", "0, 1")
        self.assert_refused(["heads", run, "--label", "beauty"], USAGE, "--label", "previous-token")
        self.assert_refused(["heads", run, "--step", "7"], BAD_CONFIG, "--step", "20")
        self.assert_refused(["heads", run, "--tokens", "x"], USAGE, "--tokens")
        npy(self.folder / "bad.npy", [1, 2, 2], [0.9, 0.9, 0.5, 0.5])
        self.assert_refused(["heads", "bad.npy"], BAD_DATA, "bad.npy")
        (self.folder / "cut.json").write_text(json.dumps([[0.5, 0.5]])[:-3])
        self.assert_refused(["heads", "cut.json"], BAD_DATA, "cut.json")


if __name__ == "__main__":
    unittest.main()
