// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/vocabulary_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"
#include "edgewise/text/vocabulary/sentence_case.h"
#include "edgewise/text/vocabulary/vocabulary_names.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaseFile = "case.txt";

std::string join(std::string_view prefix, std::string_view name) { return std::string(prefix) + std::string(name); }

/// The vocabulary files of a directory.
class Files {
 public:
  Files(const std::map<std::string, std::string>& files, const std::filesystem::path& directory)
      : files_(files), directory_(directory) {}

  bool has(const std::string& name) const { return files_.contains(name); }
  const std::string& read(const std::string& name) const { return files_.at(name); }
  std::string path(std::string_view name) const { return (directory_ / name).string(); }

 private:
  const std::map<std::string, std::string>& files_;
  const std::filesystem::path& directory_;
};

/// Parses the vocabularies of a directory, each file once.
class VocabularyParser {
 public:
  VocabularyParser(const Files& files, std::string_view caller) : files_(files), caller_(caller) {}

  Vocabularies parse_separate() { return {parse(kInputPrefix), parse(kOutputPrefix)}; }

  Vocabularies parse_shared() {
    const std::string name = find("");
    if (!name.ends_with(kMappedFile)) {
      const auto both = parse_vocabulary(files_.read(name), files_.path(name));
      return {both, both};
    }
    const auto tokens = parse_tokens(name);
    const auto input_pieces = find_pieces(*tokens, kInputPrefix);
    const auto output_pieces = find_pieces(*tokens, kOutputPrefix);
    const auto input = make_mapped_vocabulary(tokens, input_pieces);
    if (input_pieces == output_pieces) return {input, input};
    return {input, make_mapped_vocabulary(tokens, output_pieces)};
  }

 private:
  std::string find(std::string_view prefix) const {
    return only_vocabulary_file(
        prefix, [this](const std::string& name) { return files_.has(name); },
        fmt::format("{}: {} lists", caller_, files_.path(kManifestName)));
  }

  std::shared_ptr<const Vocabulary> parse(std::string_view prefix) {
    const std::string name = find(prefix);
    if (!name.ends_with(kMappedFile)) return parse_vocabulary(files_.read(name), files_.path(name));
    const auto tokens = parse_tokens(name);
    return make_mapped_vocabulary(tokens, find_pieces(*tokens, prefix));
  }

  std::shared_ptr<const TokenIndex> parse_tokens(const std::string& name) const {
    const std::string path = files_.path(name);
    return std::make_shared<TokenIndex>(parse_token_list(files_.read(name), path),
                                        fmt::format("load_vocabulary: {}", path));
  }

  /// Parses the SentencePiece model of a side, or the model of both sides; null if the tokens need none.
  std::shared_ptr<const PieceCodec> find_pieces(const TokenIndex& tokens, std::string_view prefix) {
    const std::string own = join(prefix, kPiecesFile);
    const std::string both(kPiecesFile);
    const auto check_files = [&](bool condition, std::string_view lists, std::string_view needs) {
      check(condition, "{}: {} lists {}, needs {}", caller_, files_.path(kManifestName), lists, needs);
    };
    if (tokens.list().text == TokenText::kTokens) {
      check_files(!files_.has(own) && !files_.has(both), files_.has(own) ? own : both,
                  "none, because the vocabulary's text is tokens");
      return nullptr;
    }
    check_files(files_.has(own) || files_.has(both), fmt::format("none of {} and {}", own, both), "one of them");
    check_files(!files_.has(own) || !files_.has(both), fmt::format("both of {} and {}", own, both), "one of them");
    if (files_.has(own)) return parse_pieces(own);
    if (!both_pieces_) both_pieces_ = parse_pieces(both);
    return both_pieces_;
  }

  std::shared_ptr<const PieceCodec> parse_pieces(const std::string& name) const {
    return std::make_shared<PieceCodec>(files_.read(name), files_.path(name), SpecialPieces::kAny);
  }

  const Files& files_;
  std::string_view caller_;
  std::shared_ptr<const PieceCodec> both_pieces_;  // null until it is parsed
};

std::shared_ptr<const Vocabulary> apply_case_file(std::shared_ptr<const Vocabulary> vocabulary, const Files& files,
                                                  std::string_view prefix) {
  const std::string name = join(prefix, kCaseFile);
  if (!files.has(name)) return vocabulary;
  return with_case(std::move(vocabulary), SentenceCase::parse(files.read(name), files.path(name)));
}

bool is_vocabulary_file(std::string_view name) {
  for (const std::string_view prefix : {kInputPrefix, kOutputPrefix}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  constexpr std::array kNames = {kLookupFile, kSentencePieceFile, kMappedFile, kPiecesFile, kCaseFile};
  return std::ranges::find(kNames, name) != kNames.end();
}

void add_pieces(const Vocabularies& vocabularies, std::map<std::string, std::string>& files) {
  std::string input = vocabularies.input->serialize_pieces();
  std::string output = vocabularies.output->serialize_pieces();
  if (input.empty() && output.empty()) return;
  if (input == output) {
    files[std::string(kPiecesFile)] = std::move(input);
    return;
  }
  if (!input.empty()) files[join(kInputPrefix, kPiecesFile)] = std::move(input);
  if (!output.empty()) files[join(kOutputPrefix, kPiecesFile)] = std::move(output);
}

}  // namespace

bool have_same_files(const Vocabulary& a, const Vocabulary& b) {
  return &a == &b || (a.serialize() == b.serialize() && a.serialize_pieces() == b.serialize_pieces() &&
                      a.serialize_case() == b.serialize_case());
}

std::map<std::string, std::string> serialize_vocabularies(const Vocabularies& vocabularies, bool is_shared) {
  std::map<std::string, std::string> files;
  const auto add = [&](std::string_view prefix, const Vocabulary& vocabulary) {
    files[join(is_shared ? "" : prefix, vocabulary.file_name())] = vocabulary.serialize();
    if (std::string bytes = vocabulary.serialize_case(); !bytes.empty()) {
      files[join(prefix, kCaseFile)] = std::move(bytes);
    }
  };
  add(kInputPrefix, *vocabularies.input);
  add(kOutputPrefix, *vocabularies.output);
  add_pieces(vocabularies, files);
  return files;
}

Vocabularies parse_vocabularies(const std::map<std::string, std::string>& bytes, bool is_shared,
                                const std::filesystem::path& directory, std::string_view caller) {
  const Files files(bytes, directory);
  VocabularyParser parser(files, caller);
  Vocabularies vocabularies = is_shared ? parser.parse_shared() : parser.parse_separate();
  return {apply_case_file(std::move(vocabularies.input), files, kInputPrefix),
          apply_case_file(std::move(vocabularies.output), files, kOutputPrefix)};
}

Vocabularies read_vocabularies(const ListedDirectory& files, bool is_shared, std::string_view caller) {
  std::map<std::string, std::string> bytes;
  for (const ManifestEntry& entry : files.manifest().files) {
    if (is_vocabulary_file(entry.name)) bytes[entry.name] = files.read(entry.name, kMaxVocabularyBytes);
  }
  return parse_vocabularies(bytes, is_shared, files.path(), caller);
}

}  // namespace edgewise
