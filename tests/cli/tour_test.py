"""The verb tour: its steps, their pictures and both languages."""

import unittest

from program import ProgramTest

BAD_CONFIG, USAGE, OCCUPIED = 78, 64, 73


class Tour(ProgramTest):
    def test_first_steps_in_both_languages(self):
        for number, name in [(1, "bandwidths"), (2, "dot_product"), (3, "projections")]:
            english = self.json_of("tour", "--step", str(number), "--out", f"en-{number}")
            chinese = self.json_of("tour", "--step", str(number), "--lang", "zh", "--out", f"zh-{number}")
            for document in (english, chinese):
                (step,) = document["steps"]
                self.assertEqual((step["step"], step["picture"]), (number, f"{number}-{name}.png"))
                picture = self.folder / document["out"] / step["picture"]
                self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))
                self.assertNotIn("{", step["sentence"])
            self.assertTrue(english["steps"][0]["sentence"].isascii())
            self.assertRegex(chinese["steps"][0]["sentence"], "[\u4e00-\u9fff]{4}")

    def test_a_head_learns_to_reverse(self):
        out = self.succeed("tour", "--step", "4", "--out", "tour")
        self.assertIn("4/7 A head", out)
        self.assertIn("Written: tour", out)
        self.assertTrue((self.folder / "tour" / "4-head.png").is_file())

    def test_what_is_refused(self):
        self.assert_refused(["tour", "--step", "8"], BAD_CONFIG, "--step", "7")
        self.assert_refused(["tour", "--step", "two"], USAGE, "--step")
        self.assert_refused(["tour", "--lang", "fr"], USAGE, "--lang", "zh")
        (self.folder / "full").mkdir()
        (self.folder / "full" / "file").write_text("")
        self.assert_refused(["tour", "--out", "full"], OCCUPIED, "full")


if __name__ == "__main__":
    unittest.main(verbosity=2)
