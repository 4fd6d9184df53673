// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/hugging_face_vocabulary.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/parse_number.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/json_settings.h"
#include "edgewise/text/mapped_vocabulary.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxVocabularyBytes = std::uint64_t{64} << 20;
constexpr std::string_view kUnknown = "<unk>";
constexpr std::string_view kMask = "<mask>";

std::string where(std::string_view caller, const fs::path& path) {
  return fmt::format("{}: {}", caller, path.string());
}

void sort_unique(std::vector<std::int64_t>& tokens) {
  std::ranges::sort(tokens);
  const auto repeated = std::ranges::unique(tokens);
  tokens.erase(repeated.begin(), repeated.end());
}

/// Reads a JSON object of tokens and their numbers. Returns the tokens by number.
std::vector<std::string> read_numbered_tokens(const fs::path& path, std::string_view caller) {
  const std::string text = read_file(path, caller, kMaxVocabularyBytes);
  JsonScanner json(text, where(caller, path));
  std::vector<std::pair<std::uint64_t, std::string>> numbered;
  json.read_object("the file",
                   [&](const std::string& token) { numbered.emplace_back(json.read_whole_number(token), token); });
  json.expect_end();
  std::ranges::sort(numbered);
  std::vector<std::string> tokens;
  for (auto& [number, token] : numbered) {
    check(number == tokens.size(), "{}: {} has number {}, needs {}, because the numbers of tokens count from 0",
          where(caller, path), quote(token), number, tokens.size());
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::shared_ptr<const PieceCodec> read_pieces(const fs::path& path, std::string_view caller) {
  return std::make_shared<const PieceCodec>(read_file(path, caller, kMaxVocabularyBytes), path.string(), SpecialPieces::kAny);
}

/// The settings of a tokenizer: tokenizer_config.json and, for the list of additional tokens, special_tokens_map.json.
class TokenizerSettings {
 public:
  TokenizerSettings(const fs::path& directory, std::string_view caller)
      : config_(read_if_exists(directory / "tokenizer_config.json", caller)),
        special_(read_if_exists(directory / "special_tokens_map.json", caller)) {}

  const JsonSettings& config() const { return config_; }

  /// Returns the tokens behind `first`, in the order of their numbers. Newer files list all special tokens with their
  /// numbers; older files list the languages, behind which NLLB has `<mask>`.
  std::vector<std::string> tokens_from(std::int64_t first, bool has_mask) const {
    if (const JsonValue* numbered = config_.find("added_tokens_decoder")) return numbered_tokens(*numbered, first);
    std::vector<std::string> tokens = listed_tokens();
    std::erase(tokens, kMask);
    if (has_mask && !tokens.empty()) tokens.emplace_back(kMask);
    return tokens;
  }

 private:
  std::vector<std::string> numbered_tokens(const JsonValue& numbered, std::int64_t first) const {
    constexpr const char* kKey = "added_tokens_decoder";
    std::map<std::int64_t, std::string> tokens;
    for (const auto& [number, token] : numbered.members) {
      const auto content = token.members.find("content");
      std::int64_t value = 0;
      const bool is_number = parse_number(number, at_least(0).at_most(1e9), value);
      if (!is_number || content == token.members.end()) config_.refuse(kKey, describe(numbered), "tokens by number");
      if (value >= first) tokens[value] = content->second.text;
    }
    std::vector<std::string> list;
    for (const auto& [number, token] : tokens) {
      const std::int64_t expected = first + std::ssize(list);
      if (number != expected) config_.refuse(kKey, fmt::format("without number {}", expected), "each number once");
      list.push_back(token);
    }
    return list;
  }

  std::vector<std::string> listed_tokens() const {
    for (const JsonSettings* settings : {&config_, &special_}) {
      for (const char* key : {"extra_special_tokens", "additional_special_tokens"}) {
        const JsonValue* list = settings->find(key);
        if (list != nullptr && !list->items.empty()) return token_texts(*settings, key, *list);
      }
    }
    return {};
  }

  static JsonSettings read_if_exists(const fs::path& path, std::string_view caller) {
    return fs::exists(path) ? JsonSettings::read(path, caller) : JsonSettings(where(caller, path));
  }

  /// Returns the texts of tokens that are strings or objects with `content`.
  static std::vector<std::string> token_texts(const JsonSettings& settings, const char* key, const JsonValue& list) {
    std::vector<std::string> texts;
    for (const JsonValue& item : list.items) {
      const auto content = item.members.find("content");
      const JsonValue& text = content == item.members.end() ? item : content->second;
      if (text.kind != JsonKind::kString) settings.refuse(key, describe(list), "a list of tokens");
      texts.push_back(text.text);
    }
    return texts;
  }

  JsonSettings config_;
  JsonSettings special_;
};

/// Builds the list of a vocabulary's tokens.
class TokenListBuilder {
 public:
  /// `tokens` are those of a file at `where`; the model has `size` tokens.
  TokenListBuilder(std::vector<std::string> tokens, std::int64_t size, const HuggingFaceConfig& config,
                   std::string where)
      : size_(size), where_(std::move(where)) {
    list_.tokens = std::move(tokens);
    list_.rules.end_input = true;
    list_.rules.special = {
        .padding = config.padding, .unknown = find(kUnknown), .begin = config.begin, .end = config.end};
    list_.rules.forbidden = config.forbidden;
    list_.rules.omitted = {config.padding, list_.rules.special.unknown, config.end};
  }

  TokenList& list() { return list_; }

  std::int64_t find(std::string_view token) const {
    const auto found = std::ranges::find(list_.tokens, token);
    check(found != list_.tokens.end(), "{} has no token {}, needs one", where_, quote(token));
    return found - list_.tokens.begin();
  }

  /// Adds a special token behind the others, or finds it. Returns its number.
  std::int64_t add_special(const std::string& token) {
    const auto found = std::ranges::find(list_.tokens, token);
    const std::int64_t number = found - list_.tokens.begin();
    if (found == list_.tokens.end()) list_.tokens.push_back(token);
    list_.rules.omitted.push_back(number);
    return number;
  }

  std::shared_ptr<const TokenIndex> finish() && {
    const auto listed = std::ssize(list_.tokens);
    check(listed <= size_, "{} and the files beside it have {} tokens, needs at most the {} of the model", where_,
          listed, size_);
    list_.in_text = list_.rules.omitted;
    while (std::ssize(list_.tokens) < size_) {
      list_.rules.omitted.push_back(std::ssize(list_.tokens));
      list_.tokens.push_back(fmt::format("<unnamed {}>", list_.tokens.size()));
    }
    sort_unique(list_.in_text);
    sort_unique(list_.rules.omitted);
    std::ranges::sort(list_.rules.languages, {}, &Language::name);
    return std::make_shared<const TokenIndex>(std::move(list_), where_);
  }

 private:
  std::int64_t size_;
  std::string where_;
  TokenList list_;
};

/// Adds the languages that a Marian vocabulary has: the tokens `>>name<<`.
void add_marian_languages(TokenList& list) {
  constexpr std::string_view kOpen = ">>", kClose = "<<";
  for (std::size_t i = 0; i < list.tokens.size(); ++i) {
    const std::string_view token = list.tokens[i];
    if (token.size() <= kOpen.size() + kClose.size() || !token.starts_with(kOpen) || !token.ends_with(kClose)) continue;
    const std::string_view name = token.substr(kOpen.size(), token.size() - kOpen.size() - kClose.size());
    list.rules.languages.push_back({std::string(name), static_cast<std::int64_t>(i)});
  }
  if (!list.rules.languages.empty()) list.rules.language_place = LanguagePlace::kOutputBeforeInput;
}

HuggingFaceVocabulary read_marian(const fs::path& directory, const HuggingFaceConfig& config,
                                  const JsonSettings& settings, std::string_view caller) {
  const bool is_shared = !settings.boolean("separate_vocabs").value_or(false);
  if (!is_shared && config.has_shared_embedding) {
    settings.refuse("separate_vocabs", "true", "false, as config.json has share_encoder_decoder_embeddings");
  }
  const auto read_tokens = [&](const char* file, std::int64_t size, bool has_languages) {
    const fs::path path = directory / file;
    TokenListBuilder tokens(read_numbered_tokens(path, caller), size, config, where(caller, path));
    if (has_languages) add_marian_languages(tokens.list());
    return std::move(tokens).finish();
  };
  const auto input_tokens = read_tokens("vocab.json", config.model.input_vocabulary, true);
  auto output_tokens = input_tokens;
  if (!is_shared) output_tokens = read_tokens("target_vocab.json", config.model.output_vocabulary, false);
  const auto input_pieces = read_pieces(directory / "source.spm", caller);
  auto output_pieces = read_pieces(directory / "target.spm", caller);
  if (output_pieces->bytes() == input_pieces->bytes()) output_pieces = input_pieces;
  return {.vocabularies = {make_mapped_vocabulary(input_tokens, input_pieces),
                           make_mapped_vocabulary(output_tokens, output_pieces)},
          .is_shared = is_shared};
}

/// Returns the tokens of an NLLB model without those of languages: its SentencePiece model has three special pieces,
/// which become four others.
std::vector<std::string> nllb_tokens(const PieceCodec& pieces) {
  constexpr std::size_t kSpecialPieces = 3;
  std::vector<std::string> tokens = {"<s>", "<pad>", "</s>", std::string(kUnknown)};
  for (std::size_t i = kSpecialPieces; i < pieces.pieces().size(); ++i) tokens.push_back(pieces.pieces()[i].text);
  return tokens;
}

/// Returns whether a special token is a language: `__fr__` of M2M-100, `fra_Latn` of NLLB.
bool is_language(const std::string& token) { return !token.starts_with('<'); }

/// Returns the name of a language: `__fr__` is `fr`.
std::string language_name(const std::string& token) {
  const bool is_marked = token.size() > 4 && token.starts_with("__") && token.ends_with("__");
  return is_marked ? token.substr(2, token.size() - 4) : token;
}

HuggingFaceVocabulary read_multilingual(const fs::path& directory, const HuggingFaceConfig& config,
                                        const TokenizerSettings& settings, std::string_view caller) {
  const fs::path list = directory / "vocab.json";
  const auto pieces = read_pieces(directory / "sentencepiece.bpe.model", caller);
  const bool is_nllb = !fs::exists(list);
  TokenListBuilder tokens(is_nllb ? nllb_tokens(*pieces) : read_numbered_tokens(list, caller),
                          config.model.input_vocabulary, config, where(caller, directory));
  SentenceRules& rules = tokens.list().rules;
  tokens.list().text = is_nllb ? TokenText::kMetaspace : TokenText::kPieces;
  tokens.add_special("<s>");
  for (const std::string& token : settings.tokens_from(std::ssize(tokens.list().tokens), is_nllb)) {
    const std::int64_t number = tokens.add_special(token);
    if (is_language(token)) rules.languages.push_back({language_name(token), number});
  }
  check(!rules.languages.empty(),
        "{}: {} has neither added_tokens_decoder nor additional_special_tokens, needs the tokens of the languages",
        caller, directory.string());
  const bool is_legacy = settings.config().boolean("legacy_behaviour").value_or(false);
  rules.language_place = is_legacy ? LanguagePlace::kAfterInput : LanguagePlace::kBeforeBoth;
  const auto index = std::move(tokens).finish();
  const auto vocabulary = make_mapped_vocabulary(index, pieces);
  return {.vocabularies = {vocabulary, vocabulary},
          .input_language = settings.config().text("src_lang").value_or(""),
          .output_language = settings.config().text("tgt_lang").value_or("")};
}

/// Makes the language of config.json's forced token the default.
void use_forced_language(const HuggingFaceConfig& config, std::string_view caller, HuggingFaceVocabulary& vocabulary) {
  if (!config.forced_token) return;
  const auto& languages = vocabulary.vocabularies.output->rules().languages;
  const auto found = std::ranges::find(languages, *config.forced_token, &Language::token);
  check(found != languages.end(), "{}: forced_bos_token_id is {}, needs the token of a language", caller,
        *config.forced_token);
  vocabulary.output_language = found->name;
}

}  // namespace

HuggingFaceVocabulary read_hugging_face_vocabulary(const fs::path& directory, const HuggingFaceConfig& config,
                                                   std::string_view caller) {
  const TokenizerSettings settings(directory, caller);
  HuggingFaceVocabulary vocabulary = config.family == HuggingFaceFamily::kMarian
                                         ? read_marian(directory, config, settings.config(), caller)
                                         : read_multilingual(directory, config, settings, caller);
  use_forced_language(config, caller, vocabulary);
  // Some tokenizers have the number 10^30, which means none.
  constexpr double kNone = 1e9;
  const std::optional<double> longest = settings.config().number("model_max_length");
  if (longest && *longest > 0 && *longest < kNone) vocabulary.longest = static_cast<std::int64_t>(*longest);
  return vocabulary;
}

}  // namespace edgewise
