// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/word_aligner.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"
#include "edgewise/translate/lexical_table.h"

namespace edgewise {
namespace {

/// Returns a word in small letters without the marks around it; a word of marks alone stays whole.
std::string word_key(std::string_view word) {
  std::size_t begin = word.size();
  std::size_t end = 0;
  for_each_code_point(word, [&](CodePoint point, std::size_t offset) {
    if (point.size == 0 || !is_word_point(point.value)) return;
    begin = std::min(begin, offset);
    end = offset + point.size;
  });
  return lower_case(begin < end ? word.substr(begin, end - begin) : word);
}

/// Numbers the different words of sentences, in the order in which they occur.
class WordNumbers {
 public:
  Tokens number(std::string_view sentence) {
    Tokens numbers;
    for (const std::string_view word : split_words(sentence)) {
      numbers.push_back(numbers_.emplace(word_key(word), size()).first->second);
    }
    return numbers;
  }

  std::int64_t size() const { return std::ssize(numbers_); }

 private:
  std::unordered_map<std::string, std::int64_t> numbers_;
};

double probability_of(const LexicalTable& table, std::int64_t input, std::int64_t output) {
  const std::span<const LexicalEntry> list = table.list(input);
  const auto found = std::ranges::lower_bound(list, static_cast<std::int32_t>(output), {}, &LexicalEntry::output);
  return found == list.end() || found->output != output ? 0 : found->probability;
}

/// Returns for each output word of a pair the number of the input word that most probably has this translation.
std::vector<std::size_t> choose_inputs(const LinkedSentences& pair, const LexicalTable& table) {
  std::vector<std::size_t> chosen;
  for (std::size_t output = 0; output < pair.output.size(); ++output) {
    const double place = static_cast<double>(output) / static_cast<double>(pair.output.size());
    std::size_t best = 0;
    double best_probability = -1;
    double best_distance = 0;
    for (std::size_t input = 0; input < pair.input.size(); ++input) {
      const double probability = probability_of(table, pair.input[input], pair.output[output]);
      const double distance = std::abs(static_cast<double>(input) / static_cast<double>(pair.input.size()) - place);
      if (probability < best_probability || (probability == best_probability && distance >= best_distance)) continue;
      best = input;
      best_probability = probability;
      best_distance = distance;
    }
    chosen.push_back(best);
  }
  return chosen;
}

void exchange_sides(std::vector<LinkedSentences>& pairs) {
  for (LinkedSentences& pair : pairs) std::swap(pair.input, pair.output);
}

std::vector<std::vector<std::size_t>> choose_all(const std::vector<LinkedSentences>& pairs, std::int64_t num_inputs,
                                                 std::int64_t iterations, const StopRequest* stop) {
  const LexicalTable table = estimate_lexical_table(pairs, num_inputs, iterations, stop);
  std::vector<std::vector<std::size_t>> chosen;
  chosen.reserve(pairs.size());
  for (const LinkedSentences& pair : pairs) {
    throw_if_set(stop);
    chosen.push_back(choose_inputs(pair, table));
  }
  return chosen;
}

}  // namespace

std::vector<std::vector<WordLink>> align_words(std::span<const std::string> inputs,
                                               std::span<const std::string> outputs, std::int64_t iterations,
                                               const StopRequest* stop) {
  check(inputs.size() == outputs.size(), "align_words: inputs are {} and outputs {}, needs as many", inputs.size(),
        outputs.size());
  WordNumbers input_words;
  WordNumbers output_words;
  std::vector<LinkedSentences> pairs;
  pairs.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pairs.push_back({.input = input_words.number(inputs[i]), .output = output_words.number(outputs[i])});
  }
  const auto input_of = choose_all(pairs, input_words.size(), iterations, stop);
  exchange_sides(pairs);
  const auto output_of = choose_all(pairs, output_words.size(), iterations, stop);

  std::vector<std::vector<WordLink>> links(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (input_of[i].empty()) continue;
    for (std::size_t input = 0; input < output_of[i].size(); ++input) {
      const std::size_t output = output_of[i][input];
      if (input_of[i][output] != input) continue;
      links[i].push_back({static_cast<std::int64_t>(input), static_cast<std::int64_t>(output)});
    }
  }
  return links;
}

}  // namespace edgewise
