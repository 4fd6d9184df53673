// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/fields.h"
#include "edgewise/base/utf8.h"

namespace edgewise {

/// For an option whose value is one of an enum's names: `option->transform(one_of<Precision>())`.
template <class Enum>
CLI::Validator one_of() {
  const auto turn_into_number = [](std::string& text) -> std::string {
    std::vector<std::string_view> names;
    for (const auto& [value, name] : enum_names(Enum{})) {
      if (text == name) {
        text = std::to_string(static_cast<int>(value));
        return "";
      }
      names.push_back(name);
    }
    return fmt::format("{} is none of {}", in_quotes(text), fmt::join(names, ", "));
  };
  return CLI::Validator(turn_into_number, "");
}

}  // namespace edgewise
