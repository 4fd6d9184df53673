// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// Returns the text of special:model.yml for a model whose vocabularies are those of Marian.
std::string write_marian_options(const TransformerOptions& options);

}  // namespace edgewise
