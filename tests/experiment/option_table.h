// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace edgewise {

using Settings = std::vector<std::string>;  // section.option=value

/// An option of a config with a value other than its default, and settings with which this value changes a run.
struct OptionRow {
  std::string option;
  std::string value;
  Settings settings;
  // Whether the option may have no effect and no error elsewhere, because its effect depends on data or losses.
  bool depends_on_data = false;
};

/// Returns a row for each option of a config.
const std::vector<OptionRow>& option_rows();

/// Settings of short runs: on letters, and on the files that ShortRuns writes: of sentence pairs, and of a text for a
/// language model.
const Settings& letter_settings();
const Settings& text_settings();
const Settings& language_settings();

Settings operator+(Settings left, const Settings& right);

}  // namespace edgewise
