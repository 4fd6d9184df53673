// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/make_vocabularies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/distributed/process_group.h"
#include "edgewise/text/vocabulary/sentence_case.h"
#include "edgewise/text/vocabulary/vocabulary_names.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCaller = "load_vocabulary";

struct Cases {
  SentenceCase input;
  SentenceCase output;
};

Cases learn_cases(const VocabularySection& options, const SentencePairs& pairs) {
  return {SentenceCase::learn(options.input_case, pairs.inputs),
          SentenceCase::learn(options.output_case, pairs.outputs)};
}

void apply_cases(const Cases& cases, SentencePairs& pairs) {
  const auto apply = [](const SentenceCase& sentence_case, std::vector<std::string>& sentences) {
    if (sentence_case.kind() == CaseKind::kKeep) return;
    for (std::string& sentence : sentences) sentence = sentence_case.apply(sentence);
  };
  apply(cases.input, pairs.inputs);
  apply(cases.output, pairs.outputs);
}

Vocabularies with_cases(Vocabularies vocabularies, Cases cases) {
  return {with_case(std::move(vocabularies.input), std::move(cases.input)),
          with_case(std::move(vocabularies.output), std::move(cases.output))};
}

/// Throws Error if a model with these vocabularies could not be read again.
void check_sizes(const VocabularySection& options, const Vocabularies& vocabularies) {
  for (const auto& [name, bytes] : serialize_vocabularies(vocabularies, options.shared)) {
    check(bytes.size() <= kMaxVocabularyBytes,
          "build_vocabulary: {} has {} bytes, needs at most {}; set vocabulary.size or vocabulary.sentences", name,
          bytes.size(), kMaxVocabularyBytes);
  }
}

Vocabularies learn(const VocabularySection& options, SentencePairs pairs) {
  Cases cases = learn_cases(options, pairs);
  apply_cases(cases, pairs);
  Vocabularies learned;
  if (options.shared) {
    learned.input = learned.output = build_vocabulary({pairs.inputs, pairs.outputs}, options);
  } else {
    learned = {build_vocabulary({pairs.inputs}, options), build_vocabulary({pairs.outputs}, options)};
  }
  learned = with_cases(std::move(learned), std::move(cases));
  check_sizes(options, learned);
  return learned;
}

void check_case(const Vocabulary& vocabulary, CaseKind needed, std::string_view side, const fs::path& directory) {
  const CaseKind kind = vocabulary.case_kind();
  check(kind == needed, "{}: {} has {}_case {}, but the config has {}; set vocabulary.{}_case={}", kCaller,
        directory.string(), side, enum_name(kind), enum_name(needed), side, enum_name(kind));
}

/// Throws Error unless the vocabulary of a side is as the options say. An option that has its default value fits each
/// vocabulary.
void check_fits(const Vocabulary& vocabulary, const VocabularySection& options, const fs::path& path) {
  const VocabularySection defaults;
  const auto check_option = [&path](std::string_view name, const auto& has, const auto& needed, bool fits) {
    check(fits, "{}: {} has {} {}, but the config has {}; set vocabulary.{}={}", kCaller, path.string(), name, has,
          needed, name, has);
  };
  check_option("kind", enum_name(vocabulary.kind()), enum_name(options.kind),
               options.kind == defaults.kind || vocabulary.kind() == options.kind);
  const bool is_exact =
      vocabulary.kind() == VocabularyKind::kSentencePiece || vocabulary.kind() == VocabularyKind::kMapped;
  check_option("size", vocabulary.size(), options.size,
               options.size == 0 || (is_exact ? vocabulary.size() == options.size : vocabulary.size() <= options.size));
  check_option("separate_punctuation", vocabulary.separates_punctuation(), options.separate_punctuation,
               !options.separate_punctuation || vocabulary.separates_punctuation());
  if (const auto model = vocabulary.piece_model()) {
    check_option("model", enum_name(*model), enum_name(options.model),
                 options.model == defaults.model || *model == options.model);
  }
}

/// Throws Error if a directory has a vocabulary of each side and the config needs one of both, or the reverse.
void check_shared(bool is_shared, const ListedDirectory& files) {
  const std::string_view prefix = is_shared ? kInputPrefix : "";
  const bool has_other = std::ranges::any_of(
      kVocabularyFiles, [&](std::string_view file) { return files.has(fmt::format("{}{}", prefix, file)); });
  check(!has_other, "{}: {} has {}, but the config has shared {}; set vocabulary.shared={}", kCaller, files.path(),
        is_shared ? "a vocabulary of each side" : "one vocabulary of both sides", is_shared, !is_shared);
}

GivenVocabularies read_directory(const VocabularySection& options, const fs::path& path) {
  const fs::path directory = find_model(path, kCaller);
  const ListedDirectory files(directory, kCaller);
  check_shared(options.shared, files);
  Vocabularies vocabularies = read_vocabularies(files, options.shared, kCaller);
  check_case(*vocabularies.input, options.input_case, "input", directory);
  check_case(*vocabularies.output, options.output_case, "output", directory);
  return {std::move(vocabularies)};
}

/// Reads one vocabulary file, as SentencePiece's own program writes it.
GivenVocabularies read_one_file(const VocabularySection& options, const fs::path& file) {
  check(options.shared,
        "{}: {} is one file, but vocabulary.shared is false, needs a directory with a vocabulary of each side", kCaller,
        file.string());
  const auto both = parse_vocabulary(read_file(file, kCaller, kMaxVocabularyBytes), file.string());
  return {.vocabularies = {both, both}, .has_cases = false};
}

}  // namespace

Vocabularies share_vocabularies(ProcessGroup& processes, bool is_shared, const std::function<Vocabularies()>& make) {
  Vocabularies vocabularies;
  on_first_process(processes, [&] { vocabularies = make(); });
  if (processes.size() == 1) return vocabularies;
  std::vector<std::string> strings;  // a name, the bytes of its file, the next name, …
  if (processes.rank() == 0) {
    for (const auto& [name, bytes] : serialize_vocabularies(vocabularies, is_shared)) {
      strings.push_back(name);
      strings.push_back(bytes);
    }
  }
  strings = unpack_strings(broadcast_bytes(processes, pack_strings(strings)));
  if (processes.rank() == 0) return vocabularies;
  std::map<std::string, std::string> files;
  for (std::size_t i = 0; i + 1 < strings.size(); i += 2) files[strings[i]] = strings[i + 1];
  return parse_vocabularies(files, is_shared, "process 0", "train");
}

std::optional<GivenVocabularies> read_given_vocabularies(const VocabularySection& options, const fs::path& folder) {
  if (options.file.empty()) return std::nullopt;
  const fs::path path = folder / options.file;
  std::error_code error;
  GivenVocabularies given =
      fs::is_regular_file(path, error) ? read_one_file(options, path) : read_directory(options, path);
  for (const auto& vocabulary : {given.vocabularies.input, given.vocabularies.output}) {
    check_fits(*vocabulary, options, path);
  }
  return given;
}

Vocabularies make_vocabularies(const VocabularySection& options, const Corpus& corpus,
                               std::optional<GivenVocabularies> given) {
  if (!given) return learn(options, sample_pairs(corpus.train, options.sentences));
  if (given->has_cases) return std::move(given->vocabularies);
  return with_cases(std::move(given->vocabularies),
                    learn_cases(options, sample_pairs(corpus.train, options.sentences)));
}

Vocabularies make_vocabularies(const VocabularySection& options, const DocumentText& text,
                               std::optional<GivenVocabularies> given) {
  if (given) return std::move(given->vocabularies);
  const std::vector<std::string> lines = sample_lines(text, options.sentences);
  const auto learned = build_vocabulary({lines}, options);
  check_sizes(options, {learned, learned});
  return {learned, learned};
}

std::string describe_unused_options(const VocabularySection& options) {
  if (options.file.empty()) return "";
  const VocabularySection defaults;
  std::vector<std::string> unused;
  const auto add = [&unused](std::string_view name, const auto& value, const auto& default_value) {
    if (value != default_value) unused.push_back(fmt::format("vocabulary.{} is {}", name, value));
  };
  add("min_count", options.min_count, defaults.min_count);
  add("character_coverage", options.character_coverage, defaults.character_coverage);
  add("byte_fallback", enum_name(options.byte_fallback), enum_name(defaults.byte_fallback));
  add("placeholders", options.placeholders, defaults.placeholders);
  add("split_digits", options.split_digits, defaults.split_digits);
  add("line_feeds", options.line_feeds, defaults.line_feeds);
  const bool may_learn_case = options.input_case == CaseKind::kTruecase || options.output_case == CaseKind::kTruecase;
  if (!may_learn_case) add("sentences", options.sentences, defaults.sentences);
  if (unused.empty()) return "";
  return fmt::format("{}, without effect, because vocabulary.file is read and no vocabulary is learned",
                     fmt::join(unused, ", "));
}

void write_vocabularies(const fs::path& directory, const Vocabularies& vocabularies, bool is_shared,
                        std::string_view caller) {
  DirectoryWriter writer(directory, caller);
  for (const auto& [name, bytes] : serialize_vocabularies(vocabularies, is_shared)) writer.write(name, bytes);
  writer.commit();
}

std::string describe_vocabularies(const Vocabularies& vocabularies, bool is_shared) {
  return is_shared
             ? fmt::format("one vocabulary of {} tokens", vocabularies.input->size())
             : fmt::format("vocabularies of {} and {} tokens", vocabularies.input->size(), vocabularies.output->size());
}

}  // namespace edgewise
