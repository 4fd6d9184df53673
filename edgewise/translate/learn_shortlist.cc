// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/learn_shortlist.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/text_lines.h"

namespace edgewise {
namespace {

constexpr std::string_view kLearner = "shortlist";

/// A line of each file.
struct PairLines {
  std::int64_t number = 0;  // counted from 0
  std::string input;
  std::string output;
  std::string links;
};

/// Reads pairs that are evenly spread over the files: all of them, or those whose number is a multiple of the smallest
/// power of 2 that leaves fewer than 2 · most, if `most` is not 0.
std::vector<PairLines> read_lines(const AlignedFiles& files, std::size_t most) {
  const auto options = [](const std::string& path) {
    return TextLinesOptions{.path = path, .caller = std::string(kLearner)};
  };
  TextLines inputs(options(files.inputs));
  TextLines outputs(options(files.outputs));
  std::optional<TextLines> links;
  if (!files.alignment.empty()) links.emplace(options(files.alignment));
  std::vector<PairLines> lines;
  const auto take = [&](TextLines& from, std::string& to) {
    std::optional<std::string> line = from.next();
    if (line) to = std::move(*line);
    return line.has_value();
  };
  std::int64_t step = 1;
  for (std::int64_t number = 0;; ++number) {
    PairLines pair;
    pair.number = number;
    const bool has_input = take(inputs, pair.input);
    const bool has_output = take(outputs, pair.output);
    const bool has_links = links ? take(*links, pair.links) : has_input;
    check(has_input == has_output && has_input == has_links,
          "{}: {}, {}{} have different numbers of lines, needs equal ones", kLearner, files.inputs, files.outputs,
          files.alignment.empty() ? "" : ", " + files.alignment);
    if (!has_input) return lines;
    if (number % step != 0) continue;
    lines.push_back(std::move(pair));
    if (most == 0 || lines.size() < 2 * most) continue;
    step *= 2;
    std::erase_if(lines, [step](const PairLines& kept) { return kept.number % step != 0; });
  }
}

std::vector<WordLink> parse_links(const LinkedSentences& pair, std::string_view line, const std::string& place) {
  const std::size_t tab = line.rfind('\t');
  const std::string_view field = tab == std::string_view::npos ? line : line.substr(tab + 1);
  std::vector<WordLink> links = parse_gold_alignment(field, /*first=*/0, place).possible;
  for (const auto& [input, output] : links) {
    check(input < std::ssize(pair.input) && output < std::ssize(pair.output),
          "{} has the link {}-{}, but the pair has {} and {} tokens, counted from 0", place, input, output,
          pair.input.size(), pair.output.size());
  }
  return links;
}

std::vector<LinkedSentences> encode_pairs(const Vocabularies& vocabularies, const AlignedFiles& files,
                                          std::int64_t most) {
  const std::vector<PairLines> lines = read_lines(files, static_cast<std::size_t>(most));
  const std::size_t count = most == 0 ? lines.size() : std::min(lines.size(), static_cast<std::size_t>(most));
  std::vector<LinkedSentences> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const PairLines& texts = lines[i * lines.size() / count];
    LinkedSentences& pair = pairs.emplace_back();
    pair.input = vocabularies.input->encode(texts.input);
    pair.output = vocabularies.output->encode(texts.output);
    if (files.alignment.empty()) continue;
    pair.links = parse_links(pair, texts.links, fmt::format("{}: {}:{}", kLearner, files.alignment, texts.number + 1));
  }
  return pairs;
}

/// Returns the token of an output with the same text as each input token; -1 if there is none.
std::vector<std::int64_t> tokens_with_the_same_text(const Vocabularies& vocabularies) {
  std::unordered_map<std::string_view, std::int64_t> outputs;
  for (std::int64_t token = 0; token < vocabularies.output->size(); ++token) {
    outputs.emplace(vocabularies.output->token_text(token), token);
  }
  std::vector<std::int64_t> same;
  for (std::int64_t token = 0; token < vocabularies.input->size(); ++token) {
    const auto found = outputs.find(vocabularies.input->token_text(token));
    same.push_back(found == outputs.end() ? -1 : found->second);
  }
  return same;
}

}  // namespace

ShortlistTable make_shortlist_table(const LexicalTable& table, const Vocabularies& vocabularies,
                                    const LearnShortlistOptions& options) {
  ShortlistTable shortlist = {.first = static_cast<std::uint64_t>(options.first),
                              .best = static_cast<std::uint64_t>(options.best)};
  const std::vector<std::int64_t> same = tokens_with_the_same_text(vocabularies);
  for (std::int64_t input = 0; input < vocabularies.input->size(); ++input) {
    const std::int64_t own = same[static_cast<std::size_t>(input)];
    std::vector<LexicalEntry> list;
    for (const LexicalEntry& entry : table.list(input)) {
      if (entry.probability >= options.threshold && entry.output != own) list.push_back(entry);
    }
    std::ranges::stable_sort(list, std::greater(), &LexicalEntry::probability);
    if (own >= 0) list.insert(list.begin(), LexicalEntry{static_cast<std::int32_t>(own), 1});
    if (std::ssize(list) > options.best) list.resize(static_cast<std::size_t>(options.best));
    if (list.empty()) list.push_back({static_cast<std::int32_t>(vocabularies.output->special().end), 1});
    std::ranges::sort(list, {}, &LexicalEntry::output);
    for (const LexicalEntry& entry : list) shortlist.tokens.push_back(static_cast<std::uint32_t>(entry.output));
    shortlist.offsets.push_back(shortlist.tokens.size());
  }
  return shortlist;
}

ShortlistTable learn_shortlist(const std::filesystem::path& model, const AlignedFiles& files,
                               const std::filesystem::path& destination, const LearnShortlistOptions& options,
                               Overwrite overwrite) {
  check_ranges(options, kLearner);
  const std::vector<std::filesystem::path> inputs = {model, files.inputs, files.outputs, files.alignment};
  check_output_directory(destination, std::span(inputs).first(files.alignment.empty() ? 3 : 4), overwrite, kLearner);
  ModelFiles read = read_model_files(model, kLearner);
  check(has_encoder(read.experiment.model.kind), "{}: {} has a language model, needs one that translates", kLearner,
        model.string());
  const Vocabularies& vocabularies = read.codec.vocabularies;
  const std::vector<LinkedSentences> pairs = encode_pairs(vocabularies, files, options.sentences);
  const std::int64_t num_inputs = vocabularies.input->size();
  const LexicalTable table = files.alignment.empty() ? estimate_lexical_table(pairs, num_inputs, options.iterations)
                                                     : count_lexical_links(pairs, num_inputs);
  ShortlistTable shortlist = make_shortlist_table(table, vocabularies, options);
  const std::string bytes = serialize_shortlist(shortlist);
  check(bytes.size() <= kMaxShortlistBytes, "{}: the shortlist has {} bytes, needs at most {}; set a smaller --best",
        kLearner, bytes.size(), kMaxShortlistBytes);
  read.shortlist = make_shortlist(bytes, read.experiment, vocabularies, std::string(kLearner));
  write_derived_model(read, read.parameters.bytes(), destination, kLearner);
  return shortlist;
}

}  // namespace edgewise
