// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/search/search.h"

namespace edgewise {

/// Throws Error unless a search over a vocabulary of this size can follow the options.
void check_options(const SearchOptions& options, std::int64_t vocabulary_size);

}  // namespace edgewise
