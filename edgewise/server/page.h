// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/server/router.h"
#include "edgewise/server/server_state.h"

namespace edgewise {

/// Adds the page at `/`, which translates what a person types, and the files that the page loads: the files of the
/// folder page/, of which docs.html is at `/docs`, and /page/settings.json with `alternatives`, the most alternatives
/// of a request. The page uses /languages, /frontend/settings and /v1/translate.
///
/// A Content-Security-Policy limits the page to files and requests of this server. Browsers check on each visit that
/// their copy of a file is current, by its ETag; an unchanged file is answered with status 304.
void add_page(Router& router, ServerState& state);

/// Answers with the page that describes the interfaces, which is also at `/docs`.
void respond_docs(HttpExchange& exchange);

}  // namespace edgewise
