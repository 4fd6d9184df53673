// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/translate/model_files.h"
#include "edgewise/viz/tree_picture.h"

namespace edgewise {

struct BeamTreeOptions {
  std::int64_t beam = 4;
  std::int64_t cut = 2;  // continuations shown of each step that were not taken, the likeliest
};

/// What `edgewise translate --beam N --nbest N` searches for a sentence: every hypothesis that the model was asked
/// about, those that others pushed out among them. Throws Error for a sentence of no tokens, or of more than the model
/// was trained with; errors begin with `caller`.
TreeDrawing beam_tree(ModelFiles model, const std::string& sentence, const BeamTreeOptions& options,
                      std::string_view caller);

}  // namespace edgewise
