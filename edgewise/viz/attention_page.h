// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/viz/attention_maps.h"

namespace edgewise {

/// Words that belong together, (input, output), counted from 0.
using WordLinks = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// What a map says of which words translate each other.
struct FoundAlignment {
  WordLinks links;
  std::optional<double> error_rate = {};         // of this pair
  std::optional<double> corpus_error_rate = {};  // of all pairs
};

/// Of maps whose rows are output and whose columns are input.
struct AlignmentReport {
  std::vector<std::string> input_words;
  std::vector<std::string> output_words;
  std::vector<std::int64_t> word_of_row;  // -1: of none
  std::vector<std::int64_t> word_of_column;
  WordLinks sure;                     // as people say; empty where nobody was asked
  WordLinks possible;                 // the sure ones among them
  std::vector<FoundAlignment> found;  // one each of all_choices(maps)
  std::int64_t corpus_pairs = 0;      // behind the corpus_error_rate
  std::int64_t left_out = 0;          // pairs that could not be read
};

struct AttentionPage {
  std::string title;
  std::string input;
  std::string output;
  std::vector<AttentionMaps> maps;
  std::size_t open_maps = 0;  // shown first
  MapChoice open_map = {};
  std::size_t aligned_maps = 0;  // whose alignment it is
  std::optional<AlignmentReport> alignment = {};
};

/// A page to look around in: all maps small, one large with its values, or as flow from token to token; by pointer, by
/// keyboard, by ear. Weights are shown to four digits.
std::string html_of(const AttentionPage& page);

/// The same as numbers.
std::string json_of(const AttentionPage& page);

}  // namespace edgewise
