// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/hugging_face_tokenizer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/convert/export_checks.h"
#include "edgewise/convert/exported_content.h"
#include "edgewise/convert/hugging_face_vocabulary.h"

namespace edgewise {
namespace {

using Files = std::map<std::string, std::string>;

constexpr const char* kTokenizerConfig = "tokenizer_config.json";

/// Returns the texts of the tokens without those at the end that the imported files did not name.
std::vector<std::string> named_tokens(const TokenList& list) {
  std::vector<std::string> tokens = list.tokens;
  while (!tokens.empty() && tokens.back() == unnamed_token(tokens.size() - 1)) tokens.pop_back();
  return tokens;
}

std::string numbered_tokens(const std::vector<std::string>& tokens) {
  JsonObject json;
  for (std::size_t i = 0; i < tokens.size(); ++i) json.add(tokens[i], i);
  return json.text() + "\n";
}

class TokenizerWriter {
 public:
  TokenizerWriter(const ModelFiles& model, std::int64_t longest_input, std::string_view caller)
      : model_(model),
        input_(*model.codec.vocabularies.input),
        output_(*model.codec.vocabularies.output),
        caller_(caller) {
    if (longest_input > 0) settings_.add("model_max_length", longest_input);
  }

  Files write_marian() && {
    if (!model_.codec.end_input) {
      refuse_option(caller_, "data.end_input", "false",
                    "true, because MarianTokenizer ends each input with the end token; train with data.end_input=true");
    }
    const bool is_shared = model_.experiment.vocabulary.shared;
    const std::vector<std::string> tokens = marian_tokens(input_, "input");
    const std::vector<std::string> output_tokens = marian_tokens(output_, "output");
    settings_.add("tokenizer_class", "MarianTokenizer").add("separate_vocabs", !is_shared);
    add_special_tokens(tokens, output_tokens);
    files_["vocab.json"] = numbered_tokens(tokens);
    if (!is_shared) files_["target_vocab.json"] = numbered_tokens(output_tokens);
    files_["source.spm"] = piece_model(input_);
    files_["target.spm"] = piece_model(output_);
    return finish();
  }

  Files write_multilingual() && {
    check(input_.kind() == VocabularyKind::kMapped && have_same_files(input_, output_),
          "{}: the vocabularies have no languages or are not equal, needs those of an M2M-100 or NLLB-200 model; "
          "train with model.norm_placement=post, model.final_norm=false for MarianMT",
          caller_);
    const TokenList list = mapped_tokens(input_);
    const MultilingualTokens tokens = split(list);
    expect_equal(list, multilingual_list(tokens, input_.size(), list.rules.special, "the vocabulary"), "input");
    constexpr std::int64_t kPadding = 1;  // the first position of M2M-100 has the number after it
    check(list.rules.special.padding == kPadding, "{}: the padding token has number {}, needs {} as in M2M-100",
          caller_, list.rules.special.padding, kPadding);
    settings_.add("tokenizer_class", tokens.is_nllb ? "NllbTokenizer" : "M2M100Tokenizer");
    const DataOptions& data = model_.experiment.data;
    if (!data.input_language.empty()) settings_.add("src_lang", data.input_language);
    if (!data.output_language.empty()) settings_.add("tgt_lang", data.output_language);
    if (tokens.is_nllb) {
      add_nllb(list, tokens);
    } else {
      add_m2m100(tokens);
    }
    files_["sentencepiece.bpe.model"] = piece_model(input_);
    return finish();
  }

 private:
  Files finish() {
    files_[kTokenizerConfig] = settings_.text() + "\n";
    return std::move(files_);
  }

  void expect_equal(const TokenList& list, TokenListBuilder builder, std::string_view side) const {
    builder.list().rules.forbidden = list.rules.forbidden;
    check(std::move(builder).finish()->list() == list,
          "{}: the {} vocabulary has other rules than the tokenizers of transformers, needs those of a model that was "
          "imported from transformers or Marian",
          caller_, side);
  }

  /// Returns the tokens of a side that vocab.json names, by number.
  std::vector<std::string> marian_tokens(const Vocabulary& vocabulary, std::string_view side) const {
    if (vocabulary.kind() == VocabularyKind::kSentencePiece) return all_tokens(vocabulary);
    if (vocabulary.kind() != VocabularyKind::kMapped) {
      refuse_option(caller_, "vocabulary.kind", enum_name(vocabulary.kind()),
                    "sentencepiece or mapped, because MarianTokenizer splits text by SentencePiece models");
    }
    const TokenList list = mapped_tokens(vocabulary);
    std::vector<std::string> named = named_tokens(list);
    const std::string& unknown = list.tokens[static_cast<std::size_t>(list.rules.special.unknown)];
    TokenListBuilder builder(named, vocabulary.size(), list.rules.special, unknown, "the vocabulary");
    if (side == "input" || model_.experiment.vocabulary.shared) builder.add_marian_languages();
    expect_equal(list, std::move(builder), side);
    return named;
  }

  /// Names the special tokens, which both sides must have at the same numbers.
  void add_special_tokens(const std::vector<std::string>& tokens, const std::vector<std::string>& output_tokens) {
    const SpecialTokens& special = output_.special();
    const auto add = [&](const char* key, std::int64_t number) {
      const auto index = static_cast<std::size_t>(number);
      check(index < tokens.size() && index < output_tokens.size() &&
                (key == std::string_view("pad_token") || tokens[index] == output_tokens[index]),
            "{}: token {} of the input is not the {} of the output, needs common special tokens", caller_, number, key);
      settings_.add(key, output_tokens[index]);
    };
    add("unk_token", special.unknown);
    add("eos_token", special.end);
    add("pad_token", special.padding);
    if (special.begin != special.padding) add("bos_token", special.begin);
  }

  /// Separates the tokens of languages and those after them from the others.
  MultilingualTokens split(const TokenList& list) const {
    check(!list.rules.languages.empty(), "{}: the vocabulary has no languages, needs those of M2M-100 or NLLB-200",
          caller_);
    MultilingualTokens tokens = {.listed = named_tokens(list),
                                 .added = {},
                                 .is_nllb = list.text == TokenText::kMetaspace,
                                 .place = list.rules.language_place};
    std::size_t first = tokens.listed.size();
    for (const Language& language : list.rules.languages) {
      first = std::min(first, static_cast<std::size_t>(language.token));
    }
    const auto mask = std::ranges::find(tokens.listed, "<mask>");
    if (tokens.is_nllb) first = std::min(first, static_cast<std::size_t>(mask - tokens.listed.begin()));
    tokens.added.assign(tokens.listed.begin() + static_cast<std::ptrdiff_t>(first), tokens.listed.end());
    tokens.listed.resize(first);
    return tokens;
  }

  void add_m2m100(const MultilingualTokens& tokens) {
    constexpr std::size_t kWmt21 = 8, kM2m100 = 100;  // languages of the lists that the tokenizer has
    const std::size_t count = tokens.added.size();
    check(count == kWmt21 || count == kM2m100,
          "{}: the vocabulary has {} languages, needs the {} or {} of M2M100Tokenizer", caller_, count, kM2m100,
          kWmt21);
    settings_.add("language_codes", count == kWmt21 ? "wmt21" : "m2m100");
    settings_.add_json("additional_special_tokens", json_array(tokens.added, quote_json));
    files_["vocab.json"] = numbered_tokens(tokens.listed);
  }

  void add_nllb(const TokenList& list, const MultilingualTokens& tokens) {
    JsonObject decoder;
    std::vector<std::string> languages;
    for (std::size_t i = 0; i < tokens.added.size(); ++i) {
      const std::string& token = tokens.added[i];
      decoder.add_json(std::to_string(tokens.listed.size() + i),
                       JsonObject().add("content", token).add("special", true).text());
      if (!token.starts_with('<')) languages.push_back(token);
    }
    settings_.add_json("extra_special_tokens", json_array(languages, quote_json));
    settings_.add_json("added_tokens_decoder", decoder.text());
    settings_.add("legacy_behaviour", list.rules.language_place == LanguagePlace::kAfterInput);
  }

  const ModelFiles& model_;
  const Vocabulary& input_;
  const Vocabulary& output_;
  std::string_view caller_;
  JsonObject settings_;
  Files files_;
};

}  // namespace

std::map<std::string, std::string> write_tokenizer(const ModelFiles& model, HuggingFaceFamily family,
                                                   std::int64_t longest_input, std::string_view caller) {
  TokenizerWriter writer(model, longest_input, caller);
  return family == HuggingFaceFamily::kMarian ? std::move(writer).write_marian()
                                              : std::move(writer).write_multilingual();
}

}  // namespace edgewise
