#include "train/settings/field.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/core/error.hpp"
#include "train/settings/head_kernels.hpp"
#include "train/settings/number.hpp"

namespace headtorch::train {
namespace {

constexpr std::string_view kAuto = "auto", kNone = "none";
constexpr std::size_t kMostHeads = 64, kMostListed = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

std::string flag_name(const Field& field) {
  std::string flag = "--" + field.name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

[[noreturn]] void unreadable(const Field& field, std::string_view text) {
  throw UsageError(flag_name(field), fmt::format("\"{}\" cannot be read, expected {}", text, allowed(field)));
}

template <typename T>
T number_or_throw(const Field& field, std::string_view text, const ParsedNumber<T>& parsed) {
  if (parsed.fault == NumberFault::kUnreadable) unreadable(field, text);
  if (parsed.fault == NumberFault::kTooLarge) {
    throw ConfigError(flag_name(field), fmt::format("{} is not allowed, expected {}", text, allowed(field)));
  }
  return parsed.value;
}

double real_from_text(const Field& field, std::string_view text) {
  return number_or_throw(field, text, parse_real(text));
}

std::vector<double> list_from_text(const Field& field, std::string_view text) {
  std::vector<double> values;
  for (const std::string_view part : split_at_commas(text)) values.push_back(real_from_text(field, part));
  return values;
}

/// Whole numbers may stand where a real one is asked for.
std::optional<double> as_real(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return std::nullopt;
}

/// A list in a file is one of real numbers, also when all are whole or none is there.
std::optional<std::vector<std::int64_t>> as_integers(const Value& value) {
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) return *integers;
  const auto* reals = std::get_if<std::vector<double>>(&value);
  if (!reals) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const double real : *reals) {
    if (real != std::floor(real) || std::abs(real) > 1e15) return std::nullopt;
    values.push_back(static_cast<std::int64_t>(real));
  }
  return values;
}

std::string range_text(double min, bool min_allowed, double limit) {
  if (min == -kInfinity) return "a finite number";
  if (limit == kInfinity) return fmt::format("a finite number {} {}", min_allowed ? ">=" : ">", min);
  return fmt::format("a number in {}{}, {})", min_allowed ? '[' : '(', min, limit);
}

std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  const bool is_toml_float = text.find_first_of(".en") != std::string::npos;
  return is_toml_float ? text : text + ".0";
}

std::string quoted_text(std::string_view text) {
  std::string toml = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      toml += '\\';
      toml += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      toml += fmt::format("\\u{:04X}", byte);
    } else {
      toml += c;
    }
  }
  return toml + '"';
}

}  // namespace

std::string allowed(const Field& field) {
  return std::visit(
      Overloaded{
          [](const Text&) { return std::string("a text"); },
          [](const Boolean&) { return std::string("true or false"); },
          [](const Integer& kind) {
            return fmt::format("{}an integer from {} to {}", kind.zero_is_auto ? "auto or " : "", kind.min,
                               kind.max);
          },
          [](const Real& kind) { return range_text(kind.min, kind.min_allowed, kind.limit); },
          [](const RealList& kind) {
            return fmt::format("{}, or one a head", range_text(kind.min, false, kInfinity));
          },
          [](const IntegerList& kind) {
            return fmt::format("a list of integers from {} to {} (as a flag: with commas between, or none)",
                               kind.min, kind.max);
          },
          [](const Choice& kind) { return fmt::format("one of {}", fmt::join(kind.names, ", ")); },
          [](const ScaleFactor&) { return "sqrt, learned or " + range_text(0.0, false, kInfinity); },
          [](const KernelList&) { return std::string(kHeadKernelsAllowed); },
      },
      field.kind);
}

Value value_from_text(const Field& field, std::string_view text) {
  return std::visit(Overloaded{
                        [&](const Text&) -> Value { return std::string(text); },
                        [&](const Boolean&) -> Value {
                          if (text != "true" && text != "false") unreadable(field, text);
                          return text == "true";
                        },
                        [&](const Integer& kind) -> Value {
                          if (kind.zero_is_auto && text == kAuto) return std::string(text);
                          return number_or_throw(field, text, parse_integer(text));
                        },
                        [&](const Real&) -> Value { return real_from_text(field, text); },
                        [&](const RealList&) -> Value { return list_from_text(field, text); },
                        [&](const IntegerList&) -> Value {
                          std::vector<std::int64_t> values;
                          if (text == kNone) return values;
                          for (const std::string_view part : split_at_commas(text))
                            values.push_back(number_or_throw(field, part, parse_integer(part)));
                          return values;
                        },
                        [&](const Choice& kind) -> Value {
                          if (std::find(kind.names.begin(), kind.names.end(), text) == kind.names.end())
                            unreadable(field, text);
                          return std::string(text);
                        },
                        [&](const ScaleFactor&) -> Value {
                          if (text == "sqrt" || text == "learned") return std::string(text);
                          return real_from_text(field, text);
                        },
                        [&](const KernelList&) -> Value {
                          std::vector<std::string> places;
                          if (text == kNoHeadKernels) return places;
                          for (const std::string_view part : split_at_commas(text)) {
                            if (!reads_as_head_kernel(part)) unreadable(field, part);
                            places.emplace_back(part);
                          }
                          return places;
                        },
                    },
                    field.kind);
}

bool assign(const Field& field, const Value& value, RunConfig& config) {
  return std::visit(
      Overloaded{
          [&](const Text& kind) {
            const auto* text = std::get_if<std::string>(&value);
            if (text) kind.at(config) = *text;
            return text != nullptr;
          },
          [&](const Boolean& kind) {
            const auto* truth = std::get_if<bool>(&value);
            if (truth) kind.at(config) = *truth;
            return truth != nullptr;
          },
          [&](const Integer& kind) {
            const auto* word = std::get_if<std::string>(&value);
            if (kind.zero_is_auto && word && *word == kAuto) {
              kind.at(config) = 0;
              return true;
            }
            const auto* integer = std::get_if<std::int64_t>(&value);
            if (!integer || *integer < kind.min || *integer > kind.max) return false;
            kind.at(config) = *integer;
            return true;
          },
          [&](const Real& kind) {
            const std::optional<double> real = as_real(value);
            if (!real || !std::isfinite(*real)) return false;
            if (*real < kind.min || (*real == kind.min && !kind.min_allowed) || *real >= kind.limit)
              return false;
            kind.at(config) = *real;
            if (kind.follower) kind.follower(config) = *real;
            return true;
          },
          [&](const RealList& kind) {
            const std::optional<double> real = as_real(value);
            const auto* list = std::get_if<std::vector<double>>(&value);
            if (!real && !list) return false;
            const std::vector<double> values = real ? std::vector{*real} : *list;
            const auto fits = [&](double v) { return std::isfinite(v) && v > kind.min; };
            if (values.empty() || values.size() > kMostHeads ||
                !std::all_of(values.begin(), values.end(), fits)) {
              return false;
            }
            kind.at(config) = values;
            return true;
          },
          [&](const IntegerList& kind) {
            const std::optional<std::vector<std::int64_t>> list = as_integers(value);
            if (!list) return false;
            const std::vector<std::int64_t>& values = *list;
            if (values.size() > kMostListed ||
                !std::all_of(values.begin(), values.end(),
                             [&](std::int64_t v) { return v >= kind.min && v <= kind.max; })) {
              return false;
            }
            kind.at(config) = values;
            return true;
          },
          [&](const Choice& kind) {
            const auto* name = std::get_if<std::string>(&value);
            if (!name) return false;
            const auto found = std::find(kind.names.begin(), kind.names.end(), *name);
            if (found == kind.names.end()) return false;
            kind.set(config, static_cast<std::size_t>(found - kind.names.begin()));
            return true;
          },
          [&](const ScaleFactor& kind) {
            if (const auto* word = std::get_if<std::string>(&value)) {
              if (*word != "sqrt" && *word != "learned") return false;
              kind.at(config) = {*word == "sqrt" ? nn::ScaleKind::kSqrt : nn::ScaleKind::kLearned, 0.0};
              return true;
            }
            const std::optional<double> real = as_real(value);
            if (!real || !std::isfinite(*real) || *real <= 0.0) return false;
            kind.at(config) = {nn::ScaleKind::kNumber, *real};
            return true;
          },
          [&](const KernelList& kind) {
            if (!fault_of(field, value).empty()) return false;
            std::vector<nn::HeadKernelPlace> places;
            if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
              for (const std::string& text : *texts) places.push_back(parse_head_kernel(text));
            }
            kind.at(config) = std::move(places);
            return true;
          },
      },
      field.kind);
}

std::string fault_of(const Field& field, const Value& value) {
  if (!std::holds_alternative<KernelList>(field.kind)) return {};
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (!texts) {
    // An empty list in a file has no type of its own.
    const auto* numbers = std::get_if<std::vector<double>>(&value);
    return numbers && numbers->empty() ? std::string() : "is no list of texts";
  }
  for (const std::string& text : *texts) {
    if (std::string fault = head_kernel_fault(text); !fault.empty()) return fault;
  }
  return {};
}

Value value_of(const Field& field, const RunConfig& config) {
  RunConfig readable = config;  // the table's accessors serve reading and writing
  return std::visit(Overloaded{
                        [&](const Text& kind) -> Value { return kind.at(readable); },
                        [&](const Boolean& kind) -> Value { return kind.at(readable); },
                        [&](const Integer& kind) -> Value {
                          const std::int64_t value = kind.at(readable);
                          if (kind.zero_is_auto && value == 0) return std::string(kAuto);
                          return value;
                        },
                        [&](const Real& kind) -> Value { return kind.at(readable); },
                        [&](const RealList& kind) -> Value {
                          const std::vector<double>& values = kind.at(readable);
                          if (values.size() == 1) return values.front();
                          return values;
                        },
                        [&](const IntegerList& kind) -> Value { return kind.at(readable); },
                        [&](const Choice& kind) -> Value { return kind.names.at(kind.get(readable)); },
                        [&](const ScaleFactor& kind) -> Value {
                          const nn::Scale& scale = kind.at(readable);
                          if (scale.kind == nn::ScaleKind::kNumber) return scale.number;
                          return std::string(scale.kind == nn::ScaleKind::kSqrt ? "sqrt" : "learned");
                        },
                        [&](const KernelList& kind) -> Value {
                          std::vector<std::string> texts;
                          for (const nn::HeadKernelPlace& place : kind.at(readable))
                            texts.push_back(head_kernel_text(place));
                          return texts;
                        },
                    },
                    field.kind);
}

std::string to_toml_text(const Value& value) {
  return std::visit(Overloaded{
                        [](bool truth) { return std::string(truth ? "true" : "false"); },
                        [](std::int64_t integer) { return fmt::format("{}", integer); },
                        [](double real) { return real_text(real); },
                        [](const std::string& text) { return quoted_text(text); },
                        [](const std::vector<double>& values) {
                          std::vector<std::string> texts;
                          for (const double v : values) texts.push_back(real_text(v));
                          return fmt::format("[{}]", fmt::join(texts, ", "));
                        },
                        [](const std::vector<std::int64_t>& values) {
                          return fmt::format("[{}]", fmt::join(values, ", "));
                        },
                        [](const std::vector<std::string>& values) {
                          std::vector<std::string> texts;
                          for (const std::string& v : values) texts.push_back(quoted_text(v));
                          return fmt::format("[{}]", fmt::join(texts, ", "));
                        },
                    },
                    value);
}

}  // namespace headtorch::train
