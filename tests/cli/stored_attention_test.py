"""`heatmap RUN` on folders that hold stored weights alone: old ones, encoder-decoders, images, damage."""

import json
import struct
import unittest

from program import ProgramTest

BAD_DATA, USAGE, BAD_CONFIG = 65, 64, 78
# As `train` wrote it before stacks, sources, windows and images were known.
OLD_TOKENS = '{"task":"reverse","step":4,"causal":false,"tokens":[["a","b","a"],["b","b","a"]]}\n'


def npy(shape, values):
    """A float32 array as `train` writes it: NumPy's format 1.0, header padded to 64 bytes."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (64 - (10 + len(header) + 1) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{len(values)}f", *values))


class StoredAttention(ProgramTest):

    def write_run(self, tokens, layers):
        folder = self.folder / "run" / "attention" / "step-00000004"
        folder.mkdir(parents=True)
        (self.folder / "run" / "config.toml").write_text('[task]\nname = "reverse"\n')
        (folder / "tokens.json").write_text(tokens if isinstance(tokens, str) else json.dumps(tokens))
        for name, shape, values in layers:
            (folder / f"{name}.npy").write_bytes(npy(shape, values))
        return folder

    def names(self, document):
        return sorted(path.rsplit("/", 1)[1] for path in document["files"])

    def test_an_old_folder_still_opens(self):
        self.write_run(OLD_TOKENS, [("layer-0", [2, 1, 3, 3], [1 / 3] * 18), ("layer-1", [2, 1, 3, 3], [1 / 3] * 18)])
        document = self.json_of("heatmap", "run", "--format", "csv,html", "--sample", "1")
        self.assertEqual(self.names(document), ["layer-0-head-0.csv", "layer-1-head-0.csv", "report.html"])
        self.assertEqual([layer["layer"] for layer in document["layers"]], [0, 1])
        self.assertEqual(document["layers"][1]["key_tokens"], ["b", "b", "a"])
        self.assertNotIn("stack", document["layers"][0])

    def write_translated(self, **more):
        tokens = {"task": "dates", "step": 4, "causal": False, "tokens": [["2", "6"]], "ids": [[2, 6]],
                  "source": {"tokens": [["x", "y", "z"]], "ids": [[7, 8, 9]], "lengths": [3]}, **more}
        return self.write_run(tokens, [("encoder-layer-0", [1, 2, 3, 3], [1 / 3] * 18),
                                       ("decoder-layer-0", [1, 2, 2, 2], [1, 0, 0.5, 0.5] * 2),
                                       ("cross-layer-0", [1, 2, 2, 3], [0.5, 0.25, 0.25, 0, 0, 1] * 2)])

    def test_stacks_in_files_and_documents(self):
        self.write_translated()
        document = self.json_of("heatmap", "run", "--format", "png")
        self.assertEqual(self.names(document), sorted(
            f"{stack}-layer-0{head}.png" for stack in ("encoder", "decoder", "cross")
            for head in ("", "-head-0", "-head-1")))
        self.assertEqual([layer["stack"] for layer in document["layers"]], ["encoder", "decoder", "cross"])
        cross = document["layers"][2]
        self.assertEqual((cross["query_tokens"], cross["key_tokens"]), (["2", "6"], ["x", "y", "z"]))

    def test_choosing_a_layer_of_one_stack(self):
        self.write_translated()
        document = self.json_of("heatmap", "run", "--format", "csv", "--layer", "C0", "--head", "1")
        self.assertEqual(self.names(document), ["cross-layer-0-head-1.csv"])
        text = (self.folder / document["files"][0]).read_text()
        self.assertEqual(text, "query,x,y,z\n2,0.5,0.25,0.25\n6,0,0,1\n")
        self.assertEqual(len(self.json_of("heatmap", "run", "--format", "csv", "--layer", "0")["layers"]), 3)
        self.assert_refused(["heatmap", "run", "--layer", "C1"], BAD_CONFIG, "--layer", "E0, D0, C0")
        self.assert_refused(["heatmap", "run", "--layer", "Q0"], USAGE, "Q0")

    def test_an_image_is_drawn_under_the_weights(self):
        image = {"rows": 1, "columns": 2, "patch": 2, "first": 1, "pixels": [[0, 0.5, 1, 0, 0, 0.5, 1, 0]]}
        self.write_translated(image=image)
        document = self.json_of("heatmap", "run", "--format", "png,html", "--layer", "C0")
        self.assertIn("cross-layer-0-image.png", self.names(document))
        self.assertEqual(document["layers"][0]["key_tokens"], ["x", "r0c0", "r0c1"])

    def test_damaged_tokens_are_refused_by_name(self):
        whole = {"rows": 1, "columns": 2, "patch": 2, "first": 1, "pixels": [[0] * 8]}
        folder = self.write_translated()
        tokens = json.loads((folder / "tokens.json").read_text())
        for change in ({"ids": [[1]]}, {"lengths": [5]}, {"source": {"tokens": []}, "ids": []},
                       {"source": {"tokens": [["x", "y", "z"]], "lengths": [4]}}, {"hidden": "x"},
                       {"image": {**whole, "pixels": []}}, {"image": {**whole, "patch": 1 << 40}},
                       {"image": {**whole, "first": 2}}):
            with self.subTest(change):
                (folder / "tokens.json").write_text(json.dumps({**tokens, **change}))
                self.assert_refused(["heatmap", "run"], BAD_DATA, "step-00000004")

    def test_a_damaged_document_beside_the_run_leaves_its_section_out(self):
        self.write_translated()
        for name in ("heads.json", "diagnosis.json", "metrics.jsonl", "result.json"):
            (self.folder / "run" / name).write_text("{\n")
        code, _, err = self.run_program("heatmap", "run", "--format", "html")
        self.assertEqual(code, 0, err)
        page = (self.folder / "run" / "heatmaps" / "report.html").read_text()
        for name in ("heads.json", "diagnosis.json", "metrics.jsonl", "result.json"):
            self.assertIn(name, err)
            self.assertIn(f"{name} is damaged", page)


if __name__ == "__main__":
    unittest.main()
