# headtorch_embed_digits(LAYER): compiles data/digits.csv into the layer, so that an installed binary needs no files.
function(headtorch_embed_digits layer)
  set(source "${PROJECT_SOURCE_DIR}/data/digits.csv")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" text)
  set(generated "${PROJECT_BINARY_DIR}/digits.cpp")
  file(CONFIGURE OUTPUT "${generated}" @ONLY CONTENT
"#include \"src/tasks/embedded_digits.hpp\"\n
namespace headtorch::tasks {\n
std::string_view embedded_digits() { return R\"csv(@text@)csv\"; }\n
}  // namespace headtorch::tasks\n")
  target_sources(headtorch_${layer} PRIVATE "${generated}")
endfunction()
