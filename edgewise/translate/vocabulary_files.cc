// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/vocabulary_files.h"

#include <fmt/format.h>

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/text/cased_vocabulary.h"
#include "edgewise/text/mapped_vocabulary.h"
#include "edgewise/text/vocabulary_names.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaseFile = "case.txt";

std::string join(std::string_view prefix, std::string_view name) { return std::string(prefix) + std::string(name); }

/// Reads the vocabularies of a directory, each file once.
class VocabularyReader {
 public:
  VocabularyReader(const ListedDirectory& files, std::string_view caller) : files_(files), caller_(caller) {}

  Vocabularies read_separate() { return {read(kInputPrefix), read(kOutputPrefix)}; }

  Vocabularies read_shared() {
    const std::string name = find("");
    if (!name.ends_with(kMappedFile)) {
      const auto both = parse_vocabulary(read_file(name), files_.path(name));
      return {both, both};
    }
    const auto tokens = read_tokens(name);
    const auto input_pieces = read_pieces(*tokens, kInputPrefix);
    const auto output_pieces = read_pieces(*tokens, kOutputPrefix);
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

  std::string read_file(const std::string& name) const { return files_.read(name, kMaxVocabularyBytes); }

  std::shared_ptr<const Vocabulary> read(std::string_view prefix) {
    const std::string name = find(prefix);
    if (!name.ends_with(kMappedFile)) return parse_vocabulary(read_file(name), files_.path(name));
    const auto tokens = read_tokens(name);
    return make_mapped_vocabulary(tokens, read_pieces(*tokens, prefix));
  }

  std::shared_ptr<const TokenIndex> read_tokens(const std::string& name) const {
    const std::string path = files_.path(name);
    return std::make_shared<TokenIndex>(parse_token_list(read_file(name), path),
                                        fmt::format("load_vocabulary: {}", path));
  }

  /// Reads the SentencePiece model of a side, or the model of both sides; null if the tokens need none.
  std::shared_ptr<const PieceCodec> read_pieces(const TokenIndex& tokens, std::string_view prefix) {
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
    return std::make_shared<PieceCodec>(read_file(name), files_.path(name), SpecialPieces::kAny);
  }

  const ListedDirectory& files_;
  std::string_view caller_;
  std::shared_ptr<const PieceCodec> both_pieces_;  // null until it is read
};

std::shared_ptr<const Vocabulary> apply_case_file(std::shared_ptr<const Vocabulary> vocabulary,
                                                  const ListedDirectory& files, std::string_view prefix) {
  const std::string name = join(prefix, kCaseFile);
  if (!files.has(name)) return vocabulary;
  return with_case(std::move(vocabulary), SentenceCase::parse(files.read(name, kMaxVocabularyBytes), files.path(name)));
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

bool are_equal(const Vocabulary& a, const Vocabulary& b) {
  return &a == &b || (a.serialize() == b.serialize() && a.serialize_pieces() == b.serialize_pieces() &&
                      a.serialize_case() == b.serialize_case());
}

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
  add_pieces(vocabularies, files);
  return files;
}

Vocabularies read_vocabularies(const ListedDirectory& files, bool is_shared, std::string_view caller) {
  VocabularyReader reader(files, caller);
  Vocabularies vocabularies = is_shared ? reader.read_shared() : reader.read_separate();
  return {apply_case_file(std::move(vocabularies.input), files, kInputPrefix),
          apply_case_file(std::move(vocabularies.output), files, kOutputPrefix)};
}

}  // namespace edgewise
