// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "edgewise/base/fields.h"

namespace edgewise {

/// For an option whose value is one of an enum's names: `option->transform(one_of<Precision>())`.
template <class Enum>
CLI::CheckedTransformer one_of() {
  std::map<std::string, Enum> by_name;
  for (const auto& [value, name] : enum_names(Enum{})) by_name.emplace(name, value);
  return CLI::CheckedTransformer(by_name);
}

}  // namespace edgewise
