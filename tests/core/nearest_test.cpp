#include "src/core/nearest.hpp"

#include <gtest/gtest.h>

namespace headtorch {
namespace {

const std::vector<std::string> kKnown = {"n_heads", "n_layers", "lr", "min_lr", "seed"};

TEST(Nearest, finds_what_was_meant) {
  EXPECT_EQ(nearest("n_head", kKnown), "n_heads");
  EXPECT_EQ(nearest("heads", kKnown), "n_heads");
  EXPECT_EQ(nearest("sede", kKnown), "seed");
  EXPECT_EQ(nearest("lr", kKnown), "lr");
  EXPECT_EQ(nearest("n_layer", kKnown), "n_layers");
}

TEST(Nearest, is_silent_when_nothing_is_near) {
  EXPECT_EQ(nearest("bandwidth", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kKnown), "");
  EXPECT_EQ(nearest("lr", {}), "");
}

}  // namespace
}  // namespace headtorch
