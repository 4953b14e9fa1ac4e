"""diagnose --leak (A6): the program as it is finds nothing, one that was built to leak is caught."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
LEAKING = str(pathlib.Path(sys.argv.pop(2)).resolve())
import program  # noqa: E402  (takes its own argument off the command line)

TINY = ["--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--batch", "8", "--steps", "5", "--quiet", "--eval-every", "0"]
MODELS = {
    "causal": ["induction"],
    "window": ["induction", "--window", "4"],
    "rotary": ["induction", "--position", "rope"],
    "linear": ["induction", "--score", "linear", "--position", "sinusoidal"],
    "recomputed": ["induction", "--recompute", "--attention-dropout", "0.1"],
    "decoder": ["dates"],
}


class Leak(program.ProgramTest):
    def checks(self, name, executable):
        honest = program.PROGRAM
        program.PROGRAM = executable
        try:
            return self.run_program("diagnose", name, "--leak", "--json")
        finally:
            program.PROGRAM = honest

    def test_an_honest_build_passes_and_a_leaking_one_is_caught(self):
        for name, task in MODELS.items():
            with self.subTest(name):
                self.succeed("train", *task, *TINY, "--out", name)
                code, out, err = self.checks(name, program.PROGRAM)
                self.assertEqual(code, 0, out + err)
                code, out, err = self.checks(name, LEAKING)
                self.assertEqual(code, 2, out + err)
                report = json.loads(out)
                self.assertTrue(any("weights" in check["place"] and check["largest"] > 0 for check in report["checks"]),
                                report)


if __name__ == "__main__":
    unittest.main()
