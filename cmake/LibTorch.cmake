# Declares headtorch::libtorch (libtorch_cpu and libc10; CUDA is loaded at run time) and sets HEADTORCH_LIBTORCH_VERSION.
# find_package(Torch) asks for nvcc and the whole CUDA toolkit even for a CPU build, so the two libraries are declared here
# instead.

include("${CMAKE_CURRENT_LIST_DIR}/LibTorchSearch.cmake")
find_package(Threads REQUIRED)

headtorch_find_libtorch(libtorch_root HEADTORCH_LIBTORCH_VERSION)
if(NOT libtorch_root)
  message(FATAL_ERROR "[cmake] no LibTorch 2.8 to 2.15 was found. Run ./headtorch, which downloads it, or set Torch_DIR or "
                      "CMAKE_PREFIX_PATH.")
endif()
# Remembered, so that another Python made active later does not rebuild everything against another LibTorch.
set(HEADTORCH_LIBTORCH_ROOT "${libtorch_root}" CACHE PATH "The LibTorch that was found" FORCE)
message(STATUS "LibTorch ${HEADTORCH_LIBTORCH_VERSION}: ${libtorch_root}")

if(NOT TARGET headtorch::libtorch)
  set(libtorch_includes "${libtorch_root}/include" "${libtorch_root}/include/torch/csrc/api/include")
  add_library(headtorch::libtorch INTERFACE IMPORTED GLOBAL)
  target_include_directories(headtorch::libtorch SYSTEM INTERFACE ${libtorch_includes})
  target_link_libraries(headtorch::libtorch INTERFACE "${libtorch_root}/lib/libtorch_cpu.so" "${libtorch_root}/lib/libc10.so"
                                                      Threads::Threads)
  target_compile_definitions(headtorch::libtorch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
endif()
