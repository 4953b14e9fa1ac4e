#include <sys/syscall.h>
#include <unistd.h>

#include "src/kernels/bfloat16/layout.hpp"

// Products by AMX: a tile holds 16 rows of 64 bytes, and one instruction multiplies 16 x 32 by 32 x 16
// numbers.

namespace headtorch::kernels::HEADTORCH_SET {
namespace {

constexpr Index kTile = 16;

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Two by two tiles of C: 0 and 1 above 2 and 3.
struct Block {
  Index depth;     // padded
  const Pairs* a;  // 32 rows
  const Pairs* b;  // a panel
  float* c;        // of the block
  Index c_stride;
  Index rows, columns;  // of C that exist, up to 32 each
};

HEADTORCH_INLINE void multiply_tiles(const Block& block) {
  const auto a_bytes = static_cast<std::size_t>(block.depth) * 2,
             b_bytes = static_cast<std::size_t>(kPanel) * 4;
  const Pairs* a = block.a;
  const Pairs* b = block.b;
  const Index below = kTile * block.depth / 2;
  for (Index k = 0; k < block.depth; k += kDepthBlock) {
    _tile_loadd(4, a, a_bytes);
    _tile_loadd(6, b, b_bytes);
    _tile_loadd(7, b + kTile, b_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if (block.rows > kTile) {
      _tile_loadd(5, a + below, a_bytes);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    a += kDepthBlock / 2;
    b += kDepthBlock / 2 * kPanel;
  }
}

/// C = start + A B for one block. Whole ones go between tiles and C directly, others through a copy.
HEADTORCH_INLINE void multiply_block(const Block& block, Into into, const float* bias) {
  alignas(64) float copy[2 * kTile * kPanel];
  const bool whole = block.rows == 2 * kTile && block.columns == kPanel;
  float* c = whole ? block.c : copy;
  const Index stride = whole ? block.c_stride : kPanel;
  if (!whole && (into == Into::kAdd || bias != nullptr)) {
    for (Index row = 0; row < block.rows; ++row) {
      const float* from = into == Into::kAdd ? block.c + row * block.c_stride : bias;
      for (Index v = 0; v < kPanel; v += kLanes) {
        if (v < block.columns) store(copy + row * kPanel + v, load_up_to(from + v, block.columns - v));
      }
    }
  }
  const auto bytes = static_cast<std::size_t>(stride) * sizeof(float);
  float* below = c + kTile * stride;
  if (into == Into::kAdd || (bias != nullptr && !whole)) {
    _tile_loadd(0, c, bytes);
    _tile_loadd(1, c + kTile, bytes);
    _tile_loadd(2, below, bytes);
    _tile_loadd(3, below + kTile, bytes);
  } else if (bias != nullptr) {
    _tile_loadd(0, bias, 0);
    _tile_loadd(1, bias + kTile, 0);
    _tile_loadd(2, bias, 0);
    _tile_loadd(3, bias + kTile, 0);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  multiply_tiles(block);
  _tile_stored(0, c, bytes);
  _tile_stored(1, c + kTile, bytes);
  _tile_stored(2, below, bytes);
  _tile_stored(3, below + kTile, bytes);
  if (whole) return;
  for (Index row = 0; row < block.rows; ++row) {
    for (Index v = 0; v < block.columns; v += kLanes)
      store_up_to(block.c + row * block.c_stride + v, load(copy + row * kPanel + v), block.columns - v);
  }
}

void multiply_blocks(const RoundedProduct& in) {
  const TileConfig config;
  _tile_loadconfig(&config);
  for (Index column = 0; column < in.columns; column += kPanel) {
    for (Index row = 0; row < in.rows; row += 2 * kTile) {
      multiply_block({in.depth, in.a + row * in.depth / 2, in.b + column * in.depth / 2,
                      in.c + row * in.c_stride + column, in.c_stride, smaller(2 * kTile, in.rows - row),
                      smaller(kPanel, in.columns - column)},
                     in.into, in.bias == nullptr ? nullptr : in.bias + column);
    }
  }
  _tile_release();
}

}  // namespace

/// Linux hands tiles out on demand: asks once for the process.
bool is_allowed() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  static const bool allowed = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return allowed;
}

extern const Products products;
const Products products = rounded_products<multiply_blocks>("AMX in bfloat16");

}  // namespace headtorch::kernels::HEADTORCH_SET
