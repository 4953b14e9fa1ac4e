#include "src/core/head_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "src/core/error.hpp"

namespace headtorch {
namespace {

constexpr std::array<std::pair<KernelFamily, std::string_view>, 7> kFamilies{{
    {KernelFamily::kUniform, "uniform"},
    {KernelFamily::kKey, "one-key"},
    {KernelFamily::kGaussian, "gaussian"},
    {KernelFamily::kSameToken, "same-token"},
    {KernelFamily::kFirstSameToken, "first-same-token"},
    {KernelFamily::kLastSameToken, "last-same-token"},
    {KernelFamily::kInduction, "induction"},
}};

constexpr double kPointMass = 0.35;  // no neighbour then has more than 2 % of the peak

void check(const HeadKernel& kernel) {
  if (kernel.family == KernelFamily::kGaussian && !(kernel.bandwidth > 0.0)) {
    throw ConfigError("kernel", fmt::format("bandwidth is {}, expected a number > 0", kernel.bandwidth));
  }
  if (!(kernel.eps >= 0.0 && kernel.eps <= 1.0)) {
    throw ConfigError("kernel", fmt::format("eps is {}, expected a number from 0 to 1", kernel.eps));
  }
  if (!std::isfinite(kernel.slope) || !std::isfinite(kernel.offset) || std::isnan(kernel.bandwidth)) {
    throw ConfigError(
        "kernel", fmt::format("slope {}, offset {}: expected finite numbers", kernel.slope, kernel.offset));
  }
}

/// The keys that a row sees, ascending.
std::vector<std::size_t> visible_keys(const Sight& sight, std::int64_t query, std::int64_t keys) {
  std::vector<std::size_t> visible;
  for (std::int64_t key = sight.first(query); key < std::min(sight.stop(query), keys); ++key) {
    if (sight.is_open(key)) visible.push_back(static_cast<std::size_t>(key));
  }
  return visible;
}

/// Relative to the nearest visible key, so that the largest exponent is 0 at any bandwidth.
void fill_gaussian(std::vector<double>& row, std::span<const std::size_t> visible, double centre,
                   double bandwidth) {
  const auto distance_to = [centre](std::size_t key) { return std::abs(static_cast<double>(key) - centre); };
  double nearest = distance_to(visible.front());
  for (const std::size_t key : visible) nearest = std::min(nearest, distance_to(key));
  double sum = 0.0;
  for (const std::size_t key : visible) {
    const double distance = distance_to(key);
    const double further = distance - nearest;
    row[key] =
        further > 0.0 ? std::exp(-0.5 * (further / bandwidth) * ((distance + nearest) / bandwidth)) : 1.0;
    sum += row[key];
  }
  for (double& weight : row) weight /= sum;
}

bool names_key(KernelFamily family, std::span<const std::int64_t> ids, std::size_t query, std::size_t key) {
  const bool same = ids[key] == ids[query];
  switch (family) {
    case KernelFamily::kSameToken:
    case KernelFamily::kFirstSameToken:
      return same;
    case KernelFamily::kLastSameToken:
      return same && key < query;
    case KernelFamily::kInduction:
      return key >= 1 && key - 1 < query && ids[key - 1] == ids[query];
    default:
      return false;
  }
}

void fill_tokens(std::vector<double>& row, KernelFamily family, std::span<const std::int64_t> ids,
                 std::int64_t query, std::span<const std::size_t> visible) {
  std::vector<std::size_t> named;
  for (const std::size_t key : visible) {
    if (names_key(family, ids, static_cast<std::size_t>(query), key)) named.push_back(key);
  }
  if (named.empty()) return;
  if (family == KernelFamily::kFirstSameToken) named.erase(named.begin() + 1, named.end());
  if (family == KernelFamily::kLastSameToken) named.erase(named.begin(), named.end() - 1);
  for (const std::size_t key : named) row[key] = 1.0 / static_cast<double>(named.size());
}

std::string short_number(double value) {
  std::string text = fmt::format("{:.{}f}", value, std::abs(value) < 1.0 ? 2 : 1);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string describe_gaussian(const HeadKernel& kernel, std::int64_t keys, Stack stack) {
  const std::string width =
      kernel.bandwidth < kPointMass ? "h <= 0.35" : "h " + short_number(kernel.bandwidth);
  const std::string offset = short_number(kernel.offset);
  if (kernel.slope == 1.0) {
    return offset == "0" ? fmt::format("a Gaussian around the {} position, {}",
                                       stack == Stack::kCross ? "same" : "own", width)
                         : fmt::format("a Gaussian at offset {}, {}", offset, width);
  }
  if (kernel.slope == -1.0) {
    const bool elsewhere = keys > 0 && std::abs(kernel.offset - static_cast<double>(keys - 1)) >= 0.5;
    return elsewhere ? fmt::format("a mirrored Gaussian (query + key = {}), {}", offset, width)
                     : fmt::format("a mirrored Gaussian, {}", width);
  }
  if (kernel.slope == 0.0) return fmt::format("a Gaussian at position {}, {}", offset, width);
  return fmt::format("a Gaussian at {} x position + {}, {}", short_number(kernel.slope), offset, width);
}

template <typename Number>
Number read_number(std::string_view text, std::string_view name, std::string_view word) {
  Number number{};
  const auto [stop, status] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (status != std::errc() || stop != word.data() + word.size()) {
    throw ConfigError("kernel", fmt::format("'{}' after '{}' in '{}', expected a number", word, name, text));
  }
  return number;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t start = 0; (start = text.find_first_not_of(' ', start)) != std::string_view::npos;) {
    const std::size_t stop = std::min(text.find(' ', start), text.size());
    words.push_back(text.substr(start, stop - start));
    start = stop;
  }
  return words;
}

KernelFamily read_family(std::string_view text, std::string_view word) {
  std::string allowed;
  for (const auto& [family, name] : kFamilies) {
    if (name == word) return family;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", name);
  }
  throw ConfigError("kernel",
                    fmt::format("'{}' does not start with a family, expected one of {}", text, allowed));
}

std::vector<std::string_view> fields_of(KernelFamily family) {
  switch (family) {
    case KernelFamily::kUniform:
      return {};
    case KernelFamily::kKey:
      return {"key", "eps"};
    case KernelFamily::kGaussian:
      return {"slope", "offset", "bandwidth", "eps"};
    default:
      return {"eps"};
  }
}

double& field(HeadKernel& kernel, std::string_view name) {
  if (name == "slope") return kernel.slope;
  if (name == "offset") return kernel.offset;
  return name == "bandwidth" ? kernel.bandwidth : kernel.eps;
}

}  // namespace

std::int64_t Sight::first(std::int64_t query) const {
  return window < 0 ? 0 : std::clamp<std::int64_t>(query - window, 0, length);
}

std::int64_t Sight::stop(std::int64_t query) const {
  const std::int64_t last = causal ? std::min(query + 1, length) : length;
  return window < 0 ? last : std::min(last, query + window + 1);
}

std::int64_t Sight::visible(std::int64_t query) const {
  const std::int64_t from = first(query), to = std::max(stop(query), from);
  if (open.empty()) return to - from;
  return std::count_if(open.begin() + from, open.begin() + to, [](std::uint8_t one) { return one != 0; });
}

std::vector<double> kernel_row(const HeadKernel& kernel, std::int64_t query, std::int64_t keys,
                               const Sight& sight, std::span<const std::int64_t> ids) {
  check(kernel);
  std::vector<double> row(static_cast<std::size_t>(std::max<std::int64_t>(keys, 0)), 0.0);
  const std::vector<std::size_t> visible = visible_keys(sight, query, keys);
  if (visible.empty()) return row;

  if (kernel.family == KernelFamily::kKey) {
    if (kernel.key < keys && sight.sees(query, kernel.key)) row[static_cast<std::size_t>(kernel.key)] = 1.0;
  } else if (kernel.family == KernelFamily::kGaussian) {
    const double centre = kernel.slope * static_cast<double>(query) + kernel.offset;
    fill_gaussian(row, visible, centre, kernel.bandwidth);
  } else if (kernel.family != KernelFamily::kUniform && query < sight.length) {
    const auto least = std::max(static_cast<std::int64_t>(visible.back()), query) + 1;
    if (std::ssize(ids) < least) {
      throw ShapeError("kernel_row", fmt::format("{} token ids, expected {}", ids.size(), sight.length));
    }
    fill_tokens(row, kernel.family, ids, query, visible);
  }

  const bool none = std::all_of(row.begin(), row.end(), [](double weight) { return weight == 0.0; });
  const double eps = none ? 1.0 : kernel.eps;
  for (const std::size_t key : visible) {
    row[key] = (1.0 - eps) * row[key] + eps / static_cast<double>(visible.size());
  }
  return row;
}

std::string_view family_name(KernelFamily family) {
  return std::find_if(kFamilies.begin(), kFamilies.end(),
                      [family](const auto& entry) { return entry.first == family; })
      ->second;
}

std::string kernel_text(const HeadKernel& kernel) {
  HeadKernel copy = kernel;
  std::string text{family_name(kernel.family)};
  for (const std::string_view name : fields_of(kernel.family)) {
    text +=
        name == "key" ? fmt::format(" key {}", kernel.key) : fmt::format(" {} {}", name, field(copy, name));
  }
  return text;
}

HeadKernel parse_kernel(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  HeadKernel kernel{.family = read_family(text, words.empty() ? "" : words.front())};
  const std::vector<std::string_view> fields = fields_of(kernel.family);
  std::vector<std::string_view> seen;
  for (std::size_t i = 1; i < words.size(); i += 2) {
    const std::string_view name = words[i];
    if (std::find(fields.begin(), fields.end(), name) == fields.end()) {
      throw ConfigError("kernel", fmt::format("'{}' in '{}', expected {}", name, text,
                                              fields.empty() ? "nothing after 'uniform'"
                                                             : fmt::format("{}", fmt::join(fields, ", "))));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      throw ConfigError("kernel", fmt::format("'{}' twice in '{}', expected it once", name, text));
    }
    if (i + 1 == words.size()) {
      throw ConfigError("kernel", fmt::format("nothing after '{}' in '{}', expected a number", name, text));
    }
    seen.push_back(name);
    if (name == "key") {
      kernel.key = read_number<std::int64_t>(text, name, words[i + 1]);
    } else {
      field(kernel, name) = read_number<double>(text, name, words[i + 1]);
    }
  }
  if (kernel.key < 0) {
    throw ConfigError("kernel",
                      fmt::format("key is {} in '{}', expected a position from 0", kernel.key, text));
  }
  check(kernel);
  return kernel;
}

std::string describe(const HeadKernel& kernel, std::int64_t keys, Stack stack) {
  switch (kernel.family) {
    case KernelFamily::kKey:
      return fmt::format("one key ({})", kernel.key);
    case KernelFamily::kGaussian:
      return describe_gaussian(kernel, keys, stack);
    case KernelFamily::kSameToken:
      return "a same-token kernel";
    case KernelFamily::kFirstSameToken:
      return "a kernel on the first same token";
    case KernelFamily::kLastSameToken:
      return "a kernel on the last same token before";
    case KernelFamily::kInduction:
      return "an induction kernel (after an earlier same token)";
    default:
      return "uniform";
  }
}

}  // namespace headtorch
