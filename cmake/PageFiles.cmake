# headtorch_embed_page(LAYER): compiles src/report/page/ into the layer: the page's HTML, its style, and its scripts joined
# in the order below into one.
function(headtorch_embed_page layer)
  set(folder "${PROJECT_SOURCE_DIR}/src/report/page")
  set(script "'use strict';\n")
  foreach(name page.html page.css data.js colours.js map.js image.js overview.js lines.js tables.js curves.js main.js)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${name}")
    file(READ "${folder}/${name}" text)
    if(name MATCHES "\\.js$")
      string(APPEND script "\n${text}")
    else()
      set(${name} "${text}")
    endif()
  endforeach()
  set(generated "${PROJECT_BINARY_DIR}/page_files.cpp")
  set(html "${page.html}")
  set(style "${page.css}")
  file(CONFIGURE OUTPUT "${generated}" @ONLY CONTENT
"#include \"src/report/page_files.hpp\"\n
namespace headtorch::report {\n
PageFiles page_files() {
  return {R\"page(@html@)page\", R\"page(@style@)page\", R\"page(@script@)page\"};
}\n
}  // namespace headtorch::report\n")
  target_sources(headtorch_${layer} PRIVATE "${generated}")
endfunction()
