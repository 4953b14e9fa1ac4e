#include "src/core/attention_maps.hpp"

#include <unordered_map>

namespace headtorch {

std::vector<std::int64_t> token_ids(std::span<const std::string> tokens) {
  std::unordered_map<std::string_view, std::int64_t> first;
  std::vector<std::int64_t> ids;
  for (const std::string& token : tokens) {
    ids.push_back(first.try_emplace(token, static_cast<std::int64_t>(ids.size())).first->second);
  }
  return ids;
}

}  // namespace headtorch
