#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "src/core/attention_maps.hpp"

// Weights that other programs wrote (docs/report_page.md says how to save them).

namespace headtorch::store {

/// Reads attention weights from a .npy, .json or .safetensors file, as float32.
///
/// Shapes: [queries, keys], [heads, queries, keys], [layers, heads, queries, keys] or
/// [layers, samples, heads, queries, keys]. A safetensors file with several tensors holds one a layer, each
/// [heads, queries, keys] or [samples, heads, queries, keys], in the order of their names with numbers as
/// numbers. JSON is a nested list, or an object whose "attention" is one (CircuitsVis; its "tokens" are
/// taken) or a list with one object whose "attn" is one (BertViz; its "left_text" are the tokens); null is
/// NaN.
///
/// @param tokens_path empty: none, and positions are numbered. Else a JSON list of texts (a list of lists:
/// one a sample), or a text file with a token a line or tokens between white space, one for each key. The
/// maps are causal when all weights above the diagonal are exactly 0; rows and columns of zeros at the end
/// are padding; they and take the file's name as task.
/// @throws InputMissing, or DataError naming the file and what is wrong with it.
AttentionMaps read_foreign_weights(const std::filesystem::path& path,
                                   const std::filesystem::path& tokens_path = {});

/// A file, or a name that only such files have, so that a missing one is said to be missing and not taken for
/// a run.
bool is_weights_path(const std::filesystem::path& path);

/// What attention weights cannot be, in one line for a person: numbers that are not finite or outside 0..1,
/// rows whose sum is not 1 within 0.01 (rows of zeros see nothing and are fine). None: all is well.
std::optional<std::string> doubts_about(const AttentionMaps& maps);

}  // namespace headtorch::store
