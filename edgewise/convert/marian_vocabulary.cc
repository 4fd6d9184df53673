// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/marian_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/exported_parameters.h"
#include "edgewise/convert/exported_tokens.h"
#include "edgewise/convert/yaml.h"

namespace edgewise {
namespace {

std::vector<std::string> imported_tokens(const Vocabulary& vocabulary, bool has_languages, std::string_view caller) {
  const TokenList list = mapped_tokens(vocabulary);
  std::vector<std::string> tokens(list.tokens.begin(), list.tokens.end() - 1);
  TokenListBuilder builder = marian_token_list(tokens, marian_token_rules(vocabulary), "the vocabulary");
  if (has_languages) builder.add_marian_languages();
  check(std::move(builder).finish()->list() == list,
        "{}: the vocabulary has other rules than Marian, needs </s>, <unk> and, as the last token, {}, which is the "
        "begin token; import a model of Marian",
        caller, kMarianPadding);
  return tokens;
}

/// Gives a special token its name in Marian. The byte of a control character that has this name, and is in no text,
/// gets a name that no token of Marian has.
void rename(std::vector<std::string>& tokens, std::int64_t special, const std::string& name,
            const std::vector<std::int64_t>& forbidden, std::string_view caller) {
  std::string& own = tokens[static_cast<std::size_t>(special)];
  if (const auto other = std::ranges::find(tokens, name); other != tokens.end()) {
    check(std::ranges::binary_search(forbidden, other - tokens.begin()),
          "{}: the vocabulary has the token {}, needs other tokens", caller, quote(name));
    *other = fmt::format("<{}>", name);
  }
  own = name;
}

std::vector<std::string> learned_tokens(const Vocabulary& vocabulary, std::string_view caller) {
  const SpecialTokens& special = vocabulary.special();
  const std::array<std::pair<std::int64_t, std::string>, 4> names = {{{special.padding, "<0x00>"},
                                                                      {special.begin, "<0x01>"},
                                                                      {special.unknown, std::string(kUnknownToken)},
                                                                      {special.end, std::string(kMarianEnd)}}};
  std::vector<std::string> tokens = all_tokens(vocabulary);
  for (const auto& [number, name] : names) rename(tokens, number, name, vocabulary.rules().forbidden, caller);
  return tokens;
}

}  // namespace

MarianTokenRules marian_token_rules(const Vocabulary& output) {
  const std::vector<std::int64_t>& forbidden = output.rules().forbidden;
  const auto is_allowed = [&](std::int64_t token) { return !std::ranges::binary_search(forbidden, token); };
  MarianTokenRules rules = {.allow_unknown = is_allowed(output.special().unknown)};
  for (std::int64_t token = 0; token < output.size(); ++token) {
    if (is_marian_control_token(output.token_text(token)) && is_allowed(token)) rules.allow_control = true;
  }
  return rules;
}

std::string write_marian_vocabulary(const Vocabulary& vocabulary, bool has_languages, std::string_view caller) {
  std::vector<std::string> tokens;
  if (vocabulary.kind() == VocabularyKind::kMapped) {
    tokens = imported_tokens(vocabulary, has_languages, caller);
  } else if (vocabulary.kind() == VocabularyKind::kSentencePiece) {
    tokens = learned_tokens(vocabulary, caller);
  } else {
    refuse_option(caller, "vocabulary.kind", enum_name(vocabulary.kind()), "sentencepiece, or mapped as in an import");
  }
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) text += fmt::format("{}: {}\n", quote_yaml(tokens[i]), i);
  return text;
}

}  // namespace edgewise
