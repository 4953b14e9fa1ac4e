#pragma once

#include <vector>

#include "src/probe/head_reader.hpp"

namespace headtorch::test {

inline std::vector<probe::HeadReport> read(const AttentionMaps& fit, const AttentionMaps& judge,
                                           const probe::HeadReaderOptions& options = {}) {
  probe::HeadReader reader(options);
  reader.fit(fit);
  reader.judge(judge);
  return reader.reports();
}

inline std::vector<probe::HeadReport> read(const AttentionMaps& fit,
                                           const probe::HeadReaderOptions& options = {}) {
  probe::HeadReader reader(options);
  reader.fit(fit);
  return reader.reports();
}

inline HeadKernel gaussian(double slope, double offset, double bandwidth, double eps) {
  return {.family = KernelFamily::kGaussian,
          .slope = slope,
          .offset = offset,
          .bandwidth = bandwidth,
          .eps = eps};
}

inline HeadKernel tokens(KernelFamily family, double eps) { return {.family = family, .eps = eps}; }

}  // namespace headtorch::test
