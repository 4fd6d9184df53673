// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/lexical_table.h"

#include <algorithm>
#include <iterator>

#include "edgewise/base/sorting.h"

namespace edgewise {
namespace {

using TokenKey = std::uint64_t;  // an input token, and in the low 32 bits an output token

TokenKey token_key(std::int64_t input, std::int64_t output) {
  return static_cast<TokenKey>(input) << 32 | static_cast<std::uint32_t>(output);
}

/// Collects different keys in little more memory than they need.
class KeySet {
 public:
  void add(TokenKey key) {
    new_keys_.push_back(key);
    if (new_keys_.size() >= std::max(kFewest, keys_.size())) merge();
  }

  /// Returns the keys in ascending order.
  std::vector<TokenKey> take() {
    merge();
    return std::move(keys_);
  }

 private:
  static constexpr std::size_t kFewest = 1 << 20;

  void merge() {
    sort_unique(new_keys_);
    std::vector<TokenKey> merged;
    merged.reserve(keys_.size() + new_keys_.size());
    std::ranges::set_union(keys_, new_keys_, std::back_inserter(merged));
    keys_ = std::move(merged);
    new_keys_.clear();
  }

  std::vector<TokenKey> keys_;
  std::vector<TokenKey> new_keys_;
};

/// Makes a table of these keys; probabilities are 0.
LexicalTable table_of_keys(const std::vector<TokenKey>& keys, std::int64_t num_inputs) {
  LexicalTable table;
  table.offsets.resize(static_cast<std::size_t>(num_inputs) + 1);
  table.entries.reserve(keys.size());
  for (const TokenKey key : keys) {
    table.entries.push_back({static_cast<std::int32_t>(key & 0xFFFFFFFF), 0});
    ++table.offsets[(key >> 32) + 1];
  }
  for (std::size_t i = 1; i < table.offsets.size(); ++i) table.offsets[i] += table.offsets[i - 1];
  return table;
}

/// Returns the index of an entry, which the table has.
std::size_t find_entry(const LexicalTable& table, std::int64_t input, std::int64_t output) {
  const std::span<const LexicalEntry> list = table.list(input);
  const auto found = std::ranges::lower_bound(list, static_cast<std::int32_t>(output), {}, &LexicalEntry::output);
  return table.offsets[static_cast<std::size_t>(input)] + static_cast<std::size_t>(found - list.begin());
}

/// Sets the probabilities to the shares of each input token's counts.
void normalise(const std::vector<double>& counts, LexicalTable& table) {
  for (std::size_t input = 0; input + 1 < table.offsets.size(); ++input) {
    double sum = 0;
    for (std::size_t i = table.offsets[input]; i < table.offsets[input + 1]; ++i) sum += counts[i];
    for (std::size_t i = table.offsets[input]; i < table.offsets[input + 1]; ++i) {
      table.entries[i].probability = sum > 0 ? counts[i] / sum : 0;
    }
  }
}

/// Computes the expected counts of the entries, from the probabilities of `table`. The last input token of the table
/// stands for no input token, and is in each pair.
void add_expected_counts(const LinkedSentences& pair, const LexicalTable& table, std::vector<std::size_t>& places,
                         std::vector<double>& counts) {
  const auto none = static_cast<std::int64_t>(table.offsets.size()) - 2;
  for (const std::int64_t output : pair.output) {
    places.clear();
    for (const std::int64_t input : pair.input) places.push_back(find_entry(table, input, output));
    places.push_back(find_entry(table, none, output));
    double sum = 0;
    for (const std::size_t place : places) sum += table.entries[place].probability;
    if (sum <= 0) continue;
    for (const std::size_t place : places) counts[place] += table.entries[place].probability / sum;
  }
}

}  // namespace

LexicalTable count_lexical_links(std::span<const LinkedSentences> pairs, std::int64_t input_vocabulary) {
  const auto for_each_link = [&](const auto& body) {
    for (const LinkedSentences& pair : pairs) {
      for (const auto& [input, output] : pair.links) {
        body(pair.input.at(static_cast<std::size_t>(input)), pair.output.at(static_cast<std::size_t>(output)));
      }
    }
  };
  KeySet keys;
  for_each_link([&](std::int64_t input, std::int64_t output) { keys.add(token_key(input, output)); });
  LexicalTable table = table_of_keys(keys.take(), input_vocabulary);
  std::vector<double> counts(table.entries.size());
  for_each_link([&](std::int64_t input, std::int64_t output) { ++counts[find_entry(table, input, output)]; });
  normalise(counts, table);
  return table;
}

LexicalTable estimate_lexical_table(std::span<const LinkedSentences> pairs, std::int64_t input_vocabulary,
                                    std::int64_t iterations, const StopRequest* stop) {
  KeySet keys;
  for (const LinkedSentences& pair : pairs) {
    throw_if_set(stop);
    for (const std::int64_t output : pair.output) {
      for (const std::int64_t input : pair.input) keys.add(token_key(input, output));
      keys.add(token_key(input_vocabulary, output));
    }
  }
  LexicalTable table = table_of_keys(keys.take(), input_vocabulary + 1);
  std::vector<double> counts(table.entries.size(), 1);
  normalise(counts, table);
  std::vector<std::size_t> places;
  for (std::int64_t i = 0; i < iterations; ++i) {
    std::ranges::fill(counts, 0);
    for (const LinkedSentences& pair : pairs) {
      throw_if_set(stop);
      add_expected_counts(pair, table, places, counts);
    }
    normalise(counts, table);
  }
  table.offsets.pop_back();
  table.entries.resize(table.offsets.back());
  return table;
}

}  // namespace edgewise
