// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/loss/vocabulary_tile.h"

namespace edgewise::kernels::reference {

/// kernels::see_tile in plain loops.
void see_tile(const VocabularyTile& p);

}  // namespace edgewise::kernels::reference
