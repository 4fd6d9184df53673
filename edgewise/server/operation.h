// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/server/router.h"
#include "edgewise/server/server_state.h"

namespace edgewise {

/// Adds the endpoints of operators and tools: /health, whether the process answers; /ready, whether the server takes
/// more texts, or else status 503; /metrics, for Prometheus; /spec, the interfaces as OpenAPI, or as a page for
/// browsers.
void add_operation(Router& router, ServerState& state);

/// Returns whether a request asks for the state of the server: /health, /ready and /metrics are answered at all times.
bool is_probe(const HttpRequest& request);

}  // namespace edgewise
