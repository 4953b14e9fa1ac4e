#include "train/engine/engine.hpp"

#include <utility>

namespace headtorch::train::engine {

Engine::Engine(Model model, const kernels::Kernels& kernels, const kernels::Products& products,
               std::int64_t shares)
    : model_(std::move(model)), products_(products), weights_(model_, products) {
  for (std::int64_t i = 0; i < shares; ++i)
    shares_.push_back(std::make_unique<Share>(model_, weights_, kernels, products));
}

}  // namespace headtorch::train::engine
