# Declares libheadtorch_cuda.so, which captures a training step as a CUDA graph, where the LibTorch found has CUDA and the
# CUDA runtime's headers are there (they come with it). Nothing is linked to it: train/step_graph.cpp loads it on a GPU, from
# the folders that a program searches (its run path).

# Makes a program find the library where it was built.
function(headtorch_finds_cuda program)
  if(HEADTORCH_HAS_CUDA)
    add_dependencies(${program} headtorch_cuda)
    set_property(TARGET ${program} APPEND PROPERTY BUILD_RPATH "${PROJECT_BINARY_DIR}")
  endif()
endfunction()

# Of several copies of the headers the first that can be included: NVIDIA's package of the runtime leaves out crt/, which
# is a package of its own.
set(HEADTORCH_HAS_CUDA FALSE)
include(CheckIncludeFileCXX)
file(GLOB cuda_headers "${HEADTORCH_LIBTORCH_ROOT}/../nvidia/*/include/cuda_runtime.h" "/usr/local/cuda/include/cuda_runtime.h")
set(cuda_includes "")
foreach(header IN LISTS cuda_headers)
  get_filename_component(folder "${header}" DIRECTORY)
  string(MD5 known "${folder}")
  set(CMAKE_REQUIRED_INCLUDES "${folder}")
  check_include_file_cxx(cuda_runtime.h HEADTORCH_CUDA_HEADERS_${known})
  unset(CMAKE_REQUIRED_INCLUDES)
  if(HEADTORCH_CUDA_HEADERS_${known})
    set(cuda_includes "${folder}")
    break()
  endif()
endforeach()
if(NOT EXISTS "${HEADTORCH_LIBTORCH_ROOT}/lib/libtorch_cuda.so" OR NOT cuda_includes)
  message(STATUS "CUDA: no libtorch_cuda.so or no whole cuda_runtime.h; steps on a GPU will not be captured")
  return()
endif()
set(HEADTORCH_HAS_CUDA TRUE)

add_library(headtorch_cuda SHARED train/cuda/step_graph.cpp)
target_include_directories(headtorch_cuda PRIVATE "${PROJECT_SOURCE_DIR}")
target_include_directories(headtorch_cuda SYSTEM PRIVATE "${cuda_includes}")
target_link_libraries(headtorch_cuda PRIVATE headtorch_compile_settings "${HEADTORCH_LIBTORCH_ROOT}/lib/libtorch_cuda.so"
                                             "${HEADTORCH_LIBTORCH_ROOT}/lib/libc10_cuda.so" headtorch::libtorch)
set_target_properties(headtorch_cuda PROPERTIES INSTALL_RPATH "${HEADTORCH_LIBTORCH_ROOT}/lib")
