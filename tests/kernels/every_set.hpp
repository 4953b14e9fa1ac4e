#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "src/kernels/kernels.hpp"

namespace headtorch::kernels {

/// For googletest.
inline void PrintTo(InstructionSet set, std::ostream* out) {
  *out << (set == InstructionSet::kAvx2 ? "AVX2" : "AVX512");
}

}  // namespace headtorch::kernels

namespace headtorch::kernels::test {

inline constexpr InstructionSet kEverySet[] = {InstructionSet::kAvx2, InstructionSet::kAvx512};

/// For the names of tests.
inline std::string name_of(InstructionSet set) { return set == InstructionSet::kAvx2 ? "AVX2" : "AVX512"; }

/// A test that runs once for each instruction set; skipped where the processor lacks it.
class KernelTest : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    kernels = kernels_for(GetParam());
    if (kernels == nullptr) GTEST_SKIP() << "this processor lacks " << name_of(GetParam());
  }

  const Kernels* kernels = nullptr;
};

inline std::string name_of_test(const ::testing::TestParamInfo<InstructionSet>& test) {
  return name_of(test.param);
}

/// Declares a group of such tests: TEST_P(group, ...) runs for every set.
#define HEADTORCH_KERNEL_TESTS(group) \
  class group : public KernelTest {}; \
  INSTANTIATE_TEST_SUITE_P(Kernels, group, ::testing::ValuesIn(kEverySet), name_of_test)

}  // namespace headtorch::kernels::test
