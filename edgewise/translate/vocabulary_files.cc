// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/vocabulary_files.h"

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/text/cased_vocabulary.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaseFile = "case.txt";

std::string join(std::string_view prefix, std::string_view name) { return std::string(prefix) + std::string(name); }

std::shared_ptr<const Vocabulary> read_vocabulary(const ListedDirectory& files, std::string_view prefix,
                                                  std::string_view caller) {
  const std::string text = join(prefix, "vocabulary.txt");
  const std::string model = join(prefix, "vocabulary.model");
  check(files.has(text) != files.has(model), "{}: {} lists {} of {} and {}, needs one of them", caller,
        files.path(kManifestName), files.has(text) ? "both" : "none", text, model);
  const std::string& name = files.has(text) ? text : model;
  return parse_vocabulary(files.read(name, kMaxVocabularyBytes), files.path(name));
}

std::shared_ptr<const Vocabulary> apply_case_file(std::shared_ptr<const Vocabulary> vocabulary,
                                                  const ListedDirectory& files, std::string_view prefix) {
  const std::string name = join(prefix, kCaseFile);
  if (!files.has(name)) return vocabulary;
  return with_case(std::move(vocabulary), SentenceCase::parse(files.read(name, kMaxVocabularyBytes), files.path(name)));
}

}  // namespace

std::map<std::string, std::string> vocabulary_files(const Vocabularies& vocabularies, bool is_shared) {
  std::map<std::string, std::string> files;
  const auto add = [&](std::string_view prefix, const Vocabulary& vocabulary) {
    files[join(is_shared ? "" : prefix, vocabulary.file_name())] = vocabulary.serialize();
    if (std::string bytes = vocabulary.serialize_case(); !bytes.empty()) {
      files[join(prefix, kCaseFile)] = std::move(bytes);
    }
  };
  add(kInputPrefix, *vocabularies.input);
  add(kOutputPrefix, *vocabularies.output);
  return files;
}

Vocabularies read_vocabularies(const ListedDirectory& files, bool is_shared, std::string_view caller) {
  const auto input = read_vocabulary(files, is_shared ? "" : kInputPrefix, caller);
  const auto output = is_shared ? input : read_vocabulary(files, kOutputPrefix, caller);
  return {apply_case_file(input, files, kInputPrefix), apply_case_file(output, files, kOutputPrefix)};
}

}  // namespace edgewise
