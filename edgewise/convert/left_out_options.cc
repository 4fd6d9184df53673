// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/config.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/ctranslate2_search.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/importers.h"

namespace edgewise {
namespace {

constexpr std::size_t kMostNamedTokens = 5;

/// Returns the options that files of Hugging Face keep (exported_model.h), in the terms of the model's own rules.
SearchOptions kept_by_hugging_face(const SearchOptions& search) {
  const SearchOptions defaults;
  SearchOptions kept = search;
  kept.kind = SearchKind::kBeam;
  kept.temperature = defaults.temperature;
  kept.top_k = defaults.top_k;
  kept.top_p = defaults.top_p;
  kept.seed = defaults.seed;
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

/// Returns the same for files of Marian, which have the beam and the length penalty.
SearchOptions kept_by_marian(const SearchOptions& search) {
  const SearchOptions defaults;
  SearchOptions kept = kept_by_hugging_face(search);
  kept.n_best = 1;
  kept.max_length = 0;
  kept.min_length = 0;
  kept.no_repeat_ngram = 0;
  kept.repetition_penalty = 1;
  kept.stop_when = defaults.stop_when;
  kept.force_end = defaults.force_end;
  kept.renormalize = false;
  if (follows_hugging_face(search)) {
    constexpr std::int64_t kMaxLength = 512;
    kept.max_length = kMaxLength;
  } else {
    kept.length_offset = 0;
  }
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
  switch (format) {
    case ExportFormat::kMarian:
      return kept_by_marian(search);
    case ExportFormat::kCtranslate2:
      return kept_by_ctranslate2(search);
    default:
      return kept_by_hugging_face(search);
  }
}

/// Returns whether the other system has other rules of beam search. Greedy search has the same rules everywhere.
bool has_other_rules(const SearchOptions& search, ExportFormat format) {
  const bool is_greedy = search.kind == SearchKind::kBeam && search.beam == 1;
  return !is_greedy && (format == ExportFormat::kCtranslate2 || !follows_hugging_face(search));
}

class LeftOutOptions {
 public:
  LeftOutOptions(const ModelFiles& model, ExportFormat format) : model_(model), format_(format) {}

  std::vector<std::string> run() && {
    add_languages();
    if (format_ == ExportFormat::kCtranslate2) {
      add_longest_input();
      add_text_options();
    }
    add_search();
    if (format_ == ExportFormat::kCtranslate2) add_forbidden_tokens();
    return std::move(list_);
  }

 private:
  void add(std::string_view option, std::string_view value) { list_.push_back(fmt::format("{}={}", option, value)); }

  void add_languages() {
    const DataOptions& data = model_.experiment.data;
    const LanguagePlace place = model_.codec.vocabularies.output->rules().language_place;
    const bool keeps = format_ == ExportFormat::kHuggingFace && place != LanguagePlace::kOutputBeforeInput;
    if (keeps) return;
    if (!data.input_language.empty()) add("data.input_language", data.input_language);
    if (!data.output_language.empty()) add("data.output_language", data.output_language);
  }

  void add_longest_input() {
    const std::int64_t longest = longest_input(kLongestCtranslate2Input, *model_.codec.vocabularies.input);
    const std::int64_t limit = model_.experiment.data.max_length;
    if (limit > 0 && limit < longest) add("data.max_length", std::to_string(limit));
  }

  /// Files of CTranslate2 have tokens; only SentencePiece models say how a text becomes tokens.
  void add_text_options() {
    const VocabularySection& vocabulary = model_.experiment.vocabulary;
    if (vocabulary.kind == VocabularyKind::kCharacters) add("vocabulary.kind", enum_name(vocabulary.kind));
    if (vocabulary.input_case != CaseKind::kKeep) add("vocabulary.input_case", enum_name(vocabulary.input_case));
    if (vocabulary.output_case != CaseKind::kKeep) add("vocabulary.output_case", enum_name(vocabulary.output_case));
    if (vocabulary.kind == VocabularyKind::kWords && vocabulary.separate_punctuation) {
      add("vocabulary.separate_punctuation", "true");
    }
  }

  void add_search() {
    const SearchOptions& search = model_.experiment.search;
    const auto settings = settings_of(search);
    const auto kept = settings_of(kept_search(search, format_));
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const auto& [option, value] = settings[i];
      const bool is_other_rule = option == "rules" && has_other_rules(search, format_);
      if (is_other_rule || value != kept[i].second) add("search." + option, value);
    }
  }

  void add_forbidden_tokens() {
    const Vocabulary& vocabulary = *model_.codec.vocabularies.output;
    const std::vector<std::int64_t>& forbidden = vocabulary.rules().forbidden;
    if (forbidden.empty()) return;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(forbidden.size(), kMostNamedTokens); ++i) {
      names.push_back(quote(vocabulary.token_text(forbidden[i])));
    }
    const std::size_t more = forbidden.size() - names.size();
    list_.push_back(fmt::format("tokens that outputs may not contain: {}{}", fmt::join(names, ", "),
                                more > 0 ? fmt::format(" and {} more", more) : ""));
  }

  const ModelFiles& model_;
  ExportFormat format_;
  std::vector<std::string> list_;
};

}  // namespace

std::vector<std::string> left_out_options(const ModelFiles& model, ExportFormat format) {
  return LeftOutOptions(model, format).run();
}

}  // namespace edgewise
