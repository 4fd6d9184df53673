// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/make_vocabularies.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/text/cased_vocabulary.h"
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
  for (const auto& [name, bytes] : vocabulary_files(vocabularies, options.shared)) {
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
  const CaseKind kind = case_of(vocabulary);
  check(kind == needed, "{}: {} has {}_case {}, but the config has {}; set vocabulary.{}_case={}", kCaller,
        directory.string(), side, enum_name(kind), enum_name(needed), side, enum_name(kind));
}

Vocabularies read_directory(const VocabularySection& options, const fs::path& path) {
  const fs::path directory = find_model(path, kCaller);
  Vocabularies vocabularies = read_vocabularies(ListedDirectory(directory, kCaller), options.shared, kCaller);
  check_case(*vocabularies.input, options.input_case, "input", directory);
  check_case(*vocabularies.output, options.output_case, "output", directory);
  return vocabularies;
}

/// Reads one vocabulary file, as SentencePiece's own program writes it, and learns the case from the training text.
Vocabularies read_one_file(const VocabularySection& options, const fs::path& file, const Corpus& corpus) {
  check(options.shared,
        "{}: {} is one file, but vocabulary.shared is false, needs a directory with a vocabulary of each side", kCaller,
        file.string());
  const auto both = parse_vocabulary(read_file(file, kCaller, kMaxVocabularyBytes), file.string());
  return with_cases({both, both}, learn_cases(options, sample_pairs(corpus.train, options.sentences)));
}

}  // namespace

Vocabularies make_vocabularies(const VocabularySection& options, const Corpus& corpus, const fs::path& folder) {
  if (options.file.empty()) return learn(options, sample_pairs(corpus.train, options.sentences));
  const fs::path path = folder / options.file;
  std::error_code error;
  return fs::is_regular_file(path, error) ? read_one_file(options, path, corpus) : read_directory(options, path);
}

void write_vocabularies(const fs::path& directory, const Vocabularies& vocabularies, bool is_shared,
                        std::string_view caller) {
  DirectoryWriter writer(directory, caller);
  for (const auto& [name, bytes] : vocabulary_files(vocabularies, is_shared)) writer.write(name, bytes);
  writer.commit();
}

std::string describe_vocabularies(const Vocabularies& vocabularies, bool is_shared) {
  return is_shared
             ? fmt::format("one vocabulary of {} tokens", vocabularies.input->size())
             : fmt::format("vocabularies of {} and {} tokens", vocabularies.input->size(), vocabularies.output->size());
}

}  // namespace edgewise
