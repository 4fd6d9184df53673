// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/exported_model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/system_search.h"

namespace edgewise {
namespace {

constexpr std::size_t kMostNamedTokens = 5;

/// Returns the same search without the options of sampling and of loops, which no file keeps.
SearchOptions without_sampling_and_loops(const SearchOptions& search) {
  const SearchOptions defaults;
  SearchOptions kept = search;
  kept.kind = SearchKind::kBeam;
  kept.temperature = defaults.temperature;
  kept.top_k = defaults.top_k;
  kept.top_p = defaults.top_p;
  kept.min_p = defaults.min_p;
  kept.seed = defaults.seed;
  kept.stop_loops = search.stop_loops && !avoids_loops(search);
  return kept;
}

/// Returns the options that files of Hugging Face keep (exported_model.h), in the terms of the model's own rules.
SearchOptions kept_by_hugging_face(const SearchOptions& search) {
  SearchOptions kept = without_sampling_and_loops(search);
  if (follows_hugging_face(search)) return kept;
  kept.coverage_penalty = 0;
  kept.length_factor = 0;
  kept.min_length_factor = 0;
  // A power of the length n; with exponent 0, the divisor is 1 as in gnmt.
  if (search.length_norm == LengthNorm::kGnmt && search.length_penalty != 0) kept.length_norm = LengthNorm::kAverage;
  // Greedy search of generate() applies the penalty to logits, beam search to log-probabilities.
  if (search.beam == 1) kept.repetition_penalty = 1;
  return kept;
}

/// Returns the same for files of Marian, which have the beam and the length penalty. If the search has the lengths of
/// Marian, they also have search.length_factor.
SearchOptions kept_by_marian(const SearchOptions& search) {
  constexpr double kLengthFactor = 3;  // Marian's default
  SearchOptions kept = without_sampling_and_loops(search);
  kept.n_best = 1;
  kept.max_length = 0;
  kept.min_length = 0;
  kept.no_repeat_ngram = 0;
  kept.repetition_penalty = 1;
  kept.stop_when = SearchOptions().stop_when;
  kept.renormalize = false;
  if (follows_hugging_face(search)) return kept;
  kept.coverage_penalty = 0;
  kept.force_end = false;
  kept.length_offset = 0;
  kept.min_length_factor = 0;
  if (search.length_norm == LengthNorm::kGnmt && search.length_penalty != 0) kept.length_norm = LengthNorm::kPower;
  if (!has_marian_lengths(search)) kept.length_factor = kLengthFactor;
  return kept;
}

/// Returns the same for files of CTranslate2, whose users get its defaults.
SearchOptions kept_by_ctranslate2(const SearchOptions& search) {
  const SearchOptions given = ctranslate2_search();
  SearchOptions kept = kept_by_hugging_face(search);
  kept.beam = given.beam;
  kept.n_best = given.n_best;
  kept.no_repeat_ngram = given.no_repeat_ngram;
  kept.repetition_penalty = given.repetition_penalty;
  if (follows_hugging_face(search)) {
    kept.length_penalty = 1;
    kept.max_length = given.max_length + 2;  // with the begin and the end token
    kept.min_length = given.min_length + 1;  // with the begin token
    return kept;
  }
  kept.length_norm = given.length_norm;
  kept.length_offset = given.length_offset;
  if (search.max_length > 0) kept.max_length = given.max_length;
  kept.min_length = given.min_length;
  return kept;
}

SearchOptions kept_search(const SearchOptions& search, ExportFormat format) {
  if (format == ExportFormat::kMarian) return kept_by_marian(search);
  return format == ExportFormat::kCtranslate2 ? kept_by_ctranslate2(search) : kept_by_hugging_face(search);
}

/// Returns whether the other system has other rules of beam search. Greedy search has the same rules everywhere, and
/// Marian has those of Edgewise.
bool has_other_rules(const SearchOptions& search, ExportFormat format) {
  const bool is_greedy = search.kind == SearchKind::kBeam && search.beam == 1;
  if (is_greedy || format == ExportFormat::kCtranslate2) return !is_greedy;
  return follows_hugging_face(search) != (format == ExportFormat::kHuggingFace);
}

using OptionNames = std::set<std::string>;

void leave_out_languages(const DataOptions& data, OptionNames& names) {
  if (!data.input_language.empty()) names.insert("data.input_language");
  if (!data.output_language.empty()) names.insert("data.output_language");
}

void leave_out_longest_input(const ModelFiles& model, OptionNames& names) {
  const std::int64_t learned = model.experiment.model.num_learned_positions();
  const std::int64_t positions = learned > 0 ? std::min(learned, kLongestCtranslate2Input) : kLongestCtranslate2Input;
  const std::int64_t limit = model.experiment.data.max_length;
  const bool is_shorter = limit > 0 && limit < longest_input(positions, *model.codec.vocabularies.input);
  if (is_shorter) names.insert("data.max_length");
}

/// Files of CTranslate2 have tokens; only SentencePiece models say how a text becomes tokens.
void leave_out_text_options(const VocabularySection& vocabulary, OptionNames& names) {
  const bool is_words = vocabulary.kind == VocabularyKind::kWords;
  if (vocabulary.kind == VocabularyKind::kCharacters) names.insert("vocabulary.kind");
  if (vocabulary.input_case != CaseKind::kKeep) names.insert("vocabulary.input_case");
  if (vocabulary.output_case != CaseKind::kKeep) names.insert("vocabulary.output_case");
  if (is_words && vocabulary.separate_punctuation) names.insert("vocabulary.separate_punctuation");
}

void leave_out_search(const SearchOptions& search, ExportFormat format, OptionNames& names) {
  if (has_other_rules(search, format)) names.insert("search.rules");
  const auto settings = settings_of(search);
  const auto kept = settings_of(kept_search(search, format));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].second != kept[i].second) names.insert("search." + settings[i].first);
  }
}

std::string describe_forbidden_tokens(const Vocabulary& vocabulary) {
  const std::vector<std::int64_t>& forbidden = vocabulary.rules().forbidden;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(forbidden.size(), kMostNamedTokens); ++i) {
    names.push_back(quote(vocabulary.token_text(forbidden[i])));
  }
  const std::size_t more = forbidden.size() - names.size();
  return fmt::format("tokens that outputs may not contain: {}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::map<std::string, std::string> exported_files(const ModelFiles& model, ExportFormat format,
                                                  std::string_view caller) {
  if (format == ExportFormat::kHuggingFace && !has_encoder(model.experiment.model.kind)) {
    return export_causal(model, caller);
  }
  if (format == ExportFormat::kMarian) return export_marian(model, caller);
  return format == ExportFormat::kCtranslate2 ? export_ctranslate2(model, caller) : export_hugging_face(model, caller);
}

}  // namespace

std::vector<std::string> left_out_options(const ModelFiles& model, ExportFormat format) {
  const Vocabulary& output = *model.codec.vocabularies.output;
  const bool is_in_input = output.rules().language_place == LanguagePlace::kOutputBeforeInput;
  OptionNames names;
  if (!has_encoder(model.experiment.model.kind)) return {};
  if (format != ExportFormat::kHuggingFace || is_in_input) leave_out_languages(model.experiment.data, names);
  if (format == ExportFormat::kCtranslate2) {
    leave_out_longest_input(model, names);
    leave_out_text_options(model.experiment.vocabulary, names);
  }
  leave_out_search(model.experiment.search, format, names);
  std::vector<std::string> list;
  for (const auto& [option, value] : settings_of(model.experiment)) {
    if (names.contains(option)) list.push_back(fmt::format("{}={}", option, value));
  }
  const bool has_forbidden = format == ExportFormat::kCtranslate2 && !output.rules().forbidden.empty();
  if (has_forbidden) list.push_back(describe_forbidden_tokens(output));
  return list;
}

void export_model(const ModelFiles& model, ExportFormat format, const std::filesystem::path& destination,
                  std::string_view caller) {
  const std::map<std::string, std::string> files = exported_files(model, format, caller);
  DirectoryWriter writer(destination, caller);
  for (const auto& [name, bytes] : files) writer.write(name, bytes);
  writer.commit();
}

}  // namespace edgewise
