"""The front-door script in a small stand-in tree, with stand-ins for pip, apt-get and dpkg on PATH.

Run by ctest with the source folder as argument. Each case gets a fresh tree, in a folder with a space in its name; the
"program" that is built there is a shell script, so that no compiler and no network take part.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()

PROJECT = """cmake_minimum_required(VERSION 3.22)
project(stand_in LANGUAGES NONE)
include(cmake/LibTorchSearch.cmake)
headtorch_find_libtorch(root version)
if(NOT root)
  message(FATAL_ERROR "no LibTorch")
endif()
add_custom_command(OUTPUT headtorch DEPENDS "${CMAKE_SOURCE_DIR}/src/program.sh"
                   COMMAND ${CMAKE_COMMAND} -E copy "${CMAKE_SOURCE_DIR}/src/program.sh" headtorch)
add_custom_target(program ALL DEPENDS headtorch)
"""

PROGRAM = """#!/bin/sh
echo "program VERSION in $PWD: $*"
"""

# Makes what LibTorchSearch.cmake looks for, after as long as STUB_PIP_SECONDS says; counts its calls.
PIP = r"""#!/bin/bash
echo "$*" >>"$STUB_LOG/python"
case "$*" in
  -m\ pip*)
    [[ ! -e $STUB_LOG/offline ]] || { echo "ERROR: no network" ; exit 1; }
    while [[ $1 != --target ]]; do shift; done
    mkdir -p "$2/torch/lib"
    touch "$2/torch/lib/libtorch_cpu.so"
    sleep "$(cat "$STUB_LOG/pip-seconds" 2>/dev/null || echo 0)"
    include=$2/torch/include/torch
    mkdir -p "$include/headeronly" "$include/csrc/api/include/torch"
    touch "$include/csrc/api/include/torch/torch.h"
    printf '#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 11\n#define TORCH_VERSION_PATCH 0\n' \
      >"$include/headeronly/version.h" ;;
  *find_spec*) exit 1 ;;
esac
"""

DPKG_QUERY = r"""#!/bin/sh
[ -e "$STUB_LOG/missing" ] || echo "install ok installed"
"""

COUNTED = r"""#!/bin/sh
echo "$*" >>"$STUB_LOG/{name}"
{action}
"""


class FrontDoor(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headtorch door "))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.tree = self.folder / "tree"
        for part in ("src", "models", "train", "cmake", "third_party/probe"):
            (self.tree / part).mkdir(parents=True)
        shutil.copy(SOURCE / "headtorch", self.tree)
        shutil.copytree(SOURCE / "third_party/setup", self.tree / "third_party/setup")
        shutil.copy(SOURCE / "cmake/LibTorchSearch.cmake", self.tree / "cmake")
        (self.tree / "CMakeLists.txt").write_text(PROJECT)
        (self.tree / "third_party/probe/CMakeLists.txt").write_text('message(FATAL_ERROR "not here")\n')
        self.write_program("one")
        self.log = self.folder / "log"
        self.log.mkdir()
        self.stubs = self.folder / "stubs"
        self.stubs.mkdir()
        self.stub("python3", PIP)
        self.stub("dpkg-query", DPKG_QUERY)
        self.stub("apt-get", COUNTED.format(name="apt-get", action="exit 1"))
        self.stub("sudo", COUNTED.format(name="sudo", action="exit 1"))
        self.stub("nvidia-smi", "#!/bin/sh\nexit 9\n")
        for tool in ("cmake", "ninja"):
            self.stub(tool, COUNTED.format(name=tool, action=f'exec {shutil.which(tool)} "$@"'))

    def stub(self, name, text):
        path = self.stubs / name
        path.write_text(text)
        path.chmod(0o755)

    def write_program(self, version):
        path = self.tree / "src/program.sh"
        path.write_text(PROGRAM.replace("VERSION", version))
        path.chmod(0o755)

    def start(self, *arguments, door=None, **options):
        environment = {k: v for k, v in os.environ.items() if k not in ("Torch_DIR", "CMAKE_PREFIX_PATH")}
        environment |= {"PATH": f"{self.stubs}:{os.environ['PATH']}", "STUB_LOG": str(self.log)}
        return subprocess.Popen([door or self.tree / "headtorch", *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=environment, cwd=self.folder,
                                start_new_session=True, **options)

    def run_door(self, *arguments, **options):
        process = self.start(*arguments, **options)
        process.out, process.err = process.communicate(timeout=300)
        return process

    def calls(self, name):
        path = self.log / name
        return path.read_text().splitlines() if path.exists() else []

    def pip_calls(self):
        return [line for line in self.calls("python") if line.startswith("-m pip")]

    def wait_for_pip(self):
        deadline = time.monotonic() + 120
        while not self.pip_calls() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)

    def test_cold_start_leaves_standard_output_to_the_program(self):
        link = self.folder / "a link"
        link.symlink_to(self.tree / "headtorch")
        cold = self.run_door("train", "two words", "--json", door=link)
        self.assertEqual(cold.returncode, 0, cold.err)
        self.assertEqual(cold.out, f"program one in {self.folder}: train two words --json\n")
        self.assertIn("[setup]", cold.err)
        self.assertEqual(len(self.pip_calls()), 1)
        self.assertIn("torch==2.11.0", self.pip_calls()[0])
        self.assertIn("--no-deps", self.pip_calls()[0])

    def test_second_start_runs_neither_cmake_nor_ninja_nor_pip_nor_apt(self):
        self.assertEqual(self.run_door().returncode, 0)
        before = {name: self.calls(name) for name in ("cmake", "ninja", "python", "apt-get")}
        began = time.monotonic()
        second = self.run_door("x")
        seconds = time.monotonic() - began
        self.assertEqual((second.returncode, second.out, second.err), (0, f"program one in {self.folder}: x\n", ""))
        self.assertEqual(before, {name: self.calls(name) for name in before})
        print(f"second start: {seconds:.3f} s (aim: under 0.3 s)")

    def test_a_changed_source_is_built_again(self):
        self.assertEqual(self.run_door().returncode, 0)
        time.sleep(0.05)
        self.write_program("two")
        again = self.run_door()
        self.assertEqual((again.returncode, again.out), (0, f"program two in {self.folder}: \n"), again.err)
        self.assertEqual(len(self.pip_calls()), 1)

    def test_a_moved_tree_is_configured_again(self):
        self.assertEqual(self.run_door().returncode, 0)
        self.tree = self.tree.rename(self.folder / "moved")
        moved = self.run_door()
        self.assertEqual((moved.returncode, moved.out), (0, f"program one in {self.folder}: \n"), moved.err)

    def test_a_lost_libtorch_is_fetched_again(self):
        self.assertEqual(self.run_door().returncode, 0)
        shutil.rmtree(self.tree / "third_party/libtorch")
        self.assertEqual(self.run_door().returncode, 0)
        self.assertEqual(len(self.pip_calls()), 2)

    def test_an_nvidia_gpu_asks_for_the_full_download(self):
        self.stub("nvidia-smi", "#!/bin/sh\necho 'GPU 0: stand-in'\n")
        self.assertEqual(self.run_door().returncode, 0)
        self.assertNotIn("--no-deps", self.pip_calls()[0])

    def test_interrupted_half_way_the_next_run_completes(self):
        for kill_signal in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(kill_signal):
                (self.log / "python").unlink(missing_ok=True)
                (self.log / "pip-seconds").write_text("100")
                half = self.start()
                self.wait_for_pip()
                os.killpg(half.pid, kill_signal)
                _, err = half.communicate(timeout=60)
                self.assertNotEqual(half.returncode, 0)
                if kill_signal == signal.SIGINT:
                    self.assertEqual(half.returncode, 130, err)
                self.assertFalse((self.tree / "third_party/libtorch").exists())
        (self.log / "pip-seconds").write_text("0")
        whole = self.run_door()
        self.assertEqual((whole.returncode, whole.out), (0, f"program one in {self.folder}: \n"), whole.err)
        self.assertEqual([path.name for path in (self.tree / "third_party").glob(".*")], [])

    def test_two_at_once_download_once(self):
        (self.log / "pip-seconds").write_text("1")
        both = [self.start("a"), self.start("b")]
        out = [process.communicate(timeout=300) for process in both]
        self.assertEqual([process.returncode for process in both], [0, 0], out)
        self.assertEqual(len(self.pip_calls()), 1)

    def test_works_without_network_once_installed(self):
        self.assertEqual(self.run_door().returncode, 0)
        (self.log / "offline").touch()
        shutil.rmtree(self.tree / "build")
        again = self.run_door()
        self.assertEqual(again.returncode, 0, again.err)
        self.assertEqual(self.calls("apt-get"), [])

    def assert_refused(self, process, *expected):
        self.assertEqual(process.returncode, 69, process.err)
        self.assertEqual(process.out, "")
        last = process.err.splitlines()[-1]
        self.assertTrue(last.startswith("[setup] "), process.err)
        for text in ("expected", *expected):
            self.assertIn(text, last)

    def test_without_network_it_says_so(self):
        (self.log / "offline").touch()
        self.assert_refused(self.run_door(), "network", "libtorch.log")

    def test_a_full_disk_is_refused_before_the_download(self):
        self.stub("df", "#!/bin/sh\nprintf 'head\\nfs 1 1 1024 1%% /\\n'\n")
        self.assert_refused(self.run_door(), "1 MB", "3500 MB")
        self.assertEqual(self.pip_calls(), [])

    def test_without_root_it_prints_the_one_command(self):
        (self.log / "missing").touch()
        options = {}
        if os.geteuid() == 0:
            options = {"user": 65534, "group": 65534, "extra_groups": []}
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, 65534, 65534)
        self.assert_refused(self.run_door(**options), "sudo sh -c 'apt-get update && apt-get install", "ninja-build")
        self.assertEqual(self.calls("apt-get"), [])

    def test_a_failing_build_is_shown_and_refused(self):
        (self.tree / "src/program.sh").unlink()
        self.assert_refused(self.run_door(), "build.log")

    def test_help_of_test_needs_no_set_up(self):
        shown = self.run_door("test", "--help")
        self.assertEqual(shown.returncode, 0)
        self.assertIn("Usage: ./headtorch test", shown.out)
        self.assertFalse((self.tree / "build").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
