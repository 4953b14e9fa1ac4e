# cmake --install: the program, the static libraries, the headers (their tree kept, under include/headtorch) and a CMake
# package, so that find_package(headtorch) gives headtorch::headtorch: every layer but cli.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/headtorch")
get_property(layers GLOBAL PROPERTY HEADTORCH_LAYERS)
list(REMOVE_ITEM layers headtorch_cli)
add_library(headtorch_all INTERFACE)
add_library(headtorch::headtorch ALIAS headtorch_all)
set_target_properties(headtorch_all PROPERTIES EXPORT_NAME headtorch)
target_link_libraries(headtorch_all INTERFACE ${layers})

# The installed program finds LibTorch where the built one does. CMake's own way leaves out folders inside the source tree.
set_target_properties(
  headtorch PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${HEADTORCH_LIBTORCH_ROOT}/lib"
                       INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS headtorch RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
if(HEADTORCH_HAS_CUDA)
  install(TARGETS headtorch_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(TARGETS headtorch_all ${layers} EXPORT headtorch ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT headtorch NAMESPACE headtorch:: FILE headtorchTargets.cmake DESTINATION "${package_dir}")

set(header_dir "${CMAKE_INSTALL_INCLUDEDIR}/headtorch")
install(
  DIRECTORY src models train
  DESTINATION "${header_dir}"
  FILES_MATCHING
  PATTERN "*.hpp" PATTERN "*.def"
  PATTERN "src/cli" EXCLUDE
  PATTERN "presets" EXCLUDE)
install(FILES "${PROJECT_BINARY_DIR}/generated/headtorch_version.hpp" DESTINATION "${header_dir}")

configure_package_config_file(cmake/headtorchConfig.cmake.in "${PROJECT_BINARY_DIR}/headtorchConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/headtorchConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/headtorchConfig.cmake" "${PROJECT_BINARY_DIR}/headtorchConfigVersion.cmake"
              cmake/Dependencies.cmake cmake/LibTorch.cmake cmake/LibTorchSearch.cmake DESTINATION "${package_dir}")
