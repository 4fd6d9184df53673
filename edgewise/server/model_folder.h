// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/server/served_model.h"

namespace edgewise {

/// Returns the models in a folder, by their names: each of its folders, unless the name begins with a dot. A folder
/// that is named by languages, such as en-de, has these languages, another one all languages that its model has. Throws
/// Error for a folder that cannot be read.
std::vector<ModelSpec> list_models(const std::string& folder);

}  // namespace edgewise
