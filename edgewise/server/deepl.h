// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/server/router.h"
#include "edgewise/server/server_state.h"

namespace edgewise {

/// Adds the interface of DeepL's API, version 2: /v2/translate, /v2/languages and /v2/usage. A formality that must be
/// followed, a glossary and tag_handling=xml get status 400; context, preferred formality and preserve_formatting have
/// no effect. /v2/usage counts the characters of all clients since the server's start.
void add_deepl(Router& router, ServerState& state);

}  // namespace edgewise
