"""Includes follow the layers' arrow, which CMakeLists.txt declares; third-party libraries stay in their layers.

Run by ctest with the source folder as argument.
"""

import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
FOLDERS = ("src", "models", "train", "tests", "bench")
GENERATED = {"headtorch_version.hpp"}
TORCH = re.compile(r"(torch|ATen|c10|caffe2)/")
PICTURES = re.compile(r"(pango|cairo)")
FORMATTING = re.compile(r"(fmt|spdlog)/")
MOST_TORCH_FILES = 116
# Beyond the arrow, for headers that are plain structs (free of torch): report shows what train found, and the settings
# hold what models are made from.
PLAIN_HEADERS = {"report": {"train", "settings"}, "settings": {"models", "nn"}, "engine": {"models", "nn"}}


def read_layers():
    """{layer: (folder, uses torch, layers it may include)} from the headtorch_layer lines."""
    layers = {}
    for name, folder, rest in re.findall(r"^headtorch_layer\((\w+) (\S+)(.*)\)$", (SOURCE / "CMakeLists.txt").read_text(),
                                         re.MULTILINE):
        words = rest.split()
        uses = words[words.index("USES") + 1:] if "USES" in words else []
        uses = uses[:uses.index("LINK")] if "LINK" in uses else uses
        reach = {name}.union(*(layers[lower][2] for lower in uses))
        layers[name] = (folder, "TORCH" in words, reach)
    return layers


LAYERS = read_layers()
FILES = sorted(path.relative_to(SOURCE).as_posix() for folder in FOLDERS for path in (SOURCE / folder).rglob("*")
               if path.suffix in (".hpp", ".cpp"))
INCLUDES = {name: re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', (SOURCE / name).read_text(), re.MULTILINE)
            for name in FILES}


def layer_of(name):
    """The layer that a file belongs to; a test belongs to the layer that it tests; None for support and tooling."""
    if name.startswith("tests/"):
        layer = name.split("/")[1]
        return layer if layer in LAYERS else None
    fitting = [layer for layer, (folder, _, _) in LAYERS.items() if name.startswith(folder + "/")]
    return max(fitting, key=lambda layer: len(LAYERS[layer][0]), default=None)


def reached(name, seen=None):
    """Everything that a file includes, also through the project's own headers."""
    seen = set() if seen is None else seen
    for include in INCLUDES.get(name, []):
        if include not in seen:
            seen.add(include)
            reached(include, seen)
    return seen


def matching(names, pattern):
    return sorted(name for name in names if pattern.match(name))


class Layers(unittest.TestCase):
    def test_the_declaration_is_read(self):
        self.assertGreaterEqual(len(LAYERS), 11)
        self.assertIn("core", LAYERS["cli"][2])
        self.assertNotIn("nn", LAYERS["attention"][2])

    def test_includes_go_down_the_arrow(self):
        wrong = []
        for name in FILES:
            layer = layer_of(name)
            for include in INCLUDES[name]:
                target = layer_of(include)
                if layer is None or target is None or include not in FILES or target in LAYERS[layer][2]:
                    continue
                plain = not matching(reached(include), TORCH) and include.endswith(".hpp")
                if not (target in PLAIN_HEADERS.get(layer, ()) and plain):
                    wrong.append(f"{name} ({layer}) includes {include} ({target})")
        self.assertEqual(wrong, [])

    def test_own_headers_are_named_from_the_root(self):
        roots = tuple(folder + "/" for folder in FOLDERS)
        wrong = [f"{name} includes {include}" for name in FILES for include in INCLUDES[name]
                 if include.endswith(".hpp") and include not in FILES and include not in GENERATED
                 and (include.startswith(roots) or (SOURCE / name).parent.joinpath(include).exists())]
        self.assertEqual(wrong, [])

    def test_layers_without_torch_reach_none(self):
        wrong = []
        for name in FILES:
            layer = layer_of(name)
            if layer and layer != "cli" and not LAYERS[layer][1]:
                wrong += [f"{name} reaches {include}" for include in matching(reached(name), TORCH)]
        self.assertEqual(wrong, [])

    def test_few_files_are_compiled_with_torch(self):
        """Each takes 5 to 25 s to compile, also when torch comes through one of our headers."""
        compiled = [name for name in FILES if name.endswith(".cpp") and matching(reached(name), TORCH)]
        print(f"files compiled with torch: {len(compiled)} (at most {MOST_TORCH_FILES})")
        self.assertLessEqual(len(compiled), MOST_TORCH_FILES, compiled)

    def test_libraries_stay_in_their_layers(self):
        wrong = []
        for name in FILES:
            layer = layer_of(name)
            for include in INCLUDES[name]:
                if include.startswith("CLI/") and layer != "cli" or PICTURES.match(include) and layer != "report":
                    wrong.append(f"{name} includes {include}")
        self.assertEqual(wrong, [])

    def test_headers_include_no_fmt(self):
        """So that a project that uses ours is free to mix them with torch's headers, which hold another fmt."""
        wrong = [f"{name} includes {include}" for name in FILES if name.endswith(".hpp")
                 and not name.startswith("tests/") for include in matching(INCLUDES[name], FORMATTING)]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
