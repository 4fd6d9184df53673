// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/ctranslate2_vocabulary.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/token_list_builder.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kShared = "shared_vocabulary";
constexpr std::string_view kSource = "source_vocabulary";
constexpr std::string_view kTarget = "target_vocabulary";

std::optional<fs::path> find_list(const fs::path& directory, std::string_view name, std::string_view caller) {
  for (const char* extension : {".json", ".txt"}) {
    const fs::path path = directory / (std::string(name) + extension);
    if (has_entry(path, caller)) return path;
  }
  return std::nullopt;
}

std::vector<std::string> parse_json_list(std::string_view text, const std::string& where) {
  std::vector<std::string> tokens;
  JsonScanner json(text, where);
  json.read_array("the file", [&] { tokens.push_back(json.read_string("a token")); });
  json.expect_end();
  return tokens;
}

/// Splits a text at line feeds. Lines lose a carriage return at their end if all of them have one; otherwise, it is a
/// part of a token.
std::vector<std::string> parse_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (std::ranges::all_of(lines, [](const std::string& line) { return line.ends_with('\r'); })) {
    for (std::string& line : lines) line.pop_back();
  }
  return lines;
}

std::vector<std::string> read_list(const fs::path& path, const std::string& unknown, std::string_view caller) {
  const std::string text = read_vocabulary_file(path, caller);
  std::vector<std::string> tokens = path.extension() == ".json"
                                        ? parse_json_list(text, fmt::format("{}: {}", caller, path.string()))
                                        : parse_lines(text);
  if (std::ranges::find(tokens, unknown) == tokens.end()) tokens.push_back(unknown);
  return tokens;
}

std::optional<std::int64_t> find_token(const std::vector<std::string>& tokens, std::string_view token) {
  const auto found = std::ranges::find(tokens, token);
  if (found == tokens.end()) return std::nullopt;
  return found - tokens.begin();
}

std::int64_t require_token(const std::vector<std::string>& tokens, std::string_view token, const std::string& where) {
  const std::optional<std::int64_t> number = find_token(tokens, token);
  check(number.has_value(), "{} has no token {}, needs one", where, quote(token));
  return *number;
}

std::optional<std::int64_t> find_padding(const std::vector<std::string>& tokens) {
  const std::optional<std::int64_t> padding = find_token(tokens, "<pad>");
  return padding ? padding : find_token(tokens, "<blank>");
}

bool is_small(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_capital(char letter) { return letter >= 'A' && letter <= 'Z'; }

/// Returns whether a token has the form of an NLLB language, `fra_Latn`.
bool is_nllb_language(std::string_view token) {
  constexpr std::string_view kForm = "aaa_Aaaa";
  return std::ranges::equal(token, kForm, [](char letter, char form) {
    return form == 'a' ? is_small(letter) : form == 'A' ? is_capital(letter) : letter == form;
  });
}

/// Returns the name of the language whose token this is: `fr` for `__fr__`, `fra_Latn` for itself; empty for others.
std::string_view language_of(std::string_view token) {
  constexpr std::string_view kMark = "__";
  if (is_nllb_language(token)) return token;
  if (token.size() <= 2 * kMark.size() || !token.starts_with(kMark) || !token.ends_with(kMark)) return {};
  const std::string_view name = token.substr(kMark.size(), token.size() - 2 * kMark.size());
  return std::ranges::all_of(name, is_small) ? name : std::string_view{};
}

/// Returns whether the tokens are those of M2M-100 or NLLB-200: languages stand before both sentences, and outputs
/// begin with the end token.
bool are_multilingual(const Ctranslate2Tokens& tokens, const Ctranslate2Settings& settings) {
  const auto is_language = [](const std::string& token) { return !language_of(token).empty(); };
  return tokens.are_shared() && settings.begin == settings.end && !settings.starts_from_zero &&
         std::ranges::count_if(tokens.input, is_language) > 1;
}

/// Makes the tokens of languages special; returns whether they have the names of NLLB.
bool add_languages(TokenListBuilder& builder) {
  const std::vector<std::string> tokens = builder.list().tokens;
  bool is_nllb = false;
  for (const std::string& token : tokens) {
    const std::string_view name = language_of(token);
    if (name.empty()) continue;
    builder.list().rules.languages.push_back({std::string(name), builder.add_special(token)});
    is_nllb = is_nllb || name == token;
  }
  for (const char* special : {"<s>", "<pad>", "<mask>"}) {
    if (find_token(tokens, special)) builder.add_special(special);
  }
  builder.list().rules.language_place = LanguagePlace::kBeforeBoth;
  return is_nllb;
}

using Pieces = std::shared_ptr<const PieceCodec>;

struct SidePieces {
  Pieces input;  // null if texts consist of tokens
  Pieces output;
  bool are_of_hugging_face = true;
};

SidePieces read_pieces(const fs::path& directory, std::string_view caller) {
  const fs::path source = directory / "source.spm";
  const fs::path target = directory / "target.spm";
  if (has_entry(source, caller) || has_entry(target, caller)) {
    SidePieces pieces = {read_piece_codec(source, caller), read_piece_codec(target, caller)};
    if (pieces.input->bytes() == pieces.output->bytes()) pieces.output = pieces.input;
    return pieces;
  }
  const fs::path parent = fs::weakly_canonical(directory).parent_path();
  for (const fs::path& path :
       {directory / "sentencepiece.bpe.model", directory / "sentencepiece.model", parent / "sentencepiece.model"}) {
    if (!has_entry(path, caller)) continue;
    const Pieces both = read_piece_codec(path, caller);
    return {both, both, path.stem() != "sentencepiece"};
  }
  return {};
}

class VocabularyMaker {
 public:
  VocabularyMaker(const fs::path& directory, Ctranslate2Tokens tokens, const Ctranslate2Settings& settings,
                  std::optional<std::int64_t> added, std::string_view caller)
      : tokens_(std::move(tokens)),
        settings_(settings),
        added_(added),
        where_(fmt::format("{}: {}: ", caller, directory.string())),
        pieces_(read_pieces(directory, caller)),
        is_multilingual_(are_multilingual(tokens_, settings)),
        end_input_(settings.end_input || settings.starts_from_zero || is_multilingual_) {}

  Ctranslate2Vocabulary run() {
    const bool is_shared = tokens_.are_shared();
    const auto output = finish(output_list(is_shared ? kShared : kTarget), is_shared);
    const auto input = is_shared ? output : finish(input_list(), true);
    const auto input_vocabulary = make_mapped_vocabulary(input, pieces_.input);
    const bool is_one = is_shared && pieces_.input == pieces_.output;
    return {{input_vocabulary, is_one ? input_vocabulary : make_mapped_vocabulary(output, pieces_.output)}, end_input_};
  }

 private:
  TokenListBuilder output_list(std::string_view name) {
    const std::string where = where_ + std::string(name);
    std::vector<std::string>& tokens = tokens_.of_output();
    const std::int64_t begin = added_ ? *added_ : require_token(tokens, settings_.begin, where);
    const SpecialTokens special = {.padding = find_padding(tokens).value_or(begin),
                                   .begin = begin,
                                   .end = require_token(tokens, settings_.end, where)};
    TokenListBuilder builder = make_list(tokens, special, where);
    if (added_) builder.list().rules.forbidden = {*added_};
    return builder;
  }

  /// Makes the list of a vocabulary that has inputs alone. It may have no begin and, without `end_input`, no end token.
  TokenListBuilder input_list() {
    const std::string where = where_ + std::string(kSource);
    const auto begin = find_token(tokens_.input, settings_.begin);
    const auto end = find_token(tokens_.input, settings_.end);
    if (end_input_) require_token(tokens_.input, settings_.end, where);
    std::optional<std::int64_t> padding = find_padding(tokens_.input);
    if (!padding) padding = begin ? begin : end;
    check(padding.has_value(), "{} has no token <pad>, <blank>, {} or {}, needs one of them", where,
          quote(settings_.begin), quote(settings_.end));
    return make_list(tokens_.input,
                     {.padding = *padding, .begin = begin.value_or(*padding), .end = end.value_or(*padding)}, where);
  }

  TokenListBuilder make_list(std::vector<std::string>& tokens, const SpecialTokens& special, const std::string& where) {
    const auto size = std::ssize(tokens);
    TokenListBuilder builder(std::move(tokens), size, special, settings_.unknown, where);
    builder.list().rules.omitted.push_back(special.begin);
    builder.list().rules.end_input = end_input_;
    return builder;
  }

  std::shared_ptr<const TokenIndex> finish(TokenListBuilder builder, bool is_input) const {
    TokenList& list = builder.list();
    list.text = pieces_.input == nullptr ? TokenText::kTokens : TokenText::kPieces;
    if (is_multilingual_) {
      const bool is_nllb = add_languages(builder);
      if (is_nllb && list.text == TokenText::kPieces) list.text = TokenText::kMetaspace;
    } else if (is_input) {
      builder.add_marian_languages();
    }
    if (pieces_.input != nullptr && !pieces_.are_of_hugging_face) builder.hide_names();
    return std::move(builder).finish();
  }

  Ctranslate2Tokens tokens_;
  const Ctranslate2Settings& settings_;
  std::optional<std::int64_t> added_;
  std::string where_;
  SidePieces pieces_;
  bool is_multilingual_;
  bool end_input_;
};

}  // namespace

Ctranslate2Tokens read_ctranslate2_tokens(const fs::path& directory, const Ctranslate2Settings& settings,
                                          std::string_view caller) {
  if (const auto shared = find_list(directory, kShared, caller)) {
    return {.input = read_list(*shared, settings.unknown, caller), .output = {}};
  }
  const auto source = find_list(directory, kSource, caller);
  const auto target = find_list(directory, kTarget, caller);
  check(source && target, "{}: {} has no vocabulary, needs {}.json, or {}.json and {}.json, or the same as .txt",
        caller, directory.string(), kShared, kSource, kTarget);
  return {.input = read_list(*source, settings.unknown, caller),
          .output = read_list(*target, settings.unknown, caller)};
}

Ctranslate2Vocabulary make_ctranslate2_vocabulary(const fs::path& directory, Ctranslate2Tokens tokens,
                                                  const Ctranslate2Settings& settings,
                                                  std::optional<std::int64_t> added, std::string_view caller) {
  return VocabularyMaker(directory, std::move(tokens), settings, added, caller).run();
}

}  // namespace edgewise
