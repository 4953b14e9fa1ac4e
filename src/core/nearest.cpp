#include "src/core/nearest.hpp"

#include <algorithm>

namespace headtorch {
namespace {

constexpr std::size_t kLongestName = 64;  // the distance costs the product of both lengths

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > kLongestName) return {};
  std::string best;
  std::size_t best_distance = name.size() / 2 + 1;
  for (const std::string& one : known) {
    const std::size_t d = name.size() >= 3 && one.ends_with(name) ? 1 : distance(name, one);
    if (d < best_distance) {
      best = one;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace headtorch
