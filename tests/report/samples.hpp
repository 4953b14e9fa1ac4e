#pragma once

#include <cairo.h>
#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/report/colour_map.hpp"

// Inputs for the tests of this layer, and a PNG reader to look at what was drawn.

namespace headtorch::report {

/// One layer, one sample; `values` are [heads, queries, keys], tokens are "t0", "t1", ... unless given.
inline AttentionMaps maps_of(std::int64_t heads, std::int64_t queries, std::int64_t keys,
                             std::vector<float> values, std::vector<std::string> tokens = {}) {
  if (tokens.empty()) {
    for (std::int64_t i = 0; i < std::max(queries, keys); ++i) {
      tokens.push_back(fmt::format("t{}", i));
    }
  }
  AttentionMaps maps;
  maps.task = "copy";
  maps.step = 600;
  maps.tokens = {std::move(tokens)};
  maps.layers = {{1, heads, queries, keys, std::move(values)}};
  return maps;
}

/// Case G13: lower triangular, not symmetric.
inline AttentionMaps g13_maps() {
  return maps_of(1, 3, 3, {1, 0, 0, 0.25F, 0.75F, 0, 0.2F, 0.3F, 0.5F}, {"A", "B", "C"});
}

/// Head h looks at the key (query + h) mod T, with all its weight.
inline AttentionMaps shifted_maps(std::int64_t heads, std::int64_t length) {
  std::vector<float> values;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j < length; ++j) {
        values.push_back(j == (i + h) % length ? 1.0F : 0.0F);
      }
    }
  }
  return maps_of(heads, length, length, std::move(values));
}

/// Case G15, but for the last two: what could break a format or a picture.
inline std::vector<std::string> hostile_tokens() {
  return {"a<b<c", "&",  "&amp;",  "\"",         "'",   "</script>", "<img src=x onerror=alert(1)>",
          "\n",    "\t", "\u200f", "\U0001F600", "a,b", "\r\n"};
}

struct Picture {
  int width = 0, height = 0;
  std::vector<Rgb> pixels;
  Rgb at(double x, double y) const {
    return pixels.at(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                     static_cast<std::size_t>(x));
  }
};

inline Picture read_png(const std::string& bytes) {
  std::string rest = bytes;
  cairo_surface_t* surface = cairo_image_surface_create_from_png_stream(
      [](void* closure, unsigned char* data, unsigned int length) {
        auto& source = *static_cast<std::string*>(closure);
        if (source.size() < length) {
          return CAIRO_STATUS_READ_ERROR;
        }
        std::memcpy(data, source.data(), length);
        source.erase(0, length);
        return CAIRO_STATUS_SUCCESS;
      },
      &rest);
  if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) {
    throw std::runtime_error("not a PNG");
  }
  Picture picture{cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface), {}};
  const int stride = cairo_image_surface_get_stride(surface);
  const unsigned char* data = cairo_image_surface_get_data(surface);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      std::uint32_t pixel = 0;
      std::memcpy(&pixel, data + y * stride + 4 * x, sizeof pixel);
      picture.pixels.push_back({static_cast<std::uint8_t>(pixel >> 16 & 0xff),
                                static_cast<std::uint8_t>(pixel >> 8 & 0xff),
                                static_cast<std::uint8_t>(pixel & 0xff)});
    }
  }
  cairo_surface_destroy(surface);
  return picture;
}

}  // namespace headtorch::report
