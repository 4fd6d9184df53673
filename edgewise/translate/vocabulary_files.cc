// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/vocabulary_files.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"
#include "edgewise/text/vocabulary/vocabulary_names.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaseFile = "case.txt";

std::string join(std::string_view prefix, std::string_view name) { return std::string(prefix) + std::string(name); }

/// Parses the vocabularies of a directory, each file once.
class VocabularyParser {
 public:
  VocabularyParser(const std::map<std::string, std::string>& files, const std::filesystem::path& directory,
                   std::string_view caller)
      : files_(files), directory_(directory), caller_(caller) {}

  Vocabularies run(bool is_shared) && {
    const Vocabularies plain = is_shared ? parse_shared() : Vocabularies{parse(kInputPrefix), parse(kOutputPrefix)};
    return {apply_case_file(plain.input, kInputPrefix), apply_case_file(plain.output, kOutputPrefix)};
  }

 private:
  Vocabularies parse_shared() {
    const std::string name = find("");
    if (!name.ends_with(kMappedFile)) {
      const auto both = parse_vocabulary(files_.at(name), path(name));
      return {both, both};
    }
    const auto tokens = parse_tokens(name);
    if (tokens->list().text == TokenText::kTokenizer) {
      const auto both = make_with_tokenizer(tokens, "");
      return {both, both};
    }
    const auto input_pieces = find_pieces(*tokens, kInputPrefix);
    const auto output_pieces = find_pieces(*tokens, kOutputPrefix);
    const auto input = make_mapped_vocabulary(tokens, input_pieces);
    if (input_pieces == output_pieces) return {input, input};
    return {input, make_mapped_vocabulary(tokens, output_pieces)};
  }

  std::string path(std::string_view name) const { return (directory_ / name).string(); }

  /// Returns the name of the only vocabulary file after `prefix`.
  std::string find(std::string_view prefix) const {
    const std::string lists = fmt::format("{}: {} lists", caller_, path(kManifestName));
    std::vector<std::string> found;
    for (const std::string_view file : kVocabularyFiles) {
      if (files_.contains(join(prefix, file))) found.push_back(join(prefix, file));
    }
    check(!found.empty(), "{} none of {}{}, {}{} and {}{}, needs one of them", lists, prefix, kLookupFile, prefix,
          kSentencePieceFile, prefix, kMappedFile);
    check(found.size() == 1, "{} {}, needs one of them", lists, fmt::join(found, " and "));
    return found.front();
  }

  std::shared_ptr<const Vocabulary> parse(std::string_view prefix) {
    const std::string name = find(prefix);
    if (!name.ends_with(kMappedFile)) return parse_vocabulary(files_.at(name), path(name));
    const auto tokens = parse_tokens(name);
    if (tokens->list().text == TokenText::kTokenizer) return make_with_tokenizer(tokens, prefix);
    return make_mapped_vocabulary(tokens, find_pieces(*tokens, prefix));
  }

  std::shared_ptr<const TokenIndex> parse_tokens(const std::string& name) const {
    return std::make_shared<TokenIndex>(parse_token_list(files_.at(name), path(name)),
                                        fmt::format("load_vocabulary: {}", path(name)));
  }

  std::shared_ptr<const Vocabulary> make_with_tokenizer(std::shared_ptr<const TokenIndex> tokens,
                                                        std::string_view prefix) const {
    const std::string name = join(prefix, kTokenizerFile);
    check(files_.contains(name), "{}: {} does not list {}, needs it, because the vocabulary's text is tokenizer",
          caller_, path(kManifestName), name);
    const std::string where = fmt::format("load_vocabulary: {}", path(name));
    return make_tokenizer_vocabulary(std::move(tokens), std::make_shared<TokenizerCodec>(files_.at(name), where),
                                     where);
  }

  /// Parses the SentencePiece model of a side, or the model of both sides; null if the tokens need none.
  std::shared_ptr<const PieceCodec> find_pieces(const TokenIndex& tokens, std::string_view prefix) {
    const std::string own = join(prefix, kPiecesFile);
    const std::string both(kPiecesFile);
    const bool has_own = files_.contains(own);
    const bool has_both = files_.contains(both);
    const auto check_files = [&](bool condition, std::string_view lists, std::string_view needs) {
      check(condition, "{}: {} lists {}, needs {}", caller_, path(kManifestName), lists, needs);
    };
    if (tokens.list().text == TokenText::kTokens) {
      check_files(!has_own && !has_both, has_own ? own : both, "none, because the vocabulary's text is tokens");
      return nullptr;
    }
    check_files(has_own || has_both, fmt::format("none of {} and {}", own, both), "one of them");
    check_files(!has_own || !has_both, fmt::format("both of {} and {}", own, both), "one of them");
    if (has_own) return parse_pieces(own);
    if (!both_pieces_) both_pieces_ = parse_pieces(both);
    return both_pieces_;
  }

  std::shared_ptr<const PieceCodec> parse_pieces(const std::string& name) const {
    return std::make_shared<PieceCodec>(files_.at(name), path(name), SpecialPieces::kAny);
  }

  std::shared_ptr<const Vocabulary> apply_case_file(std::shared_ptr<const Vocabulary> vocabulary,
                                                    std::string_view prefix) const {
    const std::string name = join(prefix, kCaseFile);
    if (!files_.contains(name)) return vocabulary;
    return with_case(std::move(vocabulary), SentenceCase::parse(files_.at(name), path(name)));
  }

  const std::map<std::string, std::string>& files_;
  const std::filesystem::path& directory_;
  std::string_view caller_;
  std::shared_ptr<const PieceCodec> both_pieces_;  // null until it is parsed
};

bool is_vocabulary_file(std::string_view name) {
  for (const std::string_view prefix : {kInputPrefix, kOutputPrefix}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  constexpr std::array kNames = {kLookupFile, kSentencePieceFile, kMappedFile, kPiecesFile, kTokenizerFile, kCaseFile};
  return std::ranges::find(kNames, name) != kNames.end();
}

void add_pieces(const Vocabularies& vocabularies, bool is_shared, std::map<std::string, std::string>& files) {
  std::string input = vocabularies.input->serialize_pieces();
  std::string output = vocabularies.output->serialize_pieces();
  if (input.empty() && output.empty()) return;
  const std::string_view input_name = vocabularies.input->pieces_name();
  const std::string_view output_name = vocabularies.output->pieces_name();
  if (input == output && (input_name == kPiecesFile || is_shared)) {
    files[std::string(input_name)] = std::move(input);
    return;
  }
  if (!input.empty()) files[join(kInputPrefix, input_name)] = std::move(input);
  if (!output.empty()) files[join(kOutputPrefix, output_name)] = std::move(output);
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
  add_pieces(vocabularies, is_shared, files);
  return files;
}

Vocabularies parse_vocabularies(const std::map<std::string, std::string>& bytes, bool is_shared,
                                const std::filesystem::path& directory, std::string_view caller) {
  return VocabularyParser(bytes, directory, caller).run(is_shared);
}

Vocabularies read_vocabularies(const ListedDirectory& files, bool is_shared, std::string_view caller) {
  std::map<std::string, std::string> bytes;
  for (const ManifestEntry& entry : files.manifest().files) {
    if (is_vocabulary_file(entry.name)) bytes[entry.name] = files.read(entry.name, kMaxVocabularyBytes);
  }
  return parse_vocabularies(bytes, is_shared, files.path(), caller);
}

}  // namespace edgewise
