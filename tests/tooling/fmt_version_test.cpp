// LibTorch's include root holds an fmt of its own. Where both are included, the headers that were compiled
// must still be those of the library that is linked: each library is asked at run time what its own code was
// built with.
#include <ATen/core/Tensor.h>
#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <link.h>
#include <spdlog/spdlog.h>
#include <spdlog/version.h>

#include <string>

namespace {

// The file that holds a function, for example /lib/x86_64-linux-gnu/libfmt.so.9.1.0.
std::string library_of(void* function) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(function, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) {
    return "";
  }
  return map->l_name;
}

TEST(FmtVersion, CompiledAndLinkedAgreeBesideTorch) {
  // fmt's functions carry the major version in their namespace (fmt::v9), its library in the file's name
  // (libfmt.so.9).
  const auto function = static_cast<std::string (*)(fmt::string_view, fmt::format_args)>(fmt::vformat);
  const std::string library = library_of(reinterpret_cast<void*>(function));
  EXPECT_NE(library.find("libfmt.so." + std::to_string(FMT_VERSION / 10000)), std::string::npos) << library;
}

TEST(FmtVersion, SpdlogsHeadersAreThoseOfItsLibrary) {
  const auto function = static_cast<spdlog::logger* (*)()>(spdlog::default_logger_raw);
  const std::string library = library_of(reinterpret_cast<void*>(function));
  const std::string version = std::to_string(SPDLOG_VER_MAJOR) + "." + std::to_string(SPDLOG_VER_MINOR);
  EXPECT_NE(library.find("libspdlog.so." + version), std::string::npos) << library;
}

TEST(FmtVersion, BothFormatTheSameText) {
  EXPECT_EQ(fmt::format("{:.3f} {}", 0.5, std::string("x")), "0.500 x");
}

}  // namespace
