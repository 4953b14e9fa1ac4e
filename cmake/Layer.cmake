# headtorch_layer(NAME DIRECTORY [TORCH] [USES layer...] [LINK target...])
# Declares the static library headtorch::NAME from DIRECTORY/*.cpp. USES names the layers below it, LINK private
# third-party targets. TORCH: sources may include LibTorch; they share one precompiled header.
# headtorch_tests(NAME [TORCH] [LAYER layer] [LABEL label] [LINK target...])
# Declares NAME_tests from tests/NAME/*_test.cpp, with access to the layer and to tests/support. Those without TORCH carry
# the label torch_free and are built by the target torch_free_tests: quick to build under sanitizers.

option(HEADTORCH_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
set(HEADTORCH_SANITIZE "" CACHE STRING "Sanitizers for every target, for example address,undefined")

add_library(headtorch_compile_settings INTERFACE)
target_compile_features(headtorch_compile_settings INTERFACE cxx_std_20)
target_compile_options(
  headtorch_compile_settings INTERFACE -Wall -Wextra -Wshadow -Wconversion $<$<BOOL:${HEADTORCH_WARNINGS_AS_ERRORS}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # A false alarm of g++ 12 about std::string's own copies: gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
  target_compile_options(headtorch_compile_settings INTERFACE -Wno-restrict)
endif()
if(HEADTORCH_SANITIZE)
  target_compile_options(headtorch_compile_settings INTERFACE -fsanitize=${HEADTORCH_SANITIZE} -fno-sanitize-recover=all
                                                      -fno-omit-frame-pointer)
  # GCC's manual warns that sanitizers make it see uninitialised values where there are none.
  target_compile_options(headtorch_compile_settings INTERFACE -Wno-maybe-uninitialized)
  target_compile_definitions(headtorch_compile_settings INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(headtorch_compile_settings INTERFACE -fsanitize=${HEADTORCH_SANITIZE})
endif()

function(headtorch_share_torch_header target)
  if(NOT TARGET headtorch_torch_header)
    file(WRITE "${CMAKE_BINARY_DIR}/torch_header.cpp.tmp" "// Owns the precompiled torch/torch.h of all targets.\n")
    file(COPY_FILE "${CMAKE_BINARY_DIR}/torch_header.cpp.tmp" "${CMAKE_BINARY_DIR}/torch_header.cpp" ONLY_IF_DIFFERENT)
    add_library(headtorch_torch_header OBJECT "${CMAKE_BINARY_DIR}/torch_header.cpp")
    target_link_libraries(headtorch_torch_header PRIVATE headtorch_compile_settings headtorch::libtorch)
    target_precompile_headers(headtorch_torch_header PRIVATE <torch/torch.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM headtorch_torch_header)
endfunction()

function(headtorch_layer name directory)
  cmake_parse_arguments(ARG "TORCH" "" "USES;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${directory}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(headtorch_${name} STATIC ${sources})
  add_library(headtorch::${name} ALIAS headtorch_${name})
  set_target_properties(headtorch_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(headtorch_${name} BEFORE PRIVATE "${HEADTORCH_SYSTEM_FMT}")
  target_include_directories(
    headtorch_${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>"
                             "$<INSTALL_INTERFACE:include/headtorch>")
  target_compile_features(headtorch_${name} PUBLIC cxx_std_20)
  list(TRANSFORM ARG_USES PREPEND headtorch_)
  target_link_libraries(headtorch_${name} PUBLIC ${ARG_USES})
  target_link_libraries(headtorch_${name} PRIVATE $<BUILD_INTERFACE:headtorch_compile_settings> ${ARG_LINK})
  if(ARG_TORCH)
    target_link_libraries(headtorch_${name} PUBLIC headtorch::libtorch)
    headtorch_share_torch_header(headtorch_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY HEADTORCH_LAYERS headtorch_${name})
endfunction()

function(headtorch_tests name)
  cmake_parse_arguments(ARG "TORCH" "LAYER;LABEL" "LINK" ${ARGN})
  if(NOT ARG_LAYER)
    set(ARG_LAYER ${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_tests ${sources})
  target_include_directories(${name}_tests BEFORE PRIVATE "${HEADTORCH_SYSTEM_FMT}")
  target_include_directories(${name}_tests PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${name}_tests PRIVATE HEADTORCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                                   HEADTORCH_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name}_tests PRIVATE headtorch_${ARG_LAYER} headtorch_compile_settings ${ARG_LINK} GTest::gmock
                                              GTest::gtest_main)
  if(ARG_TORCH)
    headtorch_share_torch_header(${name}_tests)
    set(label torch)
  else()
    set(label torch_free)
    if(NOT TARGET torch_free_tests)
      add_custom_target(torch_free_tests)
    endif()
    add_dependencies(torch_free_tests ${name}_tests)
  endif()
  if(ARG_LABEL)
    set(label ${ARG_LABEL})
  endif()
  # One OpenMP thread: tests run side by side, and waiting threads spin.
  gtest_discover_tests(
    ${name}_tests
    TEST_PREFIX "${name}."
    PROPERTIES LABELS ${label} ENVIRONMENT OMP_NUM_THREADS=1
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60)
endfunction()
