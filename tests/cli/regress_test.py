"""`regress` and `predict`: kernel regression on CSV files, against independent values where ../shared has them."""

import csv
import json
import math
import pathlib
import sys
import unittest

from program import ProgramTest, strict_json

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
SINE = SOURCE / "data" / "noisy_sine.csv"
SHARED = SOURCE.parent / "shared"
KERNEL_VALUES = SHARED / "reference" / "kernel.json"


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def naive(data, x, h):
    """Nadaraya-Watson with a Gaussian kernel, straight from its definition."""
    scores = [-((x - row[0]) / h) ** 2 / 2 for row in data]
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    return sum(w * row[1] for w, row in zip(weights, data)) / sum(weights)


class Regress(ProgramTest):
    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def test_a_regression_is_what_its_definition_says(self):
        data = [(float(row["x"]), float(row["y"])) for row in rows_of(SINE)]
        found = self.json_of("regress", str(SINE), "--x", "x", "--y", "y", "--bandwidth", "0.3")
        self.assertEqual((found["method"], found["kernel"], found["bandwidth"], found["n"]),
                         ("constant", "gaussian", 0.3, 80))
        self.assertEqual(len(found["predictions"]), 80)
        left_out = []
        for i, (row, (x, y)) in enumerate(zip(found["predictions"], data)):
            self.assertEqual((row["x"]["x"], row["y"], row["line"]), (x, y, i + 2))
            self.assertAlmostEqual(row["value"], naive(data, x, 0.3), delta=1e-12)
            left_out.append(naive(data[:i] + data[i + 1:], x, 0.3))
            self.assertAlmostEqual(row["left_out"], left_out[-1], delta=1e-12)
        cv = sum((y - f) ** 2 for (_, y), f in zip(data, left_out)) / 80
        self.assertAlmostEqual(found["cv"], cv, delta=1e-12)
        self.assertAlmostEqual(found["rmse_loo"], math.sqrt(cv), delta=1e-12)
        for point in found["curve"]:
            self.assertAlmostEqual(point["value"], naive(data, point["x"], 0.3), delta=1e-12)
            self.assertLessEqual(point["low"], point["value"])
            self.assertLessEqual(point["value"], point["high"])

    def test_files_and_prediction(self):
        found = self.json_of("regress", str(SINE), "--x", "x", "--y", "y", "--out", "fit", "--format",
                             "png,svg,csv,npy")
        h = found["bandwidth"]
        names = sorted(path.name for path in (self.folder / "fit").iterdir())
        self.assertEqual(names, sorted(["regression.json", "result.json", "rows.csv", "selection.csv", "curve.csv",
                                        "curve.png", "curve.svg", "selection.png", "selection.svg", "weights.png",
                                        "weights.svg", "weights.npy"]))
        strict_json((self.folder / "fit" / "result.json").read_text())
        data = [(float(row["x"]), float(row["y"])) for row in rows_of(SINE)]
        self.write("new.csv", "x\n-100\n2.5\n1e6\n")
        found = self.json_of("predict", "fit", "new.csv")["predictions"]
        for row, x in zip(found, (-100.0, 2.5, 1e6)):
            self.assertAlmostEqual(row["value"], naive(data, x, h), delta=1e-12)
        self.assertEqual(self.succeed("predict", "fit", "new.csv").splitlines()[0], "x,y,low,high")
        self.succeed("predict", "fit", "new.csv", "--out", "p.csv")
        self.assertAlmostEqual(float(rows_of(self.folder / "p.csv")[1]["y"]), naive(data, 2.5, h), delta=1e-12)
        self.assert_refused(("predict", "fit", "new.csv", "--out", "p.csv"), 73, "p.csv", "new file")

    def test_reference_values(self):
        if not KERNEL_VALUES.exists():
            self.skipTest(f"{KERNEL_VALUES} is not here")
        reference = json.loads(KERNEL_VALUES.read_text())
        tolerance = reference["tolerance"]
        for case in ("faithful", "mcycle", "cps71", "noisy_sine", "cars"):
            values = reference["cases"][case]
            for key, flags in (("lc_cv_ls", ()), ("lc_aicc", ("--bandwidth", "aicc")),
                               ("ll_cv_ls", ("--method", "linear")),
                               ("ll_aicc", ("--method", "linear", "--bandwidth", "aicc"))):
                right = values[key]
                with self.subTest(case=case, key=key):
                    found = self.json_of("regress", str(SHARED / "data" / values["file"]), "--x", values["x"][0],
                                         "--y", values["y"], "--format", "csv", *flags)
                    h = right["h"][0]
                    self.assertAlmostEqual(found["bandwidth"], h, delta=tolerance["h_rel"] * h)
                    # Where AICc was minimised CV is no minimum, so that an error of 1e-6 in h shows in it.
                    self.assertAlmostEqual(found["cv"], right["cv"],
                                           delta=(1e-9 if "cv" in key else 1e-7) * right["cv"])
                    for ours, theirs in (("effective_df", "tr_S"), ("r2", "r2_sse"), ("r2_corr", "r2_corr"),
                                         ("aicc", "aicc"), ("loo_r2", "loo_r2")):
                        self.assertAlmostEqual(found[ours], right[theirs], delta=1e-5 * abs(right[theirs]), msg=ours)

    def test_the_global_minimum_where_peers_stop_at_a_local_one(self):
        if not KERNEL_VALUES.exists():
            self.skipTest(f"{KERNEL_VALUES} is not here")
        found = self.json_of("regress", str(SHARED / "data" / "faithful.csv"), "--x", "eruptions_min", "--y",
                             "waiting_min", "--format", "csv")
        self.assertAlmostEqual(found["bandwidth"], 0.26140699, delta=1e-6)
        self.assertAlmostEqual(found["minima"][1]["bandwidth"], 0.58429478, delta=1e-5)

    def test_g23_far_from_the_data(self):
        self.write("three.csv", "x,y\n0,1\n1,3\n2,5\n")
        for h, places, right in (("0.01", "0 10 1.5 -5", (1, 5, 4, 1)),
                                 ("1", "0 .5 10", (2.0071972, 2.4660872, 4.9995931))):
            self.succeed("regress", "three.csv", "--x", "x", "--y", "y", "--bandwidth", h, "--out", f"h{h}", "--format",
                         "csv")
            self.write("places.csv", "x\n" + "\n".join(places.split()) + "\n")
            found = [row["value"] for row in self.json_of("predict", f"h{h}", "places.csv")["predictions"]]
            for got, want in zip(found, right):
                self.assertAlmostEqual(got, want, delta=5e-8)

    def test_g35_missing_is_never_zero(self):
        for name, text in (("bom.csv", '\ufeff"t","y"\r\n0,1\r\n1,\r\n2,3'), ("na.csv", "t,y\n0,1\n1,NA\n2,3\n")):
            (self.folder / name).write_bytes(text.encode())
            self.assert_refused(("regress", name, "--x", "t", "--y", "y"), 65, name, "line 3", "y")
            found = self.json_of("regress", name, "--x", "t", "--y", "y", "--missing", "drop", "--bandwidth", "1000")
            self.assertEqual((found["n"], found["dropped"]), (2, 1))
            self.assertAlmostEqual(found["predictions"][0]["value"], 2.0, delta=1e-3)

    def test_g36_numbers_in_every_locale(self):
        self.write("odd.csv", "x,y\n3.14,1\n1e-3,2\n+2,3\n 4 ,4\n.5,5\n")
        found = self.json_of("regress", "odd.csv", "--x", "x", "--y", "y", "--bandwidth", "1",
                             environment={"LC_ALL": "de_DE.UTF-8"})
        self.assertEqual([row["x"]["x"] for row in found["predictions"]], [3.14, 0.001, 2, 4, 0.5])
        for cell in ("1.5abc", "0x10", "1_000", '"1,234.5"', "1e400"):
            self.write("bad.csv", f"x,y\n1,1\n{cell},2\n3,3\n")
            self.assert_refused(("regress", "bad.csv", "--x", "x", "--y", "y"), 65, "bad.csv", "line 3", "x")
        self.write("semicolon.csv", "x;y\n1,5;2\n2,5;3\n")
        self.assert_refused(("regress", "semicolon.csv", "--x", "x", "--y", "y"), 65, "semicolon.csv")

    def test_bandwidths_that_are_none(self):
        for h, code in (("0", 78), ("-1", 78), ("nan", 78), ("inf", 78), ("1e400", 78), ("1,2", 78), ("cvv", 64),
                        ("", 64)):
            self.assert_refused(("regress", str(SINE), "--x", "x", "--y", "y", "--bandwidth", h), code, "[")

    def test_bad_flags(self):
        sine = str(SINE)
        self.assert_refused(("regress", sine, "--x", "x"), 64, "--y")
        self.assert_refused(("regress", sine, "--x", "z", "--y", "y"), 78, "z", "x, y")
        self.assert_refused(("regress", sine, "--x", "x,x", "--y", "y"), 78, "twice")
        self.assert_refused(("regress", sine, "--x", "y", "--y", "y"), 78, "--y")
        self.assert_refused(("regress", sine, "--x", "x", "--y", "y", "--kernel", "boxx"), 64, "boxx", "epanechnikov")
        self.assert_refused(("regress", sine, "--x", "x", "--y", "y", "--format", "gif"), 64, "gif")
        self.assert_refused(("regress", "nothing.csv", "--x", "x", "--y", "y"), 66, "nothing.csv")
        self.assert_refused(("regress", sine, "--x", "x", "--y", "y", "--bandwidth", "sweep", "2:1:5"), 78, "2:1:5")
        (self.folder / "full").mkdir()
        (self.folder / "full" / "keep").write_text("mine")
        self.assert_refused(("regress", sine, "--x", "x", "--y", "y", "--out", "full"), 73, "full")

    def test_sweep(self):
        for sweep in (("sweep", "0.1:10:5"), ("sweep 0.1:10:5",)):
            found = self.json_of("regress", str(SINE), "--x", "x", "--y", "y", "--bandwidth", *sweep)
            curve = found["cv_curve"]
            self.assertEqual(len(curve), 5)
            for (h, _), want in zip(curve, (0.1, 10 ** -0.5, 1, 10 ** 0.5, 10)):
                self.assertAlmostEqual(h, want, delta=1e-12)
            self.assertEqual(found["bandwidth"], min(curve, key=lambda point: point[1])[0])

    def test_every_way_to_choose(self):
        for way in ("cv", "aicc", "rot", "plug-in"):
            for kernel in ("gaussian", "exponential", "epanechnikov", "box"):
                for method in ("constant", "linear"):
                    found = self.json_of("regress", str(SINE), "--x", "x", "--y", "y", "--bandwidth", way, "--kernel",
                                         kernel, "--method", method, "--format", "csv")
                    with self.subTest(way=way, kernel=kernel, method=method):
                        self.assertGreater(found["bandwidth"], 0)
                        self.assertGreater(found["loo_r2"], 0.5)

    def test_several_columns_and_categories(self):
        weather = str(SOURCE / "data" / "seattle_weather.csv")
        lines = pathlib.Path(weather).read_text().splitlines()[:200]
        self.write("weather.csv", "\n".join(lines) + "\n")
        found = self.json_of("regress", "weather.csv", "--x", "date,temp_min_c,weather", "--y", "temp_max_c", "--format",
                             "png,csv")
        self.assertEqual(len(found["bandwidth"]), 3)
        self.assertGreater(found["loo_r2"], 0.5)
        self.assertEqual(found["predictions"][0]["x"]["date"], "2012-01-01")
        self.assertIn(found["predictions"][0]["x"]["weather"], ("drizzle", "rain", "sun", "snow", "fog"))
        self.write("new.csv", "date,temp_min_c,weather\n2012-03-01,2,hail\n")
        self.assert_refused(("predict", "regress-001", "new.csv"), 65, "line 2", "weather", "hail")

    def test_classes(self):
        wine = str(SOURCE / "data" / "wine.csv")
        found = self.json_of("regress", wine, "--x", "flavanoids,proline,color_intensity", "--y", "class", "--category",
                             "class")
        self.assertGreater(found["accuracy"], 0.9)
        self.assertLess(found["log_loss"], 0.3)
        self.assertGreater(found["log_loss_of_shares"], 1.0)
        for row in found["predictions"]:
            self.assertAlmostEqual(sum(row["left_out"].values()), 1.0, delta=1e-9)
        self.write("new.csv", "flavanoids,proline,color_intensity\n3,1100,5.5\n")
        self.assertEqual(self.json_of("predict", "regress-001", "new.csv")["predictions"][0]["value"], "0")

    def test_damaged_models_are_refused(self):
        self.succeed("regress", str(SINE), "--x", "x", "--y", "y", "--out", "fit", "--format", "csv")
        text = (self.folder / "fit" / "regression.json").read_text()
        self.write("new.csv", "x\n1\n")
        for damaged in (text[:100], text.replace("headtorch-regression-1", "other"), text.replace('"x"', '"z"'), "{}", ""):
            (self.folder / "fit" / "regression.json").write_text(damaged)
            self.assert_refused(("predict", "fit", "new.csv"), 65, "regression.json")


if __name__ == "__main__":
    unittest.main(verbosity=2)
