// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/base/config/fields.h"

namespace edgewise {

/// Returns all values of an enum that a config can name.
template <class Enum>
std::vector<Enum> all_of() {
  std::vector<Enum> values;
  for (const auto& named : enum_names(Enum{})) values.push_back(named.value);
  return values;
}

}  // namespace edgewise
