"""The verb scale: what it prints and writes, and what it refuses."""

import csv
import math
import unittest

from program import ProgramTest, strict_json

OCCUPIED, NOT_FOUND, USAGE, BAD_CONFIG = 73, 66, 64, 78
FEW = ["--samples", "50", "--quiet"]
TINY = [*FEW, "--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--batch", "8", "--steps", "4", "--seeds", "2",
        "--rates", "1e-2,1e-4"]


class Scale(ProgramTest):
    def test_numbers_files_and_document(self):
        document = self.json_of("scale", *FEW)
        self.assertEqual(list(document), ["seed", "samples", "softmax", "overflow", "temperature", "grid", "folder", "files"])
        self.assertEqual((document["folder"], document["samples"], document["grid"]), ("runs/scale-001", 50, None))
        self.assertEqual(document["files"], ["scale.png", "scale.svg", "scale.csv", "temperature.csv", "result.json"])
        folder = self.folder / document["folder"]
        self.assertEqual(sorted(document["files"]), sorted(path.name for path in folder.iterdir()))
        kept = strict_json((folder / "result.json").read_text())
        self.assertEqual(kept, {key: value for key, value in document.items() if key not in ("folder", "files")})
        for point in document["softmax"]:
            self.assertLess(abs(point["score_sd"]["mean"] - math.sqrt(point["d"])), 5 * point["score_sd"]["se"])
        self.assertEqual([(point["n"], point["d"]) for point in document["softmax"]],
                         [(n, d) for n in (16, 64) for d in (16, 32, 64, 128, 256, 512)])
        with (folder / "scale.csv").open() as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 24)
        self.assertEqual(float(rows[0]["entropy"]), document["softmax"][0]["unscaled"]["entropy"]["mean"])

    def test_overflow(self):
        limits = {one["format"]: one for one in self.json_of("scale", *FEW, "--format", "json")["overflow"]}
        for name, largest in (("float32", math.log(3.4028235e38)), ("float16", math.log(65520))):
            self.assertAlmostEqual(limits[name]["largest"], largest, delta=0.01)
            self.assertEqual(limits[name]["naive"][0], "nan")
            self.assertAlmostEqual(sum(limits[name]["safe"]), 1.0, delta=0.001)

    def test_for_people(self):
        text = self.succeed("scale", *FEW, "--out", "there", "--format", "csv")
        for part in ("sd of q.k", "A trap: sharper is not yet saturated", "float16", "Linear attention", "Written: there",
                     "Next:"):
            self.assertIn(part, text)
        self.assertTrue(all(len(line) <= 130 for line in text.splitlines()), text)
        self.assertEqual(sorted(path.name for path in (self.folder / "there").iterdir()), ["scale.csv", "temperature.csv"])

    def test_a_seed_gives_one_result(self):
        first, again, other = (self.json_of("scale", *FEW, "--format", "json", "--seed", seed)["softmax"] for seed in "115")
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_grid(self):
        document = self.json_of("scale", "--train", "reverse", *TINY)
        grid = document["grid"]
        self.assertEqual((grid["task"], grid["steps"], grid["n_seeds"], grid["rates"]), ("reverse", 4, 2, [1e-4, 1e-2]))
        self.assertEqual([row["scale"] for row in grid["rows"]], ["none", "sqrt", "learned"])
        for row in grid["rows"]:
            self.assertEqual([cell["rate"] for cell in row["cells"]], grid["rates"])
            for cell in row["cells"]:
                self.assertEqual(len(cell["loss"]["seeds"]), 2)
                self.assertEqual(cell["diverged"], [False, False])
        none, sqrt = grid["rows"][:2]
        # Scores without the factor spread sqrt(d_head) = sqrt(8) times as far.
        self.assertAlmostEqual(none["cells"][0]["score_sd_at_start"][0] / sqrt["cells"][0]["score_sd_at_start"][0],
                               math.sqrt(8), delta=0.1)  # layer 1 reads what layer 0 mixed
        self.assertIn("No verdict", grid["verdict"])  # after four steps
        self.assertLessEqual({"grid.png", "grid.svg", "grid.csv"}, set(document["files"]))
        with (self.folder / document["folder"] / "grid.csv").open() as file:
            self.assertEqual(len(list(csv.DictReader(file))), 12)

    def test_refusals(self):
        self.assert_refused(["scale", "--steps", "4"], USAGE, "--steps", "--train")
        self.assert_refused(["scale", "--rates", "1e-3"], USAGE, "--rates", "--train")
        self.assert_refused(["scale", "--samples", "1"], BAD_CONFIG, "--samples")
        self.assert_refused(["scale", "--samples", "many"], USAGE, "--samples")
        self.assert_refused(["scale", "--format", "gif"], USAGE, "gif", "png")
        self.assert_refused(["scale", "--train", "revers"], USAGE, "reverse")
        self.assert_refused(["scale", "--train", "reverse", "--rates", "0"], BAD_CONFIG, "--rates")
        self.assert_refused(["scale", "--train", "reverse", "--rates", "1e-3,1e-3"], BAD_CONFIG, "rates that rise")
        self.assert_refused(["scale", "--train", "reverse", "--seeds", "0"], BAD_CONFIG, "--seeds")
        self.assert_refused(["scale", "--train", "reverse", "--scale", "1"], USAGE, "--scale")
        self.assert_refused(["scale", "reverse"], USAGE, "reverse")
        self.assert_refused(["scale", "--train", "text", "--file", "absent.txt", *FEW], NOT_FOUND, "absent.txt")
        (self.folder / "full").mkdir()
        (self.folder / "full" / "mine").write_text("kept")
        self.assert_refused(["scale", "--out", "full"], OCCUPIED, "full")


if __name__ == "__main__":
    unittest.main(verbosity=2)
