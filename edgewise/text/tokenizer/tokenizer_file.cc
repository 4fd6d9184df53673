// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/tokenizer/tokenizer_file.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <span>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/tokenizer/part_reader.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxSteps = 32;  // components of a sequence
constexpr std::size_t kMaxAddedTokens = 100'000;

/// Calls `add` for a component, or for each of a sequence, which has them under the key `parts`. `value` may be null.
void for_each_part(const std::string& where, const JsonValue& value, const std::string& parts, std::size_t& count,
                   const std::function<void(const PartReader&)>& add) {
  if (value.is_null()) return;
  const PartReader part(where, value);
  if (part.type() == "Sequence") {
    for (const JsonValue& inner : part.list(parts)) for_each_part(where, inner, parts, count, add);
    part.expect_all_known();
    return;
  }
  check(++count <= kMaxSteps, "{} has more than {} components, needs at most {}", where, kMaxSteps, kMaxSteps);
  add(part);
  part.expect_all_known();
}

/// A pattern of a component: {"String": " "} or {"Regex": "..."}.
struct PartPattern {
  std::string text;
  bool is_regex = false;
};

PartPattern read_pattern(const PartReader& part) {
  const PartReader pattern(part.where() + ": pattern", part.member("pattern"));
  const auto text = pattern.optional_text("String");
  const auto regex = pattern.optional_text("Regex");
  pattern.expect_all_known();
  if (text.has_value() == regex.has_value()) part.refuse("pattern", "{…}", "either String or Regex");
  if (text && text->empty()) part.refuse("pattern", "empty", "a text");
  return {text ? *text : *regex, regex.has_value()};
}

std::string read_plain_pattern(const PartReader& part) {
  const PartPattern pattern = read_pattern(part);
  if (pattern.is_regex) part.refuse("pattern", quote(pattern.text), "a String, no Regex");
  return pattern.text;
}

NormalizerStep read_normalizer(const PartReader& part) {
  constexpr std::array kForms = {EnumName{NormalForm::kNfc, "NFC"}, EnumName{NormalForm::kNfd, "NFD"},
                                 EnumName{NormalForm::kNfkc, "NFKC"}, EnumName{NormalForm::kNfkd, "NFKD"}};
  const std::string type = part.type();
  const auto form = std::ranges::find(kForms, type, &EnumName<NormalForm>::name);
  if (form != kForms.end()) return {.kind = NormalizerKind::kNormalForm, .form = form->value};
  if (type == "Lowercase") return {.kind = NormalizerKind::kLowercase};
  if (type == "Strip") {
    return {.kind = NormalizerKind::kStrip,
            .strips_left = part.boolean("strip_left", true),
            .strips_right = part.boolean("strip_right", true)};
  }
  if (type == "Replace") {
    return {.kind = NormalizerKind::kReplace, .from = read_plain_pattern(part), .to = part.text("content")};
  }
  if (type == "Prepend") return {.kind = NormalizerKind::kPrepend, .to = part.text("prepend")};
  part.refuse_type("NFC, NFD, NFKC, NFKD, Lowercase, Strip, Replace or Prepend");
}

SplitterStep read_split(const PartReader& part) {
  const PartPattern pattern = read_pattern(part);
  SplitterStep step = {.kind = SplitterKind::kSplit,
                       .text = pattern.text,
                       .behavior = part.name<SplitBehavior>("behavior"),
                       .is_inverted = part.boolean("invert", false)};
  if (!pattern.is_regex) return step;
  step.pattern = find_split_pattern(pattern.text);
  if (!step.pattern) part.refuse("pattern", quote(pattern.text), "the regular expression of GPT-2, Llama 3 or Qwen 2");
  return step;
}

PrependScheme read_prepend_scheme(const PartReader& part) {
  const bool adds_space = part.boolean("add_prefix_space", true);  // in older files, instead of prepend_scheme
  return part.name<PrependScheme>("prepend_scheme", adds_space ? PrependScheme::kAlways : PrependScheme::kNever);
}

SplitterStep read_splitter(const PartReader& part) {
  const std::string type = part.type();
  if (type == "ByteLevel") {
    part.ignore({"trim_offsets"});
    const bool splits = part.boolean("use_regex", true);
    return {.kind = SplitterKind::kByteLevel,
            .prepends_space = part.boolean("add_prefix_space", true),
            .pattern = splits ? std::optional(SplitPattern::kGpt2) : std::nullopt};
  }
  if (type == "Split") return read_split(part);
  if (type == "Digits") {
    const bool is_each = part.boolean("individual_digits", false);
    return {.kind = SplitterKind::kDigits, .behavior = is_each ? SplitBehavior::kIsolated : SplitBehavior::kContiguous};
  }
  if (type == "Punctuation") {
    return {.kind = SplitterKind::kPunctuation,
            .behavior = part.name<SplitBehavior>("behavior", SplitBehavior::kIsolated)};
  }
  if (type == "Whitespace") return {.kind = SplitterKind::kWords};
  if (type == "WhitespaceSplit") return {.kind = SplitterKind::kWhiteSpace};
  if (type == "Metaspace") {
    return {.kind = SplitterKind::kMetaspace,
            .text = part.character("replacement"),
            .prepend = read_prepend_scheme(part),
            .splits = part.boolean("split", true)};
  }
  part.refuse_type("ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit or Metaspace");
}

DecoderStep read_decoder(const PartReader& part) {
  const std::string type = part.type();
  if (type == "ByteLevel") {
    part.ignore({"add_prefix_space", "trim_offsets", "use_regex"});
    return {.kind = DecoderKind::kByteLevel};
  }
  if (type == "ByteFallback") return {.kind = DecoderKind::kByteFallback};
  if (type == "Fuse") return {.kind = DecoderKind::kFuse};
  if (type == "Strip") {
    return {.kind = DecoderKind::kStrip,
            .from = part.character("content"),
            .start = part.count("start"),
            .stop = part.count("stop")};
  }
  if (type == "Replace") {
    return {.kind = DecoderKind::kReplace, .from = read_plain_pattern(part), .to = part.text("content")};
  }
  if (type == "Metaspace") {
    part.ignore({"split"});
    return {.kind = DecoderKind::kMetaspace,
            .from = part.character("replacement"),
            .keeps_first_space = read_prepend_scheme(part) == PrependScheme::kNever};
  }
  if (type == "BPEDecoder") return {.kind = DecoderKind::kSuffix, .from = part.text("suffix")};
  part.refuse_type("ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace or BPEDecoder");
}

class TokenizerFileReader {
 public:
  TokenizerFileReader(std::string_view bytes, const std::string& where) : where_(where), json_(bytes, where) {}

  TokenizerFile run() && {
    bool has_model = false;
    json_.read_object("the tokenizer", [&](const std::string& key) {
      has_model = has_model || key == "model";
      read_member(key);
    });
    json_.expect_end();
    check(has_model, "{} has no model, needs one", where_);
    return std::move(file_);
  }

 private:
  void read_member(const std::string& key) {
    // Transformers sets truncation and padding anew for each call.
    if (key == "version" || key == "truncation" || key == "padding") return json_.skip();
    if (key == "model") return read_model();
    if (key == "added_tokens") return json_.read_array(key, [&] { read_added_token(); });
    const JsonValue value = read_json_value(json_, key);
    const std::string where = fmt::format("{}: {}", where_, key);
    std::size_t count = 0;
    if (key == "normalizer") {
      for_each_part(where, value, "normalizers", count,
                    [&](const PartReader& part) { file_.normalizer.push_back(read_normalizer(part)); });
    } else if (key == "pre_tokenizer") {
      for_each_part(where, value, "pretokenizers", count,
                    [&](const PartReader& part) { file_.splitter.push_back(read_splitter(part)); });
    } else if (key == "decoder") {
      if (!value.is_null()) file_.decoder.emplace();
      for_each_part(where, value, "decoders", count,
                    [&](const PartReader& part) { file_.decoder->push_back(read_decoder(part)); });
    } else if (key == "post_processor") {
      for_each_part(where, value, "processors", count, [&](const PartReader& part) { read_processor(part); });
    } else {
      json_.fail_at_value(fmt::format(
          "{} is no member of a tokenizer, needs one of version, truncation, padding, added_tokens, normalizer, "
          "pre_tokenizer, post_processor, decoder and model",
          quote(key)));
    }
  }

  void read_added_token() {
    const PartReader token(where_ + ": added_tokens", read_json_value(json_, "added_tokens"));
    const bool is_special = token.boolean("special", false);
    file_.added.push_back({.number = token.count("id"),
                           .text = token.text("content"),
                           .is_word = token.boolean("single_word", false),
                           .takes_left = token.boolean("lstrip", false),
                           .takes_right = token.boolean("rstrip", false),
                           .is_normalized = token.boolean("normalized", !is_special),
                           .is_special = is_special});
    token.expect_all_known();
    check(file_.added.size() <= kMaxAddedTokens, "{} has more than {} added tokens, needs at most {}", where_,
          kMaxAddedTokens, kMaxAddedTokens);
  }

  void read_processor(const PartReader& part) {
    const std::string type = part.type();
    if (type == "ByteLevel") {  // changes only the places of tokens in the text
      part.ignore({"add_prefix_space", "trim_offsets", "use_regex"});
    } else if (type == "TemplateProcessing") {
      part.ignore({"pair", "special_tokens"});
      read_template(part);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      part.ignore({"add_prefix_space", "trim_offsets"});
      file_.before.push_back(first_text(part, "cls"));
      file_.after.push_back(first_text(part, "sep"));
    } else {
      part.refuse_type("ByteLevel, TemplateProcessing, BertProcessing or RobertaProcessing");
    }
  }

  /// Returns the token of a pair ["<s>", 0].
  std::string first_text(const PartReader& part, const std::string& key) const {
    const std::vector<JsonValue>& pair = part.list(key);
    const bool is_pair = pair.size() == 2 && pair[0].kind == JsonKind::kString;
    if (!is_pair) part.refuse(key, describe(part.member(key)), "a token and its number");
    return pair[0].text;
  }

  void read_template(const PartReader& part) {
    bool is_after = false;
    for (const JsonValue& piece : part.list("single")) {
      const auto special = piece.members.find("SpecialToken");
      const bool is_text = piece.members.contains("Sequence") && !is_after;
      if (special != piece.members.end()) {
        const PartReader token(part.where() + ": single", special->second);
        (is_after ? file_.after : file_.before).push_back(token.text("id"));
      } else if (is_text) {
        is_after = true;
      } else {
        part.refuse("single", describe(part.member("single")), "special tokens and one Sequence");
      }
    }
    if (!is_after) part.refuse("single", describe(part.member("single")), "a Sequence");
  }

  void read_model() {
    std::map<std::string, JsonValue> options;
    bool has_merges = false;
    const std::string where = where_ + ": model";
    const auto refuse_other = [&](std::string_view type) {
      fail("{}: type is {}, needs \"BPE\", the only model that Edgewise has", where, quote(type));
    };
    json_.read_object("model", [&](const std::string& key) {
      if (key == "vocab") {
        if (json_.next_kind("vocab") == JsonKind::kArray) refuse_other("Unigram");
        read_tokens();
      } else if (key == "merges") {
        has_merges = true;
        json_.read_array("merges", [&] { read_merge(); });
      } else {
        options[key] = read_json_value(json_, key);
        if (key == "type" && options[key].text != "BPE") refuse_other(options[key].text);
      }
    });
    if (!has_merges) refuse_other("WordLevel");
    read_model_options(PartReader(where, JsonValue{.kind = JsonKind::kObject, .members = std::move(options)}));
  }

  void read_model_options(const PartReader& part) {
    PairModel& model = file_.model;
    model.unknown = part.optional_text("unk_token");
    model.prefix = part.optional_text("continuing_subword_prefix").value_or("");
    model.suffix = part.optional_text("end_of_word_suffix").value_or("");
    model.fuses_unknown = part.boolean("fuse_unk", false);
    model.has_byte_fallback = part.boolean("byte_fallback", false);
    model.ignores_merges = part.boolean("ignore_merges", false);
    part.ignore({"type", "dropout"});  // dropout is for training
    part.expect_all_known();
  }

  void read_tokens() {
    json_.read_object("vocab", [&](const std::string& token) {
      const std::uint64_t number = json_.read_whole_number("the number of a token");
      json_.check_value(number <= std::numeric_limits<std::int32_t>::max(),
                        "the number of a token is {}, needs at most {}", number,
                        std::numeric_limits<std::int32_t>::max());
      file_.model.tokens.emplace_back(token, static_cast<std::int64_t>(number));
    });
  }

  /// Reads a merge: "a b", or ["a", "b"] in newer files.
  void read_merge() {
    std::vector<std::string> parts;
    if (json_.next_kind("a merge") == JsonKind::kArray) {
      json_.read_array("a merge", [&] { parts.push_back(json_.read_string("a merge")); });
    } else {
      const std::string merge = json_.read_string("a merge");
      const std::size_t space = std::min(merge.find(' '), merge.size());
      parts.push_back(merge.substr(0, space));
      if (space < merge.size()) parts.push_back(merge.substr(space + 1));
    }
    json_.check_value(parts.size() == 2, "a merge has {} parts, needs 2", parts.size());
    file_.model.merges.emplace_back(std::move(parts[0]), std::move(parts[1]));
  }

  const std::string& where_;
  JsonScanner json_;
  TokenizerFile file_;
};

}  // namespace

TokenizerFile parse_tokenizer_file(std::string_view bytes, const std::string& where) {
  return TokenizerFileReader(bytes, where).run();
}

}  // namespace edgewise
