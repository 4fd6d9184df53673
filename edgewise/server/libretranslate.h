// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/server/router.h"
#include "edgewise/server/server_state.h"

namespace edgewise {

/// Adds the interface of LibreTranslate 1.9, with its fields, error texts and status codes: /translate, /detect,
/// /languages, /frontend/settings, and /translate_file, which refuses files. Differences: a beam of one model limits
/// the alternatives; HTML keeps its entities, where LibreTranslate writes characters such as `<`, which end the text.
void add_libretranslate(Router& router, ServerState& state);

}  // namespace edgewise
