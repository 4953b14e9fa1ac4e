#include "src/core/philox.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

// One function body, compiled for each instruction set and chosen once at start; the arithmetic is on
// integers, so every version gives the same bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define HEADTORCH_EACH_PROCESSOR __attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
#else
#define HEADTORCH_EACH_PROCESSOR
#endif

namespace headtorch {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;
constexpr int kBlocks = 16;  // blocks made at once: one vector of 32-bit lanes on AVX-512

struct Blocks {
  alignas(64) std::uint32_t word[4][kBlocks];
};

inline __attribute__((always_inline)) void philox_blocks(Blocks& out, std::uint64_t first_block,
                                                         std::uint64_t stream, std::uint64_t key) {
  for (int lane = 0; lane < kBlocks; ++lane) {
    const std::uint64_t block = first_block + static_cast<std::uint64_t>(lane);
    out.word[0][lane] = static_cast<std::uint32_t>(block);
    out.word[1][lane] = static_cast<std::uint32_t>(block >> 32);
    out.word[2][lane] = static_cast<std::uint32_t>(stream);
    out.word[3][lane] = static_cast<std::uint32_t>(stream >> 32);
  }
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    for (int lane = 0; lane < kBlocks; ++lane) {
      const std::uint64_t product0 = std::uint64_t{kMultiplier0} * out.word[0][lane];
      const std::uint64_t product1 = std::uint64_t{kMultiplier1} * out.word[2][lane];
      out.word[0][lane] = static_cast<std::uint32_t>(product1 >> 32) ^ out.word[1][lane] ^ key0;
      out.word[2][lane] = static_cast<std::uint32_t>(product0 >> 32) ^ out.word[3][lane] ^ key1;
      out.word[1][lane] = static_cast<std::uint32_t>(product1);
      out.word[3][lane] = static_cast<std::uint32_t>(product0);
    }
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
}

/// Element index within 8 * kBlocks -> its 16 random bits: block-major, words in order, low half first.
inline std::uint32_t decision(const Blocks& blocks, std::uint64_t element) {
  const std::uint32_t word = blocks.word[(element % 8) / 2][element / 8];
  return element % 2 == 0 ? word & 0xffffu : word >> 16;
}

HEADTORCH_EACH_PROCESSOR
void fill_whole_groups(float* mask, std::size_t groups, std::uint32_t threshold, float scale,
                       std::uint64_t key, std::uint64_t stream, std::uint64_t first_block) {
  Blocks blocks;
  for (std::size_t group = 0; group < groups; ++group) {
    philox_blocks(blocks, first_block + group * kBlocks, stream, key);
    float* out = mask + group * 8 * kBlocks;
    for (int lane = 0; lane < kBlocks; ++lane) {
      for (int word = 0; word < 4; ++word) {
        const std::uint32_t bits = blocks.word[word][lane];
        out[lane * 8 + word * 2] = (bits & 0xffffu) >= threshold ? scale : 0.0F;
        out[lane * 8 + word * 2 + 1] = (bits >> 16) >= threshold ? scale : 0.0F;
      }
    }
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {
        static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
        static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

Random::Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t substream)
    : key_(seed),
      counter_{0, static_cast<std::uint32_t>(substream), static_cast<std::uint32_t>(stream),
               static_cast<std::uint32_t>(stream >> 32) ^ static_cast<std::uint32_t>(substream >> 32)} {}

std::uint32_t Random::word() {
  if (used_ == 4) {
    block_ = philox4x32(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

std::int64_t Random::below(std::int64_t n) {
  const auto range = static_cast<std::uint64_t>(n);
  const std::uint64_t limit =
      (std::uint64_t{1} << 63) / range * range;  // reject above, so that each value is equally likely
  while (true) {
    const std::uint64_t high = word(), low = word();
    const std::uint64_t bits = (high << 32 | low) >> 1;
    if (bits < limit) return static_cast<std::int64_t>(bits % range);
  }
}

double Random::uniform() {
  const std::uint64_t high = word(), low = word();
  return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
}

void Random::shuffle(std::span<std::int64_t> values) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
  }
}

std::uint32_t dropout_threshold(double p) { return static_cast<std::uint32_t>(std::lround(p * 65536.0)); }

float dropout_scale(std::uint32_t threshold) {
  return threshold >= 65536 ? 0.0F : static_cast<float>(65536.0 / (65536.0 - threshold));
}

void fill_dropout_mask(std::span<float> mask, double p, std::uint64_t key, std::uint64_t stream,
                       std::uint64_t first_element) {
  const std::uint32_t threshold = dropout_threshold(p);
  const float scale = dropout_scale(threshold);
  constexpr std::uint64_t kGroup = 8 * kBlocks;

  std::size_t done = 0;
  const auto fill_slowly = [&](std::size_t end) {
    Blocks blocks;
    while (done < end) {
      const std::uint64_t element = first_element + done, group = element / kGroup;
      philox_blocks(blocks, group * kBlocks, stream, key);
      const std::size_t stop = std::min<std::size_t>(end, done + (kGroup - element % kGroup));
      for (; done < stop; ++done) {
        mask[done] = decision(blocks, (first_element + done) % kGroup) >= threshold ? scale : 0.0F;
      }
    }
  };
  fill_slowly(std::min<std::size_t>(mask.size(), (kGroup - first_element % kGroup) % kGroup));
  const std::size_t groups = (mask.size() - done) / kGroup;
  fill_whole_groups(mask.data() + done, groups, threshold, scale, key, stream, (first_element + done) / 8);
  done += groups * kGroup;
  fill_slowly(mask.size());
}

}  // namespace headtorch
