// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/viz/attention_maps.h"

namespace edgewise {

/// Pairs (input word, output word) of aligned words, counted from 0.
using WordLinks = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The word alignment that one attention map gives.
struct MapAlignment {
  WordLinks links;
  std::optional<double> error_rate = {};         // alignment error rate of this sentence pair, 0 to 1
  std::optional<double> corpus_error_rate = {};  // error rate over all pairs that have this map
  std::int64_t counted_pairs = 0;                // number of these pairs
};

/// The word alignments of maps whose rows are output tokens and whose columns are input tokens.
struct AlignmentReport {
  std::vector<std::string> input_words;
  std::vector<std::string> output_words;
  std::vector<std::int64_t> word_of_row;     // word of each row's token; -1: the token belongs to no word
  std::vector<std::int64_t> word_of_column;  // word of each column's token, or -1
  WordLinks sure;                            // gold alignment; empty if there is none
  WordLinks possible;                        // gold alignment, including the sure links
  std::vector<MapAlignment> map_alignments;  // one per element of list_map_indices(AttentionPage::maps[aligned_kind])
  std::int64_t corpus_pairs = 0;             // pairs that were aligned; a map that some pairs lack counts fewer
  std::int64_t skipped_pairs = 0;  // pairs that are too long, and pairs with a token that is not part of a word
};

/// The contents of the page of a sentence pair's attention. `maps` is not empty.
struct AttentionPage {
  std::string title;
  std::string input;
  std::string output;
  std::vector<AttentionMaps> maps;
  std::size_t initial_kind = 0;  // index in `maps`: the kind of attention that is displayed first
  MapIndex initial_map = {};     // the map that is large at first
  std::size_t aligned_kind = 0;  // index in `maps`: the kind of attention that `alignment` belongs to
  std::optional<AlignmentReport> alignment = {};
};

/// Returns an interactive page: all maps in small, and one map in large, as a heat map with values or as lines between
/// tokens. It works with a pointer, a keyboard or a screen reader. Weights are rounded to four decimals.
std::string html_of(const AttentionPage& page);

/// Returns the weights and alignments of the page as JSON. Weights are not rounded.
std::string json_of(const AttentionPage& page);

}  // namespace edgewise
