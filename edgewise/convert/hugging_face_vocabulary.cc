// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/hugging_face_vocabulary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_settings.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/neutral_settings.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"

namespace edgewise {
namespace {

/// Returns whether a special token is a language: `__fr__` of M2M-100, `fra_Latn` of NLLB.
bool is_language(std::string_view token) { return !token.starts_with('<'); }

/// Returns the name of a language: `__fr__` is `fr`.
std::string language_name(const std::string& token) {
  const bool is_marked = token.size() > 4 && token.starts_with("__") && token.ends_with("__");
  return is_marked ? token.substr(2, token.size() - 4) : token;
}

namespace fs = std::filesystem;

constexpr std::string_view kMask = "<mask>";
constexpr std::string_view kEndToken = "</s>";
constexpr std::string_view kPaddingToken = "<pad>";

std::string where(std::string_view caller, const fs::path& path) {
  return fmt::format("{}: {}", caller, path.string());
}

/// Reads a JSON object of tokens and their numbers. Returns the tokens by number.
std::vector<std::string> read_numbered_tokens(const fs::path& path, std::string_view caller) {
  const std::string text = read_vocabulary_file(path, caller);
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

SpecialTokens special_tokens(const HuggingFaceConfig& config) {
  return {.padding = config.padding, .begin = config.begin, .end = config.end};
}

/// Returns the member `content` of a token that is an object, or else the token.
const JsonValue& content_of(const JsonValue& token) {
  const auto content = token.members.find("content");
  return content == token.members.end() ? token : content->second;
}

/// The settings of a tokenizer: tokenizer_config.json and, for the list of additional tokens, special_tokens_map.json.
struct TokenizerSettings {
  JsonSettings config;
  JsonSettings special;
};

JsonSettings read_if_exists(const fs::path& path, std::string_view caller) {
  return has_entry(path, caller) ? JsonSettings::read(path, caller) : JsonSettings(where(caller, path));
}

std::vector<std::string> decoder_tokens(const JsonSettings& config, const JsonValue& numbered, std::int64_t first) {
  constexpr const char* kKey = "added_tokens_decoder";
  std::map<std::int64_t, std::string> tokens;
  for (const auto& [number, token] : numbered.members) {
    const auto content = token.members.find("content");
    std::int64_t value = 0;
    const bool is_number = parse_number(number, at_least(0).at_most(1e9), value);
    if (!is_number || content == token.members.end()) config.refuse(kKey, describe(numbered), "tokens by number");
    if (value >= first) tokens[value] = content->second.text;
  }
  std::vector<std::string> list;
  for (const auto& [number, token] : tokens) {
    const std::int64_t expected = first + std::ssize(list);
    if (number != expected) config.refuse(kKey, fmt::format("without number {}", expected), "each number once");
    list.push_back(token);
  }
  return list;
}

/// Returns the texts of the first list of tokens, which are strings or objects with `content`.
std::vector<std::string> listed_tokens(const TokenizerSettings& files) {
  std::vector<std::string> texts;
  for (const JsonSettings* settings : {&files.config, &files.special}) {
    for (const char* key : {"extra_special_tokens", "additional_special_tokens"}) {
      const JsonValue* list = settings->find(key);
      if (list == nullptr) continue;
      for (const JsonValue& item : list->items) {
        const JsonValue& text = content_of(item);
        if (text.kind != JsonKind::kString) settings->refuse(key, describe(*list), "a list of tokens");
        texts.push_back(text.text);
      }
      if (!texts.empty()) return texts;
    }
  }
  return texts;
}

/// Returns the tokens after `first`, in the order of their numbers. Newer files list all special tokens with their
/// numbers; older files list the languages, after which NLLB has `<mask>`.
std::vector<std::string> tokens_from(const TokenizerSettings& files, std::int64_t first, bool has_mask) {
  const JsonValue* numbered = files.config.find("added_tokens_decoder");
  if (numbered != nullptr) return decoder_tokens(files.config, *numbered, first);
  std::vector<std::string> tokens = listed_tokens(files);
  std::erase(tokens, kMask);
  if (has_mask && !tokens.empty()) tokens.emplace_back(kMask);
  return tokens;
}

/// Returns the name of a special token, a string or an object with `content`.
std::string token_name(const JsonSettings& settings, const std::string& key, std::string_view by_default) {
  const JsonValue* value = settings.find(key);
  if (value == nullptr) return std::string(by_default);
  const JsonValue& content = content_of(*value);
  if (&content == value && value->kind != JsonKind::kString)
    settings.refuse(key, describe(*value), "the name of a token");
  return content.text;
}

/// Throws Error unless `tokens` have, at the number of a special token, the name that the tokenizer uses for it.
void check_name(const std::vector<std::string>& tokens, std::int64_t number, std::string_view name,
                const std::string& where) {
  const bool is_listed = number < std::ssize(tokens);
  const std::string found = is_listed ? tokens[static_cast<std::size_t>(number)] : "";
  check(is_listed && found == name, "{}: token {} is {}, needs {} as in the settings of the tokenizer", where, number,
        is_listed ? quote(found) : "missing", quote(name));
}

HuggingFaceVocabulary read_marian(const fs::path& directory, const HuggingFaceConfig& config,
                                  const JsonSettings& settings, std::string_view caller) {
  const bool is_shared = !settings.boolean("separate_vocabs").value_or(false);
  if (!is_shared && config.has_shared_embedding) {
    settings.refuse("separate_vocabs", "true", "false, as config.json has share_encoder_decoder_embeddings");
  }
  const std::string unknown = token_name(settings, "unk_token", kUnknownToken);
  const std::string end = token_name(settings, "eos_token", kEndToken);
  const std::string padding = token_name(settings, "pad_token", kPaddingToken);
  const auto read_list = [&](const char* file, std::int64_t size, bool is_output) {
    const fs::path path = directory / file;
    std::vector<std::string> tokens = read_numbered_tokens(path, caller);
    check_name(tokens, config.end, end, where(caller, path));
    if (is_output) check_name(tokens, config.padding, padding, where(caller, path));
    return TokenListBuilder(std::move(tokens), size, special_tokens(config), unknown, where(caller, path));
  };
  TokenListBuilder input = read_list("vocab.json", config.model.input_vocabulary, is_shared);
  input.list().rules.forbidden = config.forbidden;
  if (is_shared) return {.vocabularies = make_marian_vocabularies(directory, std::move(input), std::nullopt, caller)};
  TokenListBuilder output = read_list("target_vocab.json", config.model.output_vocabulary, true);
  output.list().rules.forbidden = config.forbidden;
  return {.vocabularies = make_marian_vocabularies(directory, std::move(input), std::move(output), caller),
          .is_shared = false};
}

/// Returns the tokens of an NLLB model without those of languages: its SentencePiece model has three special pieces,
/// which become four others.
std::vector<std::string> nllb_tokens(const PieceCodec& pieces) {
  constexpr std::size_t kSpecialPieces = 3;
  std::vector<std::string> tokens = {"<s>", "<pad>", "</s>", std::string(kUnknownToken)};
  for (std::size_t i = kSpecialPieces; i < pieces.pieces().size(); ++i) tokens.push_back(pieces.pieces()[i].text);
  return tokens;
}

HuggingFaceVocabulary read_multilingual(const fs::path& directory, const HuggingFaceConfig& config,
                                        const TokenizerSettings& settings, std::string_view caller) {
  const fs::path list = directory / "vocab.json";
  const auto pieces = read_piece_codec(directory / "sentencepiece.bpe.model", caller);
  const std::string tokenizer = settings.config.text("tokenizer_class").value_or("");
  const bool is_nllb = tokenizer != "M2M100Tokenizer" && !has_entry(list, caller);
  MultilingualTokens tokens = {
      .listed = is_nllb ? nllb_tokens(*pieces) : read_numbered_tokens(list, caller), .added = {}, .is_nllb = is_nllb};
  const std::string place = where(caller, directory);
  check_name(tokens.listed, config.end, token_name(settings.config, "eos_token", kEndToken), place);
  check_name(tokens.listed, config.padding, token_name(settings.config, "pad_token", kPaddingToken), place);
  tokens.added = tokens_from(settings, std::ssize(tokens.listed), is_nllb);
  if (settings.config.boolean("legacy_behaviour").value_or(false)) tokens.place = LanguagePlace::kAfterInput;
  TokenListBuilder builder =
      multilingual_list(tokens, config.model.input_vocabulary, special_tokens(config), where(caller, directory));
  builder.list().rules.forbidden = config.forbidden;
  check(!builder.list().rules.languages.empty(),
        "{}: {} has neither added_tokens_decoder nor additional_special_tokens in tokenizer_config.json or "
        "special_tokens_map.json, needs the tokens of the languages",
        caller, directory.string());
  const auto index = std::move(builder).finish();
  const auto vocabulary = make_mapped_vocabulary(index, pieces);
  return {.vocabularies = {vocabulary, vocabulary},
          .input_language = settings.config.text("src_lang").value_or(""),
          .output_language = settings.config.text("tgt_lang").value_or("")};
}

/// Makes the language of config.json's forced token the default.
void use_forced_language(const HuggingFaceConfig& config, const std::string& where, HuggingFaceVocabulary& vocabulary) {
  if (!config.forced_token) return;
  const auto& languages = vocabulary.vocabularies.output->rules().languages;
  const auto found = std::ranges::find(languages, *config.forced_token, &Language::token);
  check(found != languages.end(), "{}: forced_bos_token_id is {}, needs the token of a language", where,
        *config.forced_token);
  vocabulary.output_language = found->name;
}

}  // namespace

TokenListBuilder multilingual_list(const MultilingualTokens& tokens, std::int64_t size, const SpecialTokens& special,
                                   std::string where) {
  TokenListBuilder builder(tokens.listed, size, special, kUnknownToken, std::move(where));
  SentenceRules& rules = builder.list().rules;
  builder.list().text = tokens.is_nllb ? TokenText::kMetaspace : TokenText::kPieces;
  builder.add_special("<s>");
  for (const std::string& token : tokens.added) {
    const std::int64_t number = builder.add_special(token);
    if (is_language(token)) rules.languages.push_back({language_name(token), number});
  }
  rules.language_place = tokens.place;
  return builder;
}

HuggingFaceVocabulary read_hugging_face_vocabulary(const fs::path& directory, const HuggingFaceConfig& config,
                                                   std::string_view caller) {
  const TokenizerSettings settings = {read_if_exists(directory / "tokenizer_config.json", caller),
                                      read_if_exists(directory / "special_tokens_map.json", caller)};
  HuggingFaceVocabulary vocabulary = config.family == HuggingFaceFamily::kMarian
                                         ? read_marian(directory, config, settings.config, caller)
                                         : read_multilingual(directory, config, settings, caller);
  use_forced_language(config, where(caller, directory), vocabulary);
  constexpr std::int64_t kMarianDefault = 512;
  if (config.family == HuggingFaceFamily::kMarian) vocabulary.longest = kMarianDefault;
  // Some tokenizers have the number 10^30, which means none.
  constexpr double kNone = 1e9;
  const std::optional<double> longest = settings.config.number("model_max_length");
  if (longest && *longest > 0 && *longest < kNone) vocabulary.longest = static_cast<std::int64_t>(*longest);
  const JsonValue* pieces = settings.config.find("sp_model_kwargs");
  if (pieces != nullptr && !pieces->members.empty()) settings.config.refuse("sp_model_kwargs", "set", "{}");
  settings.config.expect_all_known(kNeutralTokenizerMembers);
  return vocabulary;
}

}  // namespace edgewise
