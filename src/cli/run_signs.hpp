#pragma once

#include <string>
#include <string_view>

#include "src/cli/stored_run.hpp"
#include "src/probe/diagnosis.hpp"

namespace headtorch::cli {

/// What metrics.jsonl tells: the curve and the heads' signs at steps 0 and 150. Lines that are no such
/// records are passed over; a file that is not there tells nothing.  @throws DataError naming the first line
/// that is not JSON.
void read_metrics(std::string_view text, std::string_view file, probe::Signs& signs);

/// All signs of a stored run but those of its heads: what its files hold, and what its model shows.
/// @throws DataError for damaged files.
probe::Signs signs_of(const StoredRun& run);

}  // namespace headtorch::cli
