// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/vocabulary_files.h"

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/text/cased_vocabulary.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaseFile = "case.txt";

std::string join(std::string_view prefix, std::string_view name) { return std::string(prefix) + std::string(name); }

std::shared_ptr<const Vocabulary> read_vocabulary(const std::filesystem::path& directory, std::string_view prefix,
                                                  std::string_view caller) {
  for (const std::string_view name : {"vocabulary.txt", "vocabulary.model"}) {
    const std::filesystem::path file = directory / join(prefix, name);
    if (std::filesystem::exists(file)) return parse_vocabulary(read_file(file, caller), file.string());
  }
  fail("{}: {} has no {}vocabulary.txt or {}vocabulary.model, needs one of them", caller, directory.string(), prefix,
       prefix);
}

std::shared_ptr<const Vocabulary> apply_case_file(std::shared_ptr<const Vocabulary> vocabulary,
                                                  const std::filesystem::path& directory, std::string_view prefix,
                                                  std::string_view caller) {
  const std::filesystem::path file = directory / join(prefix, kCaseFile);
  if (!std::filesystem::exists(file)) return vocabulary;
  return with_case(std::move(vocabulary), SentenceCase::parse(read_file(file, caller), file.string()));
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

Vocabularies read_vocabularies(const std::filesystem::path& directory, bool is_shared, std::string_view caller) {
  const auto input = read_vocabulary(directory, is_shared ? "" : kInputPrefix, caller);
  const auto output = is_shared ? input : read_vocabulary(directory, kOutputPrefix, caller);
  return {apply_case_file(input, directory, kInputPrefix, caller),
          apply_case_file(output, directory, kOutputPrefix, caller)};
}

}  // namespace edgewise
