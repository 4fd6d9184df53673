// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/server/router.h"
#include "edgewise/server/server_state.h"

namespace edgewise {

/// Adds /v1/translate, the interface with everything that a model says.
///
/// Fields: `text` (one or several), `source` (by default detected), `target`, `format` (text, html), `line_breaks`
/// (end, space), `alternatives`, `attention` (true: with attention weights), `token_ranges` (true: with the bytes of
/// each token), `stream`. The key is in the header `Authorization: Bearer KEY`. The response has `target` and
/// `translations`: for each text its `source`, `confidence` if the source is detected, `text`, `alternatives` and
/// `sentences`. A sentence has its bytes [begin, end) in the input and in the translated text, and the members of
/// translation_json.h. After two models, the input of a sentence is in the text between them, `intermediate`. The
/// ranges of tokens begin at the first byte of the sentence: `input_token_ranges` of a sentence, and `token_ranges` of
/// an output.
///
/// With `stream` true, the response is a stream of server-sent events: `sentence` with the members of
/// translation_json.h for each sentence as soon as it is translated, with the number of its `text` and its `number`
/// among the translated sentences of the text; then `result`, in which each translated sentence has its `number` in
/// place of what its event has; or `error` with its `status`.
void add_native(Router& router, ServerState& state);

}  // namespace edgewise
