"""`compare` and `baseline` on rows of a CSV: kernels on features, plain references, sizes."""

import math
import sys
import unittest

from program import ProgramTest, strict_json

BUDGET = ["--steps", "2", "--seeds", "2", "--d-model", "8", "--n-heads", "2", "--d-ff", "8", "--quiet"]


class CompareRows(ProgramTest):
    def setUp(self):
        super().setUp()
        lines = ["a,b,y"]
        for i in range(60):  # y = 3 a - b, exactly
            a, b = math.sin(i), math.cos(2.3 * i)
            lines.append(f"{a:.6f},{b:.6f},{3 * a - b:.6f}")
        (self.folder / "t.csv").write_text("\n".join(lines) + "\n")
        (self.folder / "s.csv").write_text("v\n" + "\n".join(str((t % 4) ** 2) for t in range(80)) + "\n")

    def rows(self, document, kind):
        return {row["name"].split(",")[0]: row for row in document["rows"] if row["kind"] == kind}

    def test_a_table(self):
        document = self.json_of("compare", "table", "--file", "t.csv", "--target", "y", *BUDGET, "--out", "new")
        self.assertIn(document["outcome"], (6, 7, 8))
        self.assertTrue(document["verdict"].startswith("A plain reference is ahead: linear"), document["verdict"])
        self.assertEqual(set(self.rows(document, "generic")), {"uniform", "Gaussian on the features"})
        references = self.rows(document, "reference")
        self.assertLess(references["linear"]["metric"]["mean"], 1e-4)
        self.assertEqual(set(references), {"mean", "linear", "k nearest", "Nadaraya-Watson"})
        gaussian = self.rows(document, "generic")["Gaussian on the features"]
        self.assertEqual(gaussian["score"], "feature-gaussian")
        self.assertGreater(gaussian["bandwidth"], 0)
        for row in document["rows"]:
            self.assertEqual(list(row["metrics"]), ["rmse", "mae", "r2"])
            self.assertLessEqual(row["metrics"]["mae"]["mean"], row["metrics"]["rmse"]["mean"])
            self.assertEqual(row["metric"]["seeds"], row["metrics"]["rmse"]["seeds"])
        self.assertEqual(strict_json((self.folder / "new/result.json").read_text()), document)
        self.assertNotIn("sizes", document)

    def test_sizes(self):
        document = self.json_of("compare", "table", "--file", "t.csv", "--target", "y", "--sizes", "20,12", *BUDGET,
                                "--n-layers", "1", "--out", "new")
        self.assertEqual([point["n"] for point in document["sizes"]], [12, 20, 43])
        self.assertEqual(document["sizes"][-1]["rows"], document["rows"])
        self.assertTrue(document["overtaking"].startswith("Learning "))
        self.assertEqual((self.folder / "new/sizes.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_a_series_by_baseline(self):
        document = self.json_of("baseline", "series", "--file", "s.csv", "--column", "v", "--lags", "5", *BUDGET)
        references = self.rows(document, "reference")
        self.assertEqual(references["last value a season before"]["metric"]["mean"], 0)
        self.assertGreater(references["last value"]["metric"]["mean"], 1)
        self.assertIn("shaped", {row["kind"] for row in document["rows"]})

    def test_refusals(self):
        table = ["compare", "table", "--file", "t.csv", "--target", "y"]
        self.assert_refused([*table, "--sizes", "12,5000", *BUDGET], 78)
        self.assert_refused([*table, "--sizes", "some", *BUDGET], 64)
        self.assert_refused(["compare", "reverse", "--sizes", "50", *BUDGET], 78)
        self.assert_refused(["train", "reverse", "--score", "feature-gaussian", "--steps", "2", "--quiet"], 78)


if __name__ == "__main__":
    unittest.main()
