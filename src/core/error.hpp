#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace headtorch {

/// Process exit codes (docs/exit_codes.md); the values follow sysexits.h where it has one.
enum class ExitCode {
  kDone = 0,
  kInternal = 1,
  kCheckFailed = 2,
  kUsage = 64,
  kBadData = 65,
  kInputMissing = 66,
  kSetupIncomplete = 69,
  kOutOfMemory = 70,
  kCannotCreate = 73,
  kInputOutput = 74,
  kBadConfig = 78,
  kInterrupted = 130,
  kTerminated = 143,
};

/// Something the user can act on: one line, `[where] what was wrong, what was expected`.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, std::string_view where, std::string_view what);
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// A flag that cannot be read, or an unknown verb, flag, task or choice.
struct UsageError : Error {
  UsageError(std::string_view where, std::string_view what) : Error(ExitCode::kUsage, where, what) {}
};

/// A value that can be read and is not allowed.
struct ConfigError : Error {
  ConfigError(std::string_view where, std::string_view what) : Error(ExitCode::kBadConfig, where, what) {}
};

/// File contents that break their format.
struct DataError : Error {
  DataError(std::string_view where, std::string_view what) : Error(ExitCode::kBadData, where, what) {}
};

/// An input that does not exist or cannot be opened.
struct InputMissing : Error {
  InputMissing(std::string_view where, std::string_view what) : Error(ExitCode::kInputMissing, where, what) {}
};

/// An output place that is occupied or cannot be created.
struct CannotCreate : Error {
  CannotCreate(std::string_view where, std::string_view what) : Error(ExitCode::kCannotCreate, where, what) {}
};

/// A read or write that failed half-way.
struct InputOutputError : Error {
  InputOutputError(std::string_view where, std::string_view what)
      : Error(ExitCode::kInputOutput, where, what) {}
};

/// A tensor whose shape does not fit where it enters; a mistake of the calling code.
struct ShapeError : Error {
  ShapeError(std::string_view where, std::string_view what) : Error(ExitCode::kInternal, where, what) {}
};

/// `text` on one line: line breaks and other control characters become visible escapes.
std::string one_line(std::string_view text);

}  // namespace headtorch
