#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "src/core/error.hpp"

namespace headtorch::test {

/// Success when `action` throws an Error with this exit code whose message is one line that `message`
/// accepts.
inline ::testing::AssertionResult fails(const std::function<void()>& action, ExitCode code,
                                        const ::testing::Matcher<std::string>& message = ::testing::_) {
  try {
    action();
  } catch (const Error& error) {
    const std::string text = error.what();
    if (error.code() != code) {
      return ::testing::AssertionFailure() << "exit code " << static_cast<int>(error.code()) << ", expected "
                                           << static_cast<int>(code) << ": " << text;
    }
    if (text.find('\n') != std::string::npos || text.empty() || text.front() != '[') {
      return ::testing::AssertionFailure() << "not one line that starts with [where]: " << text;
    }
    ::testing::StringMatchResultListener why;
    if (!::testing::ExplainMatchResult(message, text, &why)) {
      return ::testing::AssertionFailure() << "message: " << text << " " << why.str();
    }
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace headtorch::test
