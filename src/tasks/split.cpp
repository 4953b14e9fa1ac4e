#include "src/tasks/split.hpp"

#include <xxhash.h>

namespace headtorch::tasks {

Split split_of(std::span<const std::int64_t> tokens, const SplitTenths& tenths) {
  constexpr XXH64_hash_t kSeed =
      0x6865616474;  // fixed for ever: another seed would move examples between splits
  const auto tenth =
      static_cast<std::int64_t>(XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), kSeed) % 10);
  if (tenth < tenths.test) return Split::kTest;
  return tenth < tenths.test + tenths.validation ? Split::kValidation : Split::kTrain;
}

}  // namespace headtorch::tasks
