# Writes generated/headtorch_version.hpp.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/headtorch_version.hpp" @ONLY CONTENT
"#pragma once

namespace headtorch {

inline constexpr char kVersion[] = \"@PROJECT_VERSION@\";
inline constexpr char kLibTorchVersion[] = \"@HEADTORCH_LIBTORCH_VERSION@\";  ///< built against
inline constexpr char kBuildType[] = \"@CMAKE_BUILD_TYPE@\";                ///< Release unless built for development

}  // namespace headtorch
")
