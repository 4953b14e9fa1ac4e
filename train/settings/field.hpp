#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "train/settings/config.hpp"

// The table behind settings(): what each setting may hold and where it lives in a RunConfig. Reading,
// writing, flags and help all follow it.

namespace headtorch::train {

/// A value as a file or a flag gives it.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<double>,
                           std::vector<std::int64_t>, std::vector<std::string>>;

struct Text {
  std::string& (*at)(RunConfig&);
};
struct Boolean {
  bool& (*at)(RunConfig&);
};
struct Integer {
  std::int64_t& (*at)(RunConfig&);
  std::int64_t min, max;
  bool zero_is_auto = false;  ///< 0 is written "auto" and not as a number
};
struct Real {
  double& (*at)(RunConfig&);
  double min;
  bool min_allowed;
  double limit;                               ///< values lie below it; infinity: any finite one
  double& (*follower)(RunConfig&) = nullptr;  ///< takes the same value, unless it is given after
};
struct RealList {
  std::vector<double>& (*at)(RunConfig&);
  double min;  ///< values lie above it; -infinity: any finite one
};
/// May be empty: "none" as a flag.
struct IntegerList {
  std::vector<std::int64_t>& (*at)(RunConfig&);
  std::int64_t min, max;
};
struct Choice {
  std::vector<std::string> names;
  std::function<std::size_t(RunConfig&)> get;
  std::function<void(RunConfig&, std::size_t)> set;
};
struct ScaleFactor {
  nn::Scale& (*at)(RunConfig&);
};

struct KernelList {
  std::vector<nn::HeadKernelPlace>& (*at)(RunConfig&);
};

struct Field {
  std::string section, name, help;
  std::variant<Text, Boolean, Integer, Real, RealList, IntegerList, Choice, ScaleFactor, KernelList> kind;
};

/// Every field, in the order in which they are applied and written.
std::span<const Field> fields();

/// What the field accepts, as shown to people.
std::string allowed(const Field& field);
/// A flag's text as the field's kind of value.  @throws UsageError when it cannot be read, ConfigError when
/// no number can hold it.
Value value_from_text(const Field& field, std::string_view text);
/// Stores the value; false when its type or size is not allowed, or it names no choice.
bool assign(const Field& field, const Value& value, RunConfig& config);
/// What is wrong with a value that assign refused, where its field can say more than allowed(); else empty.
std::string fault_of(const Field& field, const Value& value);
/// The field's present value.
Value value_of(const Field& field, const RunConfig& config);
/// As TOML: shortest text that gives the same value back.
std::string to_toml_text(const Value& value);

}  // namespace headtorch::train
