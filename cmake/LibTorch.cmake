# Finds LibTorch 2.8 to 2.15 and declares headtorch::libtorch (libtorch_cpu and libc10; CUDA is loaded at run time).
# find_package(Torch) asks for nvcc and the whole CUDA toolkit even for a CPU build, so the two libraries are declared
# here instead. Looked for in this order: Torch_DIR, CMAKE_PREFIX_PATH, the active Python's torch, third_party/libtorch.

set(headtorch_torch_candidates "")
if(Torch_DIR)
  cmake_path(SET torch_root NORMALIZE "${Torch_DIR}/../../..")
  list(APPEND headtorch_torch_candidates "${torch_root}")
endif()
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  list(APPEND headtorch_torch_candidates "${prefix}" "${prefix}/torch")
endforeach()
if(HEADTORCH_PYTHON_TORCH)
  find_program(HEADTORCH_PYTHON python3)
  if(HEADTORCH_PYTHON)
    execute_process(
      COMMAND "${HEADTORCH_PYTHON}" -c
              "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s and s.submodule_search_locations else '')"
      OUTPUT_VARIABLE python_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(python_torch)
      list(APPEND headtorch_torch_candidates "${python_torch}")
    endif()
  endif()
endif()
list(APPEND headtorch_torch_candidates "${CMAKE_CURRENT_LIST_DIR}/../third_party/libtorch/torch")

set(headtorch_torch_root "")
foreach(candidate IN LISTS headtorch_torch_candidates)
  if(EXISTS "${candidate}/lib/libtorch_cpu.so" AND EXISTS "${candidate}/include/torch/csrc/api/include/torch/torch.h")
    set(headtorch_torch_root "${candidate}")
    break()
  endif()
endforeach()
if(NOT headtorch_torch_root)
  message(FATAL_ERROR "[cmake] LibTorch was not found; expected one of: ${headtorch_torch_candidates}. "
                      "Run ./headtorch, which downloads it, or set Torch_DIR or CMAKE_PREFIX_PATH.")
endif()

set(version_header "${headtorch_torch_root}/include/torch/headeronly/version.h")
if(NOT EXISTS "${version_header}")
  set(version_header "${headtorch_torch_root}/include/torch/csrc/api/include/torch/version.h")
endif()
file(STRINGS "${version_header}" version_lines REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" HEADTORCH_LIBTORCH_VERSION
                     "${version_lines}")
if(HEADTORCH_LIBTORCH_VERSION VERSION_LESS 2.8 OR HEADTORCH_LIBTORCH_VERSION VERSION_GREATER_EQUAL 2.16)
  message(FATAL_ERROR "[cmake] LibTorch ${HEADTORCH_LIBTORCH_VERSION} in ${headtorch_torch_root} is outside 2.8 to 2.15")
endif()
message(STATUS "LibTorch ${HEADTORCH_LIBTORCH_VERSION}: ${headtorch_torch_root}")

find_package(Threads REQUIRED)
if(NOT TARGET headtorch::libtorch)
  add_library(headtorch::libtorch INTERFACE IMPORTED)
  set_target_properties(
    headtorch::libtorch
    PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
               "${headtorch_torch_root}/include;${headtorch_torch_root}/include/torch/csrc/api/include"
               INTERFACE_SYSTEM_INCLUDE_DIRECTORIES
               "${headtorch_torch_root}/include;${headtorch_torch_root}/include/torch/csrc/api/include"
               INTERFACE_LINK_LIBRARIES
               "${headtorch_torch_root}/lib/libtorch_cpu.so;${headtorch_torch_root}/lib/libc10.so;Threads::Threads"
               INTERFACE_COMPILE_DEFINITIONS "_GLIBCXX_USE_CXX11_ABI=1")
endif()
