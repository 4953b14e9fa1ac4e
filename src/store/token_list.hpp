#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headtorch::store {

/// [samples][position].
using TokenList = std::vector<std::vector<std::string>>;

/// A list of texts or whole numbers (one sample), or a list of such lists.  @throws DataError naming `file`.
TokenList token_list(const nlohmann::json& list, std::string_view file);

/// A file of tokens: JSON as above, when its name ends in .json or its text is a JSON list; else a token a
/// line when there are `count` lines, else what stands between white space.  @throws DataError naming `file`.
TokenList read_token_list(std::string_view text, std::string_view file, std::size_t count);

}  // namespace headtorch::store
