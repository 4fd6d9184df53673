// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/server/model_registry.h"
#include "edgewise/server/server_options.h"

namespace edgewise {

/// Returns the loader of the models of a server: model directories, translated with `translator`, with the queue and as
/// many outputs as `server` says.
ModelLoader make_model_loader(const TranslatorOptions& translator, const ServerOptions& server);

}  // namespace edgewise
