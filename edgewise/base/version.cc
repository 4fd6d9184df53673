// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/version.h"

namespace edgewise {

std::string_view version() { return EDGEWISE_VERSION; }

}  // namespace edgewise
