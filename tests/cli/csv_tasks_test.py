"""Tasks `table` and `series` from the command line: trained on CSV files, tested in original units, applied to new rows."""

import csv
import io
import pathlib
import statistics
import sys
import unittest

from program import ProgramTest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
NILE = SOURCE / "data" / "nile.csv"
BAD_DATA, BAD_CONFIG = 65, 78
TINY = ["--steps", "3", "--d-model", "16", "--n-heads", "2", "--n-layers", "1", "--d-ff", "0", "--batch", "4", "--threads", "1", "--quiet"]


class CsvTasks(ProgramTest):
    def setUp(self):
        super().setUp()
        lines = [f"{a},{'fog' if a % 3 else 'rain'},{50 + 2 * a}" for a in range(60)]
        self.table = "a,w,y\n" + "\n".join(lines) + "\n"
        (self.folder / "t.csv").write_text(self.table)

    def result(self, *arguments, out="run"):
        return self.json_of("train", *arguments, *TINY, "--out", out)["test"]

    def predictions(self, run, file):
        rows = list(csv.reader(io.StringIO(self.succeed("predict", run, file))))
        return rows[0], [[float(cell) for cell in row] for row in rows[1:]]

    def test_a_table_is_tested_in_its_own_units(self):
        test = self.result("table", "--file", "t.csv", "--target", "y")
        spread = statistics.pstdev(50 + 2 * a for a in range(60))
        self.assertLess(0.1 * spread, test["rmse"])
        self.assertLess(test["rmse"], 3 * spread)
        self.assertLessEqual(test["mae"], test["rmse"])
        self.assertTrue(test["rmse_low"] < test["rmse"] < test["rmse_high"])
        self.assertTrue(test["mae_low"] < test["mae"] < test["mae_high"])

    def test_predict_gives_a_table_what_its_test_was_measured_on(self):
        for family, arguments in (("table", ["--file", "t.csv", "--target", "y"]),
                                  ("rows", ["--preset", "series-rows", "--file", "t.csv", "--column", "y", "--lags", "3"])):
            with self.subTest(family):
                test = self.result("table" if family == "table" else "series", *arguments, out=family)
                header, rows = self.predictions(family, "t.csv")
                self.assertEqual(header, ["line", "y"])
                self.assertEqual(len(rows), 60 if family == "table" else 58)
                self.assertGreater(test["rmse"], 0)

    def test_a_series_of_lags_predicts_its_test_rows_as_measured(self):
        test = self.result("series", "--file", str(NILE), "--column", "volume_1e8_m3", "--lags", "4")
        with open(NILE, newline="") as file:
            values = [float(row["volume_1e8_m3"]) for row in csv.DictReader(file)]
        _, rows = self.predictions("run", str(NILE))
        self.assertEqual(len(rows), 97)  # the last one is of the year after
        errors = [value - values[int(line) - 1] for line, value in rows[:-1]][-20:]  # line 2 holds values[0]
        self.assertAlmostEqual((sum(e * e for e in errors) / 20)**0.5, test["rmse"], delta=1e-3)
        self.assertAlmostEqual(sum(map(abs, errors)) / 20, test["mae"], delta=1e-3)
        self.assertAlmostEqual(1 - statistics.fmean(e * e for e in errors) / statistics.pvariance(values[-20:]), test["r2"], delta=1e-4)

    def test_asked_values_and_asked_rows_change_nothing(self):
        self.result("table", "--file", "t.csv", "--target", "y")
        _, rows = self.predictions("run", "t.csv")
        (self.folder / "new.csv").write_text("w,a\nrain,3\nfog,7\n")
        header, new = self.predictions("run", "new.csv")
        self.assertEqual([line for line, _ in new], [2, 3])
        self.assertAlmostEqual(new[0][1], rows[3][1], delta=1e-3)
        self.assertAlmostEqual(new[1][1], rows[7][1], delta=1e-3)

    def test_a_heatmap_names_the_lines(self):
        self.result("table", "--file", "t.csv", "--target", "y")
        maps = "".join(path.read_text() for path in (self.folder / "run" / "attention").rglob("*.json"))
        self.assertIn("line ", maps)
        self.assertIn("(?)", maps)

    def test_examples(self):
        text = self.succeed("tasks", "table", "--file", "t.csv", "--target", "y", "--sample", "1")
        self.assertRegex(text, r"line \d+ \(\?\)")
        self.assertRegex(text, r"line \d+ \(\d+\)")

    def test_G12_a_window_longer_than_the_model_reads(self):
        self.assert_refused(["train", "series", "--file", str(NILE), "--column", "volume_1e8_m3", "--lags", "20",
                             "--seq-len", "16", "--out", "run"], BAD_CONFIG, "20", "16")
        self.assertFalse((self.folder / "run").exists())

    def test_refusals(self):
        table = ["train", "table", "--file", "t.csv", "--out", "run"]
        self.assert_refused(table, BAD_CONFIG, "--target")
        self.assert_refused(table + ["--target", "z"], BAD_CONFIG, "a, w, y")
        self.assert_refused(table + ["--target", "w"], BAD_DATA, "column w")
        self.assert_refused(table + ["--target", "y", "--position", "learned"], BAD_CONFIG, "rows")
        self.assert_refused(["train", "series", "--file", "t.csv", "--column", "y", "--attend", "rows"], BAD_CONFIG, "series-rows")
        self.assert_refused(["train", "copy", "--target", "y"], BAD_CONFIG, "only table")
        (self.folder / "hole.csv").write_text(self.table.replace("5,fog,60", "5,fog,"))
        hole = ["table", "--file", "hole.csv", "--target", "y"]
        self.assert_refused(["train", *hole], BAD_DATA, "line 7", "column y")
        self.assertGreater(self.result(*hole, "--missing", "drop")["rmse"], 0)


if __name__ == "__main__":
    unittest.main()
