// SPDX-License-Identifier: Apache-2.0
#include "edgewise/pictures/attention_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "edgewise/base/ascii.h"
#include "edgewise/base/error.h"
#include "edgewise/base/sorting.h"
#include "edgewise/experiment/translation_model.h"
#include "edgewise/text/corpus/line_reader.h"

namespace edgewise {
namespace {

constexpr std::string_view kAlignWords = "align_words";

/// The words of a sentence, and for each token the number of its word.
struct Words {
  std::vector<std::string> words;
  std::vector<std::int64_t> word_of_token;
};

/// Splits a sentence into words. Returns nullopt if encoding the words one by one does not give `tokens`.
std::optional<Words> split_into_words(const Vocabulary& vocabulary, std::string_view sentence,
                                      std::span<const std::string> tokens) {
  Words result{.words = split_ascii(sentence, " "), .word_of_token = {}};
  std::vector<std::string> word_tokens;
  for (std::size_t word = 0; word < result.words.size(); ++word) {
    for (const std::int64_t token : vocabulary.encode(result.words[word])) {
      word_tokens.emplace_back(vocabulary.token_text(token));
      result.word_of_token.push_back(static_cast<std::int64_t>(word));
    }
  }
  if (!std::ranges::equal(word_tokens, tokens)) return std::nullopt;
  return result;
}

/// Treats each token as a word of its own.
Words tokens_as_words(std::span<const std::string> tokens) {
  Words result{.words = {tokens.begin(), tokens.end()}, .word_of_token = {}};
  for (std::size_t i = 0; i < result.words.size(); ++i) result.word_of_token.push_back(static_cast<std::int64_t>(i));
  return result;
}

/// The words of both sentences of a pair.
struct PairWords {
  Words input;
  Words output;
};

/// The tokens of a map's columns and rows without those around the sentences, and how many of these are in front.
struct InnerTokens {
  std::span<const std::string> input;
  std::span<const std::string> output;
  std::size_t before_input;
  std::size_t before_output;
};

InnerTokens tokens_of(const TranslationModel& model, std::string_view input, const AttentionMaps& cross) {
  const SentenceFrame columns = encode_input(model, input, kAlignWords).frame;
  const SentenceFrame rows =
      frame_output(*model.vocabularies.output, model.experiment.data.output_language, kAlignWords);
  const std::size_t before_input = columns.before.size();
  const std::size_t before_output = rows.before.size() - 1;  // a row predicts a token, never the begin token
  const std::span<const std::string> inputs(cross.columns);
  const std::span<const std::string> outputs(cross.rows);
  return {.input = inputs.subspan(before_input, inputs.size() - before_input - columns.after.size()),
          .output = outputs.subspan(before_output, outputs.size() - before_output - rows.after.size()),
          .before_input = before_input,
          .before_output = before_output};
}

std::optional<PairWords> split_into_words(const TranslationModel& model, std::string_view input,
                                          std::string_view output, const InnerTokens& tokens) {
  const auto input_words = split_into_words(*model.vocabularies.input, input, tokens.input);
  const auto output_words = split_into_words(*model.vocabularies.output, output, tokens.output);
  if (!input_words || !output_words) return std::nullopt;
  return PairWords{*input_words, *output_words};
}

/// Returns the word of each token of a map's side: -1 for the `before` tokens in front of the sentence and those
/// after.
std::vector<std::int64_t> word_of_each(const Words& words, std::size_t before, std::size_t size) {
  std::vector<std::int64_t> word_of_token(before, -1);
  word_of_token.insert(word_of_token.end(), words.word_of_token.begin(), words.word_of_token.end());
  word_of_token.resize(size, -1);
  return word_of_token;
}

TokenWords token_words(const PairWords& words, const InnerTokens& tokens, const AttentionMaps& cross) {
  return {.of_row = word_of_each(words.output, tokens.before_output, cross.rows.size()),
          .of_column = word_of_each(words.input, tokens.before_input, cross.columns.size())};
}

WordLinks to_word_links(const std::vector<WordLink>& links) {
  WordLinks pairs;
  for (const WordLink& link : links) pairs.emplace_back(link.input, link.output);
  return pairs;
}

bool fits_model(const TranslationModel& model, const Vocabulary& vocabulary, std::string_view sentence) {
  const std::int64_t most = model.experiment.data.max_length;
  const std::ptrdiff_t tokens = std::ssize(vocabulary.encode(sentence));
  return tokens > 0 && (most == 0 || tokens <= most);
}

/// Computes the cross-attention of a pair. Returns nullopt if a sentence is empty or too long for the model.
std::optional<AttentionMaps> cross_attention_maps(const TranslationModel& model, const std::string& input,
                                                  const std::string& output) {
  const Vocabularies& vocabularies = model.vocabularies;
  if (!fits_model(model, *vocabularies.input, input) || !fits_model(model, *vocabularies.output, output))
    return std::nullopt;
  return attention_maps(model, encode_pair(model, input, output, kAlignWords)).back();
}

void add_error_rates(const TranslationModel& model, const AlignmentPairs& pairs, std::span<const MapIndex> maps,
                     AlignmentReport& report) {
  std::vector<MapErrors> errors;
  for (const MapIndex& map : maps) errors.push_back({map});
  for (std::size_t i = 0; i < pairs.inputs.size(); ++i) {
    const std::string& input = pairs.inputs[i];
    const std::optional<AttentionMaps> cross = cross_attention_maps(model, input, pairs.outputs[i]);
    const std::optional<InnerTokens> tokens = cross ? std::optional(tokens_of(model, input, *cross)) : std::nullopt;
    const auto words = tokens ? split_into_words(model, input, pairs.outputs[i], *tokens) : std::nullopt;
    if (!words) {
      ++report.skipped_pairs;
      continue;
    }
    add_pair(errors, *cross, token_words(*words, *tokens, *cross), pairs.gold[i]);
    ++report.corpus_pairs;
  }
  for (std::size_t i = 0; i < errors.size(); ++i) {
    report.map_alignments[i].counted_pairs = errors[i].pairs;
    if (errors[i].pairs > 0) report.map_alignments[i].corpus_error_rate = errors[i].errors.rate();
  }
}

/// Returns the column of the largest weight; nothing for a row of NaN only.
std::optional<std::size_t> find_strongest(std::span<const float> row) {
  std::optional<std::size_t> strongest;
  for (std::size_t column = 0; column < row.size(); ++column) {
    if (std::isnan(row[column])) continue;
    if (!strongest || row[column] > row[*strongest]) strongest = column;
  }
  return strongest;
}

}  // namespace

AlignmentPairs read_alignment_pairs(const std::string& file, std::string_view caller) {
  constexpr std::string_view kSeparator = " ||| ";
  LineReader reader(file, {.caller = std::string(caller)});
  AlignmentPairs pairs;
  for (std::string line; reader.next(line);) {
    check_utf8(reader, line, caller);
    const std::size_t middle = line.find(kSeparator);
    check(middle != std::string::npos && line.find(kSeparator, middle + 1) == std::string::npos,
          "{}: {}:{} is no pair, needs `input ||| output`", caller, reader.path(), reader.line_number());
    pairs.inputs.push_back(line.substr(0, middle));
    pairs.outputs.push_back(line.substr(middle + kSeparator.size()));
  }
  check(!pairs.inputs.empty(), "{}: {} has no pair, needs at least one", caller, file);
  return pairs;
}

void read_gold_alignments(const std::string& file, std::int64_t first, AlignmentPairs& pairs, std::string_view caller) {
  LineReader reader(file, {.caller = std::string(caller)});
  for (std::string line; reader.next(line);) {
    const std::size_t pair = pairs.gold.size();
    check(pair < pairs.inputs.size(), "{}: {} has a line {}, needs one for each of {} pairs", caller, file, pair + 1,
          pairs.inputs.size());
    const std::string where = fmt::format("{}: {}:{}", caller, reader.path(), reader.line_number());
    GoldAlignment gold = parse_gold_alignment(line, first, where);
    const std::size_t inputs = split_ascii(pairs.inputs[pair], " ").size();
    const std::size_t outputs = split_ascii(pairs.outputs[pair], " ").size();
    for (const WordLink& link : gold.possible) {
      check(link.input < static_cast<std::int64_t>(inputs) && link.output < static_cast<std::int64_t>(outputs),
            "{} has a link from word {} to word {}, the pair has {} and {} words", where, link.input + first,
            link.output + first, inputs, outputs);
    }
    pairs.gold.push_back(std::move(gold));
  }
  check(pairs.gold.size() == pairs.inputs.size(), "{}: {} has {} lines, needs one for each of {} pairs", caller, file,
        pairs.gold.size(), pairs.inputs.size());
}

AlignmentReport align_words(const TranslationModel& model, const AlignmentPairs& pairs, std::size_t drawn,
                            const AttentionMaps& cross, std::string_view caller) {
  const InnerTokens tokens = tokens_of(model, pairs.inputs[drawn], cross);
  const auto split = split_into_words(model, pairs.inputs[drawn], pairs.outputs[drawn], tokens);
  check(split || pairs.gold.empty(),
        "{}: tokens of pair {} are not parts of its words, which gold counts, needs another pair", caller, drawn + 1);
  const PairWords words = split ? *split : PairWords{tokens_as_words(tokens.input), tokens_as_words(tokens.output)};

  const TokenWords map_words = token_words(words, tokens, cross);
  const std::vector<MapIndex> maps = list_map_indices(cross);
  AlignmentReport report{.input_words = words.input.words,
                         .output_words = words.output.words,
                         .word_of_row = map_words.of_row,
                         .word_of_column = map_words.of_column,
                         .sure = {},
                         .possible = {},
                         .map_alignments = {}};
  for (const MapIndex& map : maps) {
    const std::vector<WordLink> links = link_words(cross, map, map_words);
    MapAlignment alignment{.links = to_word_links(links)};
    if (!pairs.gold.empty()) {
      AlignmentErrors errors;
      errors.add(links, pairs.gold[drawn]);
      alignment.error_rate = errors.rate();
    }
    report.map_alignments.push_back(std::move(alignment));
  }
  if (pairs.gold.empty()) return report;
  report.sure = to_word_links(pairs.gold[drawn].sure);
  report.possible = to_word_links(pairs.gold[drawn].possible);
  add_error_rates(model, pairs, maps, report);
  return report;
}

std::vector<WordLink> link_words(const AttentionMaps& cross, const MapIndex& map, const TokenWords& words) {
  const std::vector<float> weights = weights_of(cross, map);
  const std::size_t columns = cross.columns.size();
  std::vector<WordLink> links;
  for (std::size_t row = 0; row < cross.rows.size(); ++row) {
    const auto strongest = find_strongest(std::span(weights).subspan(row * columns, columns));
    if (!strongest || words.of_row[row] < 0 || words.of_column[*strongest] < 0) continue;
    links.push_back({words.of_column[*strongest], words.of_row[row]});
  }
  sort_unique(links);
  return links;
}

void add_pair(std::vector<MapErrors>& maps, const AttentionMaps& cross, const TokenWords& words,
              const GoldAlignment& gold) {
  for (MapErrors& errors : maps) {
    if (errors.map.layer && *errors.map.layer >= cross.num_layers()) continue;
    errors.errors.add(link_words(cross, errors.map, words), gold);
    ++errors.pairs;
  }
}

}  // namespace edgewise
