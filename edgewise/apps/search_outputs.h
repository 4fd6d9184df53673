// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "edgewise/models/transformer.h"
#include "edgewise/search/search.h"

namespace edgewise {

/// The best output that a search finds for each input, without padding and unknown tokens. An empty input gets an
/// empty output.
std::vector<Tokens> search_outputs(const Transformer& transformer, std::span<const Tokens> inputs,
                                   const SearchOptions& options);

}  // namespace edgewise
