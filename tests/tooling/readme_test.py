"""The commands that README.md shows, in their order, with a few steps of training each.

Run by ctest with the source folder and the built program as arguments.
"""

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
FEW_STEPS = {"train": 20, "compare": 2, "baseline": 2}


def commands():
    """The lines of README's shell blocks that run the program; `test` is what runs this."""
    text = (SOURCE / "README.md").read_text()
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
        listed = list(commands())
        self.assertGreaterEqual(len(listed), 5)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(SOURCE / "README.md", folder)
            for words in map(shortened, listed):
                with self.subTest(" ".join(words)):
                    done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotEqual(done.stdout, "")

    def test_the_files_it_names_are_there(self):
        text = (SOURCE / "README.md").read_text()
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        self.assertNotEqual(links, [])
        self.assertEqual([link for link in links if not (SOURCE / link).exists()], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
