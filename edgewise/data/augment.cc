// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/augment.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

std::string title_case(std::string_view text) {
  std::string result;
  bool is_inside = false;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (point.size == 0) {
      result += text[offset];
      return;
    }
    append_utf8(result, is_inside ? point.value : titlecase_letter(point.value));
    is_inside = is_word_point(point.value) || (is_inside && (point.value == U'\'' || point.value == U'’'));
  });
  return result;
}

/// Returns the text without the stop marks at its end; the whole text if nothing is before them.
std::string_view without_stop(std::string_view text) {
  std::string_view rest = strip_trailing_space(text);
  while (!rest.empty()) {
    const CodePoint last = text_point_before(rest, rest.size());
    if (!is_stop_mark(last.value)) break;
    rest.remove_suffix(last.size);
  }
  rest = strip_trailing_space(rest);
  return rest.empty() ? text : rest;
}

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> points;
  for_each_code_point(text, [&](CodePoint point, std::size_t /*offset*/) {
    points.push_back(point.size > 0 ? point.value : kReplacementCharacter);
  });
  return points;
}

/// Swaps two neighbouring letters, leaves one out, or doubles one. The first letter stays, as in most typos of people.
void add_typo(std::vector<char32_t>& word, RandomStream& random) {
  const auto place = static_cast<std::ptrdiff_t>(1 + random.next_below(word.size() - 2));
  const auto letter = word.begin() + place;
  switch (random.next_below(3)) {
    case 0:
      std::swap(letter[0], letter[1]);
      break;
    case 1:
      word.erase(letter);
      break;
    default:
      word.insert(letter, *letter);
  }
}

std::string with_typos(std::string_view text, RandomStream& random) {
  constexpr std::size_t kWordsPerTypo = 8;
  constexpr std::size_t kMinLetters = 4;
  const std::vector<std::string_view> words = split_words(text);
  std::vector<std::size_t> eligible;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::vector<char32_t> points = code_points(words[i]);
    if (points.size() >= kMinLetters && std::ranges::all_of(points, is_letter)) eligible.push_back(i);
  }
  random.shuffle(eligible);
  eligible.resize(std::min(eligible.size(), words.size() / kWordsPerTypo + 1));
  std::ranges::sort(eligible);

  std::string result;
  std::size_t copied = 0;
  for (const std::size_t i : eligible) {
    const auto begin = static_cast<std::size_t>(words[i].data() - text.data());
    result += text.substr(copied, begin - copied);
    std::vector<char32_t> word = code_points(words[i]);
    add_typo(word, random);
    for (const char32_t point : word) append_utf8(result, point);
    copied = begin + words[i].size();
  }
  return result += text.substr(copied);
}

}  // namespace

AugmentedPair augment_pair(std::string_view input, std::string_view output, const AugmentOptions& options,
                           std::uint64_t seed) {
  RandomStream random(seed);
  const double stop = random.uniform();
  const double typos = random.uniform();
  const double capitals = random.uniform();
  if (stop < options.no_stop) {
    const std::string_view short_input = without_stop(input);
    const std::string_view short_output = without_stop(output);
    if (short_input.size() < input.size() && short_output.size() < output.size()) {
      input = short_input;
      output = short_output;
    }
  }
  AugmentedPair pair = {std::string(input), std::string(output)};
  if (typos < options.typos) pair.input = with_typos(pair.input, random);
  if (capitals < options.upper_case) return {upper_case(pair.input), upper_case(pair.output)};
  if (capitals < options.upper_case + options.title_case) return {title_case(pair.input), title_case(pair.output)};
  return pair;
}

}  // namespace edgewise
