#include "src/attention/per_head.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "src/core/error.hpp"

namespace headtorch::attention {

at::Tensor per_head(std::string_view where, std::string_view name, const std::vector<double>& values,
                    std::int64_t n_heads, const at::TensorOptions& options) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (count != 1 && count != n_heads) {
    throw ConfigError(
        where, fmt::format("{} has {} values, expected 1 or one for each of {} heads", name, count, n_heads));
  }
  return at::tensor(values, at::TensorOptions(at::kDouble)).view({count, 1, 1}).to(options);
}

}  // namespace headtorch::attention
