// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace edgewise {

/// A file of viz/pages, a script or a style, which the build puts into the program. Throws Error for a name that there
/// is not.
std::string_view page_file(std::string_view name);

}  // namespace edgewise
