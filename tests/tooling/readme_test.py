"""The commands that README.md and pages of docs/ show, in their order, with a few steps of training each.

Run by ctest with the source folder and the built program as arguments.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
PAGES = ("README.md", "README.zh.md", "docs/regress.md", "docs/from_kernels_to_attention.md")
FEW_STEPS = {"train": 20, "compare": 2, "baseline": 2}


def commands(page):
    """The lines of the page's shell blocks that run the program; `test` is what runs this."""
    text = (SOURCE / page).read_text()
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "./headtorch" and words[1:2] != ["test"]:
                yield words[1:]


def shortened(words):
    steps = FEW_STEPS.get(words[0])
    if steps is None or "--help" in words:
        return words
    if "--steps" in words:
        at = words.index("--steps")
        words = words[:at] + words[at + 2:]
    return [*words, "--steps", str(steps)]


class Readme(unittest.TestCase):
    def test_its_commands_run(self):
        self.assertGreaterEqual(len(list(commands("README.md"))), 5)
        for page in PAGES:
            with tempfile.TemporaryDirectory() as folder:
                shutil.copy(SOURCE / "README.md", folder)
                os.symlink(SOURCE / "data", pathlib.Path(folder) / "data")
                for words in map(shortened, commands(page)):
                    with self.subTest(page + ": " + " ".join(words)):
                        done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertNotEqual(done.stdout, "")

    def test_the_files_it_names_are_there(self):
        for page in PAGES:
            text = (SOURCE / page).read_text()
            links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
            missing = [link for link in links if not ((SOURCE / page).parent / link).exists()]
            self.assertEqual(missing, [], page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
