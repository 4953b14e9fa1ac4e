# headtorch_embed_presets(LAYER): compiles models/presets/*.toml into the layer, so that an installed binary needs no files.
function(headtorch_embed_presets layer)
  file(GLOB presets CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/models/presets/*.toml")
  set(entries "")
  foreach(preset IN LISTS presets)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${preset}")
    cmake_path(GET preset STEM name)
    file(READ "${preset}" text)
    string(APPEND entries "    {\"${name}\", R\"toml(${text})toml\"},\n")
  endforeach()
  set(generated "${PROJECT_BINARY_DIR}/presets.cpp")
  file(CONFIGURE OUTPUT "${generated}" @ONLY CONTENT
"#include <vector>\n
#include \"train/settings/embedded_presets.hpp\"\n
namespace headtorch::train {\n
std::span<const EmbeddedPreset> embedded_presets() {
  static const std::vector<EmbeddedPreset> kPresets = {\n@entries@  };
  return kPresets;
}\n
}  // namespace headtorch::train\n")
  target_sources(headtorch_${layer} PRIVATE "${generated}")
endfunction()
