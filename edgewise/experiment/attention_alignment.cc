// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/attention_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "edgewise/base/error.h"
#include "edgewise/text/line_reader.h"

namespace edgewise {
namespace {

/// A sentence's words, and for each token of it the word that it is of.
struct Words {
  std::vector<std::string> words;
  std::vector<std::int64_t> of_tokens;
};

std::vector<std::string> split_at_spaces(std::string_view sentence) {
  std::vector<std::string> words;
  for (std::size_t begin = sentence.find_first_not_of(' '); begin != std::string_view::npos;) {
    const std::size_t end = std::min(sentence.find(' ', begin), sentence.size());
    words.emplace_back(sentence.substr(begin, end - begin));
    begin = sentence.find_first_not_of(' ', end);
  }
  return words;
}

/// None where the sentence's tokens are not those of its words, one after the other.
std::optional<Words> words_of(const Vocabulary& vocabulary, std::string_view sentence,
                              std::span<const std::string> tokens) {
  Words found{.words = split_at_spaces(sentence), .of_tokens = {}};
  std::vector<std::string> of_words;
  for (std::size_t word = 0; word < found.words.size(); ++word) {
    for (const std::int64_t token : vocabulary.encode(found.words[word])) {
      of_words.emplace_back(vocabulary.token_text(token));
      found.of_tokens.push_back(static_cast<std::int64_t>(word));
    }
  }
  if (!std::ranges::equal(of_words, tokens)) return std::nullopt;
  return found;
}

/// Each token as a word of its own.
Words tokens_as_words(std::span<const std::string> tokens) {
  Words found{.words = {tokens.begin(), tokens.end()}, .of_tokens = {}};
  for (std::size_t i = 0; i < found.words.size(); ++i) found.of_tokens.push_back(static_cast<std::int64_t>(i));
  return found;
}

struct WordPair {
  Words input;
  Words output;
};

/// A map's tokens, without the end of the sentence.
struct TokenTexts {
  std::span<const std::string> input;
  std::span<const std::string> output;
};

TokenTexts tokens_of(const TranslationModel& model, const AttentionMaps& cross) {
  const std::span<const std::string> columns(cross.columns);
  const std::span<const std::string> rows(cross.rows);
  return {columns.first(columns.size() - (model.experiment.data.end_input ? 1 : 0)), rows.first(rows.size() - 1)};
}

std::optional<WordPair> words_of(const TranslationModel& model, std::string_view input, std::string_view output,
                                 const TokenTexts& tokens) {
  const auto of_input = words_of(*model.vocabularies.input, input, tokens.input);
  const auto of_output = words_of(*model.vocabularies.output, output, tokens.output);
  if (!of_input || !of_output) return std::nullopt;
  return WordPair{*of_input, *of_output};
}

std::vector<WordLink> links_of(const AttentionMaps& cross, const MapChoice& choice, const WordPair& words) {
  const std::vector<float> weights = weights_of(cross, choice);
  const auto columns = static_cast<std::ptrdiff_t>(cross.columns.size());
  std::vector<WordLink> links;
  for (std::size_t token = 0; token < words.output.of_tokens.size(); ++token) {
    const auto row = weights.begin() + static_cast<std::ptrdiff_t>(token) * columns;
    const auto looked_at = static_cast<std::size_t>(std::max_element(row, row + columns) - row);
    if (looked_at >= words.input.of_tokens.size()) continue;  // the end token
    links.push_back({words.input.of_tokens[looked_at], words.output.of_tokens[token]});
  }
  std::ranges::sort(links);
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

WordLinks as_pairs(const std::vector<WordLink>& links) {
  WordLinks pairs;
  for (const WordLink& link : links) pairs.emplace_back(link.input, link.output);
  return pairs;
}

bool fits(const TranslationModel& model, const Vocabulary& vocabulary, std::string_view sentence) {
  const std::int64_t most = model.experiment.data.max_length;
  const std::ptrdiff_t tokens = std::ssize(vocabulary.encode(sentence));
  return tokens > 0 && (most == 0 || tokens <= most);
}

/// Of cross-attention; none of a pair that the model cannot read.
std::optional<AttentionMaps> maps_of(const TranslationModel& model, const std::string& input,
                                     const std::string& output) {
  const Vocabularies& vocabularies = model.vocabularies;
  if (!fits(model, *vocabularies.input, input) || !fits(model, *vocabularies.output, output)) return std::nullopt;
  return attention_maps(model, encode_pair(model, input, output, "align_words"))[kCrossMaps];
}

/// Those of word_of of a map's tokens, the end token, which is of no word, among them.
std::vector<std::int64_t> with_end(std::vector<std::int64_t> of_tokens, std::size_t count) {
  of_tokens.resize(count, -1);
  return of_tokens;
}

void add_error_rates(const TranslationModel& model, const AlignmentPairs& pairs, AlignmentReport& report) {
  std::vector<AlignmentErrors> errors(report.found.size());
  for (std::size_t i = 0; i < pairs.inputs.size(); ++i) {
    const std::optional<AttentionMaps> cross = maps_of(model, pairs.inputs[i], pairs.outputs[i]);
    const auto words =
        cross ? words_of(model, pairs.inputs[i], pairs.outputs[i], tokens_of(model, *cross)) : std::nullopt;
    if (!words) {
      ++report.left_out;
      continue;
    }
    const std::vector<MapChoice> choices = all_choices(*cross);
    // Of a Universal Transformer, sentences differ in steps: those behind the last count for the mean alone.
    for (std::size_t map = 0; map < std::min(choices.size(), errors.size()); ++map) {
      errors[map].add(links_of(*cross, choices[map], *words), pairs.gold[i]);
    }
    ++report.corpus_pairs;
  }
  for (std::size_t map = 0; map < errors.size(); ++map) report.found[map].corpus_error_rate = errors[map].rate();
}

}  // namespace

AlignmentPairs read_alignment_pairs(const std::string& file, std::string_view caller) {
  constexpr std::string_view kBetween = " ||| ";
  LineReader reader(file, {.caller = std::string(caller)});
  AlignmentPairs pairs;
  for (std::string line; reader.next(line);) {
    const std::size_t middle = line.find(kBetween);
    check(middle != std::string::npos && line.find(kBetween, middle + 1) == std::string::npos,
          "{}: {}:{} is no pair, needs `input ||| output`", caller, reader.path(), reader.line_number());
    pairs.inputs.push_back(line.substr(0, middle));
    pairs.outputs.push_back(line.substr(middle + kBetween.size()));
  }
  check(!pairs.inputs.empty(), "{}: {} has no pair, at least one is needed", caller, file);
  return pairs;
}

void read_gold(const std::string& file, std::int64_t first, AlignmentPairs& pairs, std::string_view caller) {
  LineReader reader(file, {.caller = std::string(caller)});
  for (std::string line; reader.next(line);) {
    const std::size_t pair = pairs.gold.size();
    check(pair < pairs.inputs.size(), "{}: {} has a line {}, needs one for each of {} pairs", caller, file, pair + 1,
          pairs.inputs.size());
    const std::string place = fmt::format("{}: {}:{}", caller, reader.path(), reader.line_number());
    GoldAlignment gold = parse_gold_alignment(line, first, place);
    const std::size_t inputs = split_at_spaces(pairs.inputs[pair]).size();
    const std::size_t outputs = split_at_spaces(pairs.outputs[pair]).size();
    for (const WordLink& link : gold.possible) {
      check(link.input < static_cast<std::int64_t>(inputs) && link.output < static_cast<std::int64_t>(outputs),
            "{} has a link from word {} to word {}, the pair has {} and {} words", place, link.input + first,
            link.output + first, inputs, outputs);
    }
    pairs.gold.push_back(std::move(gold));
  }
  check(pairs.gold.size() == pairs.inputs.size(), "{}: {} has {} lines, needs one for each of {} pairs", caller, file,
        pairs.gold.size(), pairs.inputs.size());
}

AlignmentReport align_words(const TranslationModel& model, const AlignmentPairs& pairs, std::size_t chosen,
                            const AttentionMaps& cross, std::string_view caller) {
  const TokenTexts tokens = tokens_of(model, cross);
  const auto split = words_of(model, pairs.inputs[chosen], pairs.outputs[chosen], tokens);
  check(split || pairs.gold.empty(),
        "{}: tokens of pair {} are not parts of its words, which gold counts; another pair is needed", caller,
        chosen + 1);
  const WordPair words = split ? *split : WordPair{tokens_as_words(tokens.input), tokens_as_words(tokens.output)};

  AlignmentReport report{.input_words = words.input.words,
                         .output_words = words.output.words,
                         .word_of_row = with_end(words.output.of_tokens, cross.rows.size()),
                         .word_of_column = with_end(words.input.of_tokens, cross.columns.size()),
                         .sure = {},
                         .possible = {},
                         .found = {}};
  for (const MapChoice& choice : all_choices(cross)) {
    const std::vector<WordLink> links = links_of(cross, choice, words);
    FoundAlignment found{.links = as_pairs(links)};
    if (!pairs.gold.empty()) {
      AlignmentErrors errors;
      errors.add(links, pairs.gold[chosen]);
      found.error_rate = errors.rate();
    }
    report.found.push_back(std::move(found));
  }
  if (pairs.gold.empty()) return report;
  report.sure = as_pairs(pairs.gold[chosen].sure);
  report.possible = as_pairs(pairs.gold[chosen].possible);
  add_error_rates(model, pairs, report);
  return report;
}

}  // namespace edgewise
