// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/token_list_builder.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/sorting.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/packed_file.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"

namespace edgewise {

TokenListBuilder::TokenListBuilder(std::vector<std::string> tokens, std::int64_t size, const SpecialTokens& special,
                                   std::string_view unknown, std::string where)
    : size_(size), where_(std::move(where)) {
  list_.tokens = std::move(tokens);
  list_.rules.end_input = true;
  list_.rules.special = special;
  list_.rules.special.unknown = find(unknown);
  list_.rules.omitted = {special.padding, list_.rules.special.unknown, special.end};
  list_.rules.forbidden = {};
}

std::int64_t TokenListBuilder::find(std::string_view token) const {
  const auto found = std::ranges::find(list_.tokens, token);
  check(found != list_.tokens.end(), "{} has no token {}, needs one", where_, quote(token));
  return found - list_.tokens.begin();
}

std::int64_t TokenListBuilder::add_special(const std::string& token) {
  const auto found = std::ranges::find(list_.tokens, token);
  const std::int64_t number = found - list_.tokens.begin();
  if (found == list_.tokens.end()) list_.tokens.push_back(token);
  list_.rules.omitted.push_back(number);
  return number;
}

void TokenListBuilder::add_marian_languages() {
  constexpr std::string_view kOpen = ">>", kClose = "<<";
  for (std::size_t i = 0; i < list_.tokens.size(); ++i) {
    const std::string_view token = list_.tokens[i];
    if (token.size() <= kOpen.size() + kClose.size() || !token.starts_with(kOpen) || !token.ends_with(kClose)) continue;
    const std::string_view name = token.substr(kOpen.size(), token.size() - kOpen.size() - kClose.size());
    list_.rules.languages.push_back({std::string(name), static_cast<std::int64_t>(i)});
  }
  if (!list_.rules.languages.empty()) list_.rules.language_place = LanguagePlace::kOutputBeforeInput;
}

std::shared_ptr<const TokenIndex> TokenListBuilder::finish() && {
  const auto listed = std::ssize(list_.tokens);
  check(listed <= size_, "{} has {} tokens, needs at most the {} of the model", where_, listed, size_);
  if (has_names_) list_.in_text = list_.rules.omitted;
  while (std::ssize(list_.tokens) < size_) {
    list_.rules.omitted.push_back(std::ssize(list_.tokens));
    list_.tokens.push_back(unnamed_token(list_.tokens.size()));
  }
  sort_unique(list_.in_text);
  sort_unique(list_.rules.omitted);
  std::ranges::sort(list_.rules.languages, {}, &Language::name);
  return std::make_shared<const TokenIndex>(std::move(list_), where_);
}

std::string unnamed_token(std::size_t number) { return fmt::format("<unnamed {}>", number); }

std::string read_vocabulary_file(const std::filesystem::path& path, std::string_view caller) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;
  return read_packed_file(path, caller, kMaxBytes);
}

std::shared_ptr<const PieceCodec> read_piece_codec(const std::filesystem::path& path, std::string_view caller) {
  return std::make_shared<const PieceCodec>(read_vocabulary_file(path, caller), path.string(), SpecialPieces::kAny,
                                            caller);
}

MarianPieces read_side_pieces(const std::filesystem::path& input, const std::filesystem::path& output,
                              std::string_view caller) {
  MarianPieces pieces = {read_piece_codec(input, caller), nullptr};
  pieces.output = input == output ? pieces.input : read_piece_codec(output, caller);
  if (pieces.output->bytes() == pieces.input->bytes()) pieces.output = pieces.input;
  return pieces;
}

Vocabularies make_marian_vocabularies(const MarianPieces& pieces, TokenListBuilder input,
                                      std::optional<TokenListBuilder> output) {
  input.add_marian_languages();
  const auto input_tokens = std::move(input).finish();
  const auto output_tokens = output ? std::move(*output).finish() : input_tokens;
  return {make_mapped_vocabulary(input_tokens, pieces.input), make_mapped_vocabulary(output_tokens, pieces.output)};
}

Vocabularies make_marian_vocabularies(const std::filesystem::path& directory, TokenListBuilder input,
                                      std::optional<TokenListBuilder> output, std::string_view caller) {
  return make_marian_vocabularies(read_side_pieces(directory / "source.spm", directory / "target.spm", caller),
                                  std::move(input), std::move(output));
}

}  // namespace edgewise
