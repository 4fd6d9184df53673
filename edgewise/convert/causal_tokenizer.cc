// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/causal_tokenizer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/protobuf_walk.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/export_checks.h"
#include "edgewise/text/tokenizer/byte_alphabet.h"
#include "edgewise/text/vocabulary/piece_codec.h"
#include "edgewise/text/vocabulary/vocabulary_names.h"

namespace edgewise {
namespace {

constexpr std::string_view kSpaceSymbol = "\u2581";
constexpr std::string_view kLineFeed = "\n";

std::string to_base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

/// Returns the character map of a SentencePiece model. Field numbers are those of sentencepiece_model.proto.
std::string character_map(std::string_view model, std::string_view caller) {
  constexpr std::uint32_t kNormalizerSpec = 3;
  constexpr std::uint32_t kCharacterMap = 2;
  std::string map;
  walk_message(model, caller, [&](const WireField& field) {
    if (field.number != kNormalizerSpec) return;
    walk_message(field.bytes, caller, [&](const WireField& option) {
      if (option.number == kCharacterMap) map = option.bytes;
    });
  });
  return map;
}

std::string component(std::string_view type) { return JsonObject().add("type", type).text(); }

std::string sequence(std::string_view parts, const std::vector<std::string>& components) {
  return JsonObject()
      .add("type", "Sequence")
      .add_json(parts, json_array(components, [](const std::string& text) { return text; }))
      .text();
}

std::string replace_component(std::string_view kind, std::string_view from, std::string_view to) {
  return JsonObject()
      .add("type", "Replace")
      .add_json("pattern", JsonObject().add(kind, from).text())
      .add("content", to)
      .text();
}

std::string byte_level(bool splits) {
  return JsonObject()
      .add("type", "ByteLevel")
      .add("add_prefix_space", false)
      .add("trim_offsets", false)
      .add("use_regex", splits)
      .text();
}

/// The parts of a tokenizer.json that depend on the kind of tokens, as JSON.
struct TokenizerParts {
  std::string normalizer = "null";
  std::string pre_tokenizer = "null";
  std::string decoder = "null";
  std::string model;
};

JsonObject pair_model(const std::string& vocabulary, const std::string& merges, bool has_bytes) {
  JsonObject json;
  json.add("type", "BPE").add_json("dropout", "null");
  json.add("unk_token", kSpecialTokens[SpecialTokens().unknown]);
  json.add_json("continuing_subword_prefix", "null").add_json("end_of_word_suffix", "null");
  json.add("fuse_unk", has_bytes).add("byte_fallback", has_bytes).add("ignore_merges", false);
  json.add_json("vocab", vocabulary).add_json("merges", merges);
  return json;
}

/// Returns the tokens with their numbers; `text_of(token)` is the text of a token in the file.
std::string numbered(const Vocabulary& vocabulary, auto text_of) {
  JsonObject json;
  for (std::int64_t token = 0; token < vocabulary.size(); ++token) json.add(text_of(token), token);
  return json.text();
}

TokenizerParts character_parts(const Vocabulary& vocabulary) {
  TokenizerParts parts;
  const auto text_of = [&](std::int64_t token) { return vocabulary.token_text(token); };
  parts.model = pair_model(numbered(vocabulary, text_of), "[]", /*has_bytes=*/false).text();
  parts.decoder = component("Fuse");
  return parts;
}

TokenizerParts byte_parts(const Vocabulary& vocabulary) {
  TokenizerParts parts;
  const auto text_of = [&](std::int64_t token) {
    const auto byte = token - std::ssize(kSpecialTokens);
    return byte < 0 ? std::string(kSpecialTokens[static_cast<std::size_t>(token)])
                    : write_bytes(std::string(1, static_cast<char>(byte)));
  };
  parts.model = pair_model(numbered(vocabulary, text_of), "[]", /*has_bytes=*/false).text();
  parts.pre_tokenizer = byte_level(/*splits=*/false);
  parts.decoder = byte_level(/*splits=*/true);
  return parts;
}

/// Returns the merges of a BPE model as JSON: each division of a piece into two pieces, those of a piece with a higher
/// score first.
std::string list_merges(const std::vector<Piece>& pieces) {
  std::unordered_map<std::string_view, std::size_t> number_of;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].type == PieceType::kNormal) number_of.emplace(pieces[i].text, i);
  }
  struct Merge {
    std::size_t piece, left, right;
  };
  std::vector<Merge> merges;
  for (const auto& [text, number] : number_of) {
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const auto left = number_of.find(text.substr(0, cut));
      const auto right = number_of.find(text.substr(cut));
      if (left != number_of.end() && right != number_of.end()) merges.push_back({number, left->second, right->second});
    }
  }
  std::ranges::sort(merges, [&](const Merge& a, const Merge& b) {
    const float score_a = pieces[a.piece].score, score_b = pieces[b.piece].score;
    return score_a != score_b ? score_a > score_b : std::pair(a.left, a.right) < std::pair(b.left, b.right);
  });
  return json_array(merges, [&](const Merge& merge) {
    return json_array(std::array{merge.left, merge.right},
                      [&](std::size_t part) { return quote_json(pieces[part].text); });
  });
}

std::string unigram_model(const std::vector<Piece>& pieces, bool has_bytes) {
  return JsonObject()
      .add("type", "Unigram")
      .add("unk_id", SpecialTokens().unknown)
      .add_json("vocab", json_array(pieces,
                                    [](const Piece& piece) {
                                      return fmt::format("[{}, {}]", quote_json(piece.text), json_number(piece.score));
                                    }))
      .add("byte_fallback", has_bytes)
      .text();
}

TokenizerParts piece_parts(const Vocabulary& vocabulary, std::string_view caller) {
  const std::string bytes = vocabulary.serialize();
  const PieceCodec codec(bytes, "the vocabulary", SpecialPieces::kOwn, caller);
  const std::vector<Piece> pieces(codec.pieces().begin(), codec.pieces().end());
  const bool has_bytes = std::ranges::any_of(pieces, [](const Piece& piece) { return piece.type == PieceType::kByte; });
  TokenizerParts parts;
  const auto text_of = [&](std::int64_t token) { return vocabulary.token_text(token); };
  if (codec.algorithm() == SentencePieceModel::kBpe) {
    parts.model = pair_model(numbered(vocabulary, text_of), list_merges(pieces), has_bytes).text();
  } else {
    parts.model = unigram_model(pieces, has_bytes);
  }
  const std::string map = to_base64(character_map(bytes, caller));
  parts.normalizer = sequence(
      "normalizers", {JsonObject().add("type", "Precompiled").add("precompiled_charsmap", map).text(),
                      JsonObject().add("type", "Strip").add("strip_left", true).add("strip_right", true).text(),
                      replace_component("Regex", " {2,}", " ")});
  parts.pre_tokenizer = JsonObject()
                            .add("type", "Metaspace")
                            .add("replacement", kSpaceSymbol)
                            .add("prepend_scheme", "always")
                            .add("split", true)
                            .text();
  const std::string strip = JsonObject().add("type", "Strip").add("content", " ").add("start", 1).add("stop", 0).text();
  parts.decoder = sequence("decoders", {replace_component("String", kSpaceSymbol, " "), component("ByteFallback"),
                                        component("Fuse"), strip, replace_component("String", "\n ", kLineFeed)});
  return parts;
}

TokenizerParts parts_of(const Vocabulary& vocabulary, std::string_view caller) {
  switch (vocabulary.kind()) {
    case VocabularyKind::kCharacters:
      return character_parts(vocabulary);
    case VocabularyKind::kBytes:
      return byte_parts(vocabulary);
    case VocabularyKind::kSentencePiece:
      return piece_parts(vocabulary, caller);
    default:
      refuse_option(caller, "vocabulary.kind", enum_name(vocabulary.kind()),
                    "characters, bytes, sentencepiece, or the tokenizer.json of an imported model");
  }
}

std::string added_token(std::int64_t number, std::string_view text, bool is_special) {
  return JsonObject()
      .add("id", number)
      .add("content", text)
      .add("single_word", false)
      .add("lstrip", false)
      .add("rstrip", false)
      .add("normalized", false)
      .add("special", is_special)
      .text();
}

/// Lists the special tokens, and the line feed if it is a token of a SentencePiece model.
std::string added_tokens(const Vocabulary& vocabulary, std::string_view caller) {
  std::vector<std::string> added;
  for (std::size_t i = 0; i < kSpecialTokens.size(); ++i) {
    added.push_back(added_token(static_cast<std::int64_t>(i), kSpecialTokens[i], true));
  }
  if (vocabulary.kind() == VocabularyKind::kSentencePiece) {
    for (std::int64_t token = 0; token < vocabulary.size(); ++token) {
      const std::string_view text = vocabulary.token_text(token);
      check(!is_placeholder(text), "{}: vocabulary.placeholders is above 0, needs 0", caller);
      if (text == kLineFeed) added.push_back(added_token(token, text, false));
    }
  }
  return json_array(added, [](const std::string& text) { return text; });
}

std::string begin_template() {
  const std::string_view begin = kSpecialTokens[SpecialTokens().begin];
  const auto part = [](std::string_view key, std::string_view id) {
    return JsonObject().add_json(key, JsonObject().add("id", id).add("type_id", 0).text()).text();
  };
  const std::string special = JsonObject()
                                  .add("id", begin)
                                  .add_json("ids", fmt::format("[{}]", SpecialTokens().begin))
                                  .add_json("tokens", fmt::format("[{}]", quote_json(begin)))
                                  .text();
  const std::string single = fmt::format("[{}, {}]", part("SpecialToken", begin), part("Sequence", "A"));
  const std::string pair =
      fmt::format("[{}, {}, {}]", part("SpecialToken", begin), part("Sequence", "A"), part("Sequence", "B"));
  return JsonObject()
      .add("type", "TemplateProcessing")
      .add_json("single", single)
      .add_json("pair", pair)
      .add_json("special_tokens", JsonObject().add_json(begin, special).text())
      .text();
}

std::string write_tokenizer_json(const Vocabulary& vocabulary, std::string_view caller) {
  const TokenizerParts parts = parts_of(vocabulary, caller);
  return JsonObject()
             .add("version", "1.0")
             .add_json("truncation", "null")
             .add_json("padding", "null")
             .add_json("added_tokens", added_tokens(vocabulary, caller))
             .add_json("normalizer", parts.normalizer)
             .add_json("pre_tokenizer", parts.pre_tokenizer)
             .add_json("post_processor", begin_template())
             .add_json("decoder", parts.decoder)
             .add_json("model", parts.model)
             .text() +
         "\n";
}

}  // namespace

std::map<std::string, std::string> write_causal_tokenizer(const Vocabulary& vocabulary, std::int64_t positions,
                                                          std::string_view caller) {
  const bool is_imported = vocabulary.pieces_name() == kTokenizerFile;
  const SpecialTokens& special = vocabulary.special();
  JsonObject settings;
  settings.add("tokenizer_class", "PreTrainedTokenizerFast").add("model_max_length", positions);
  settings.add("clean_up_tokenization_spaces", false);
  settings.add("bos_token", vocabulary.token_text(special.begin));
  settings.add("eos_token", vocabulary.token_text(special.end));
  settings.add("pad_token", vocabulary.token_text(special.padding));
  if (!is_imported || special.unknown != special.end) {
    settings.add("unk_token", vocabulary.token_text(special.unknown));
  }
  return {{std::string(kTokenizerFile),
           is_imported ? vocabulary.serialize_pieces() : write_tokenizer_json(vocabulary, caller)},
          {"tokenizer_config.json", settings.text() + "\n"}};
}

}  // namespace edgewise
