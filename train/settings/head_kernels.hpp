#pragma once

#include <string>
#include <string_view>

#include "src/nn/options.hpp"

// An element of `head_kernels`: "L0H1 gaussian slope -1 offset 15 bandwidth 0.4 eps 0.02", a head and the
// kernel in its place (src/core/head_kernel.hpp). On the command line several are separated by commas.

namespace headtorch::train {

inline constexpr std::string_view kNoHeadKernels = "none";  ///< the flag's text for an empty list
inline constexpr std::string_view kHeadKernelsAllowed =
    "a list of LxHy KERNEL, in an encoder-decoder of ExHy, DxHy or CxHy (as a flag: with commas between, or "
    "none); KERNEL is "
    "uniform, one-key key K, "
    "gaussian slope A offset B bandwidth H, "
    "same-token, first-same-token, last-same-token or induction, all but uniform with eps E from 0 to 1";

/// Whether the text has the form of an element; its numbers may still be ones that are not allowed.
bool reads_as_head_kernel(std::string_view text);
/// What is wrong with an element; empty when nothing is.
std::string head_kernel_fault(std::string_view text);
/// @throws ConfigError saying what head_kernel_fault says.
nn::HeadKernelPlace parse_head_kernel(std::string_view text);
/// Reads back the same.
std::string head_kernel_text(const nn::HeadKernelPlace& place);

}  // namespace headtorch::train
