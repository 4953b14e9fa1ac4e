# LibTorch's include root holds an fmt of its own, which would hide the distribution's and break its spdlog. A folder
# with links to just those two header trees, put first on the include path, keeps compiled and linked version the same.
set(HEADTORCH_SYSTEM_FMT "${CMAKE_BINARY_DIR}/system_fmt")
file(MAKE_DIRECTORY "${HEADTORCH_SYSTEM_FMT}")
foreach(library fmt spdlog)
  get_target_property(include_dirs ${library}::${library} INTERFACE_INCLUDE_DIRECTORIES)
  find_path(
    HEADTORCH_${library}_INCLUDE ${library} NO_CMAKE_FIND_ROOT_PATH
    HINTS ${include_dirs}
    PATHS /usr/include)
  file(CREATE_LINK "${HEADTORCH_${library}_INCLUDE}/${library}" "${HEADTORCH_SYSTEM_FMT}/${library}" SYMBOLIC)
endforeach()
