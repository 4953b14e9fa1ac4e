#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/table/table.hpp"
#include "train/settings/config.hpp"

namespace headtorch::train {

struct RowPredictions {
  std::string target;
  std::vector<std::int64_t> lines;  ///< of the new file; of a series: of the newest lag
  std::vector<double> values;       ///< in original units
};

/// What a trained model says to rows of another file.  `model` is a checkpoint's model.safetensors; the file
/// it learned from is read again.  @throws as tasks::new_rows; DataError when the model does not fit it.
RowPredictions predict_rows(const RunConfig& config, std::string_view model, const table::Table& table,
                            table::Missing missing);

}  // namespace headtorch::train
