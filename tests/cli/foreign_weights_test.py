"""`heatmap FILE`: weights that another program wrote, as files and as a page.

Run by ctest with the program as argument.
"""

import array
import json
import struct
import unittest

from program import ProgramTest

USAGE, BAD_DATA, INPUT_MISSING = 64, 65, 66
LOWER = [[1, 0, 0], [0.25, 0.75, 0], [0.2, 0.3, 0.5]]  # case G13


def npy(shape, numbers, descr="<f4", fortran=False):
    """A file as numpy.save writes it."""
    header = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    code = {"2": "e", "4": "f", "8": "d"}[descr[2]]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"{descr[0]}{len(numbers)}{code}", *numbers)


def page_data(path):
    """The JSON block of a page; a `<` in it would end it early."""
    text = path.read_text().split('id="data">')[1].split("</script>")[0]
    return json.loads(text, parse_constant=lambda constant: unittest.TestCase().fail(constant))


class ForeignWeights(ProgramTest):

    def write(self, name, data):
        (self.folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())

    def test_every_order_and_type_gives_the_same_weights(self):
        rows = [weight for row in LOWER for weight in row]
        columns = [LOWER[i][j] for j in range(3) for i in range(3)]
        self.write("t.txt", "A B C\n")
        for descr in ("<f4", ">f4", "<f8", ">f8"):
            for fortran, numbers in ((False, rows), (True, columns)):
                self.write("w.npy", npy((1, 3, 3), numbers, descr, fortran))
                document = self.json_of("heatmap", "w.npy", "--tokens", "t.txt", "--format", "csv", "--out", "x")
                self.assertEqual(document["layers"][0]["heads"][0]["weights"], LOWER)
                self.assertIsNone(document["doubts"])
                csv = (self.folder / "x" / "layer-0-head-0.csv").read_text().splitlines()
                self.assertEqual(csv[0], "query,A,B,C")
                self.assertEqual(csv[3], "C,0.2,0.3,0.5")

    def test_the_page_holds_the_weights_scores_and_kernels(self):
        self.write("w.json", json.dumps({"attention": [LOWER, LOWER], "tokens": ["<s>", "&amp;", "</script>"]}))
        self.succeed("heatmap", "w.json", "--format", "html", "--head", "1", "--color-range", "log")
        data = page_data(self.folder / "w.heatmaps" / "report.html")
        self.assertEqual(data["moments"][0]["tokens"], [["<s>", "&amp;", "</script>"]])
        self.assertEqual(data["start"], {"layer": 0, "head": 1, "sample": 0, "scale": "log"})
        self.assertEqual([row["cells"][0] for row in data["scores"]["rows"]], ["L0H0", "L0H1"])
        self.assertEqual(len(data["sentences"]), 2)
        self.assertEqual(len(data["kernels"]["layers"]), 1)

    def test_G03_weights_after_dropout_are_drawn_with_a_warning(self):
        self.write("w.json", "[[1.25, 0], [0.625, 0]]")
        code, out, err = self.run_program("heatmap", "w.json", "--format", "html,png")
        self.assertEqual(code, 0, err)
        self.assertIn("2 of 2 rows do not sum to 1 (0.625 to 1.25)", err)
        self.assertEqual(err.count("\n"), 1)
        data = page_data(self.folder / "w.heatmaps" / "report.html")
        self.assertIsNone(data["scores"])
        self.assertIn("No scores: ", data["notes"][-1])
        document = self.json_of("heatmap", "w.json", "--format", "csv")
        self.assertIn("do not sum to 1", document["doubts"])

    def test_what_cannot_be_read_is_refused_by_name(self):
        self.write("w.npy", npy((1, 3, 3), [0.0] * 9)[:-1])
        self.write("w.json", "[[1, 0], [1]]")
        self.write("w.safetensors", b"\x08\0\0\0\0\0\0\0{}      x")
        self.write("good.json", "[[1, 0], [0, 1]]")
        self.write("three.txt", "a b c")
        for name in ("w.npy", "w.json", "w.safetensors"):
            self.assert_refused(["heatmap", name], BAD_DATA, name)
        self.assert_refused(["heatmap", "none.npy"], INPUT_MISSING, "none.npy")
        self.assert_refused(["heatmap", "three.txt"], BAD_DATA, "three.txt", "expected .npy, .json or .safetensors")
        self.assert_refused(["heatmap", "good.json", "--tokens", "three.txt"], BAD_DATA, "three.txt", "expected 2")
        self.assert_refused(["heatmap", "good.json", "--tokens", "none.txt"], INPUT_MISSING, "none.txt")
        self.assert_refused(["heatmap", "good.json", "--input", "3"], USAGE, "--input")
        self.assert_refused(["heatmap", "good.json", "--step", "3"], USAGE, "--step")

    def test_the_page_of_a_run_gathers_what_its_folder_holds(self):
        self.succeed("train", "reverse", "--steps", "4", "--heatmap-every", "2", "--d-model", "16", "--n-heads", "2", "--d-ff", "16",
                     "--batch", "8", "--quiet", "--out", "run")
        self.succeed("heatmap", "run", "--format", "html", "--out", "x")
        data = page_data(self.folder / "x" / "report.html")
        self.assertEqual([moment["step"] for moment in data["moments"]][-2:], [2, 4])
        self.assertEqual(data["curves"][0]["name"], "Loss")
        self.assertEqual(len(data["curves"][0]["lines"][0]["points"]), 4)
        self.assertIn(["train.steps", "4"], [row["cells"] for row in data["settings"]["rows"]])
        self.assertIsNone(data["compare"])
        weights = array.array("f", (self.folder / "run/attention/step-00000004/layer-0.npy").read_bytes()[128:])
        layer = data["moments"][-1]["layers"][0]
        self.assertEqual(layer["heads"] * layer["queries"] * layer["keys"] * len(data["moments"][-1]["tokens"]), len(weights))
        (self.folder / "run" / "compare.json").write_text("{")
        code, _, err = self.run_program("heatmap", "run", "--format", "html", "--out", "y")
        self.assertEqual(code, 0, err)
        self.assertIn("compare.json is damaged", err)


if __name__ == "__main__":
    unittest.main()
