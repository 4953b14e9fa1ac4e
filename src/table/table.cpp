#include "src/table/table.hpp"

namespace headtorch::table {}
