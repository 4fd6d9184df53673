// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/token_list.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/vocabulary/sentencepiece_check.h"

namespace edgewise {
namespace {

std::size_t index_of(char first) { return static_cast<unsigned char>(first); }

/// Checks the values of a list, except that its tokens are distinct.
class ListCheck {
 public:
  ListCheck(const TokenList& list, std::string_view where) : list_(list), rules_(list.rules), where_(where) {}

  void run() const {
    check_tokens();
    check_special();
    check_numbers("omitted", rules_.omitted);
    check_numbers("forbidden", rules_.forbidden);
    check_numbers("in_text", list_.in_text);
    check_numbers("other_ends", rules_.other_ends);
    check(!std::ranges::binary_search(rules_.other_ends, rules_.special.end),
          "{}: other_ends holds the end token {}, needs other tokens", where_, rules_.special.end);
    check(!std::ranges::binary_search(rules_.forbidden, rules_.special.end),
          "{}: forbidden holds the end token {}, without which no output ends; take it out", where_,
          rules_.special.end);
    check_languages();
  }

 private:
  void check_tokens() const {
    check(!list_.tokens.empty(), "{}: tokens is empty, needs at least one", where_);
    check(list_.tokens.size() <= kMaxPieces, "{} has {} tokens, needs at most {}", where_, list_.tokens.size(),
          kMaxPieces);
    for (std::size_t i = 0; i < list_.tokens.size(); ++i) {
      if (list_.tokens[i].empty()) fail("{}: token {} is empty, needs a text", where_, i);
      if (find_bad_utf8(list_.tokens[i])) {
        fail("{}: token {} is {}, needs UTF-8", where_, i, quote(list_.tokens[i]));
      }
    }
  }

  void check_number(std::string_view what, std::int64_t token) const {
    check(token >= 0 && token < std::ssize(list_.tokens), "{}: {} has the number {}, needs 0 to {}", where_, what,
          token, list_.tokens.size() - 1);
  }

  void check_numbers(std::string_view what, const std::vector<std::int64_t>& numbers) const {
    for (const std::int64_t number : numbers) check_number(what, number);
    check(std::ranges::adjacent_find(numbers, std::greater_equal<>()) == numbers.end(),
          "{}: {} holds numbers that do not ascend, needs ascending ones", where_, what);
  }

  void check_special() const {
    const SpecialTokens& special = rules_.special;
    check_number("padding", special.padding);
    check_number("unknown", special.unknown);
    check_number("begin", special.begin);
    check_number("end", special.end);
    if (list_.text == TokenText::kTokenizer) return;
    check(special.unknown != special.padding && special.unknown != special.begin && special.unknown != special.end,
          "{}: unknown is {}, which is another special token too, needs a token of its own", where_, special.unknown);
  }

  void check_languages() const {
    const bool may_have_languages = rules_.language_place != LanguagePlace::kNone;
    const bool must_have_languages = may_have_languages && rules_.language_place != LanguagePlace::kOutputBeforeInput;
    check(may_have_languages || rules_.languages.empty(),
          "{} has {} languages, but language_place is none; needs a place", where_, rules_.languages.size());
    check(!must_have_languages || !rules_.languages.empty(),
          "{} has no languages, but language_place is {}; needs at least one", where_,
          enum_name(rules_.language_place));
    for (const Language& language : rules_.languages) {
      if (language.name.empty() || has_control_character(language.name)) {
        fail("{}: a language is {}, needs a name without control characters", where_, quote(language.name));
      }
      check_number("a language", language.token);
    }
    check(
        std::ranges::adjacent_find(rules_.languages, std::greater_equal<>(), &Language::name) == rules_.languages.end(),
        "{}: languages do not ascend by name, needs ascending names", where_);
  }

  const TokenList& list_;
  const SentenceRules& rules_;
  std::string_view where_;
};

/// Returns for each token whether a piece of text may become the token: it may unless the token has another role.
std::vector<bool> text_tokens(const TokenList& list) {
  std::vector<bool> is_text(list.tokens.size(), true);
  const auto exclude = [&](std::int64_t token) { is_text[static_cast<std::size_t>(token)] = false; };
  const SpecialTokens& special = list.rules.special;
  for (const std::int64_t token : {special.padding, special.unknown, special.begin, special.end}) exclude(token);
  for (const std::int64_t token : list.rules.omitted) exclude(token);
  for (const Language& language : list.rules.languages) exclude(language.token);
  return is_text;
}

constexpr std::int64_t kTokenListFormat = 1;
constexpr std::array<std::string_view, 10> kMembers = {"format",    "text",    "end_input",      "special",   "omitted",
                                                       "forbidden", "in_text", "language_place", "languages", "tokens"};
constexpr std::string_view kOtherEnds = "other_ends";  // may be left out

std::string numbers_json(const std::vector<std::int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string special_json(const SpecialTokens& special) {
  return JsonObject()
      .add("padding", special.padding)
      .add("unknown", special.unknown)
      .add("begin", special.begin)
      .add("end", special.end)
      .text();
}

std::string languages_json(const std::vector<Language>& languages) {
  JsonObject json;
  for (const Language& language : languages) json.add(language.name, language.token);
  return json.text();
}

std::string other_ends_json(const std::vector<std::int64_t>& tokens) {
  return tokens.empty() ? "" : fmt::format("\n  \"{}\": {},", kOtherEnds, numbers_json(tokens));
}

class TokenListReader {
 public:
  TokenListReader(std::string_view bytes, std::string where) : where_(std::move(where)), json_(bytes, where_) {}

  TokenList run() && {
    json_.read_object("the vocabulary", [&](const std::string& key) {
      members_.insert(key);
      read_member(key);
    });
    json_.expect_end();
    for (const std::string_view member : kMembers) {
      check(members_.contains(member), "{} has no {}, needs one", where_, member);
    }
    return std::move(list_);
  }

 private:
  void read_member(const std::string& key) {
    SentenceRules& rules = list_.rules;
    if (key == "format") {
      read_format();
    } else if (key == "text") {
      list_.text = read_name<TokenText>(key);
    } else if (key == "end_input") {
      rules.end_input = json_.read_boolean(key);
    } else if (key == "special") {
      rules.special = read_special();
    } else if (key == "omitted") {
      rules.omitted = read_numbers(key);
    } else if (key == "forbidden") {
      rules.forbidden = read_numbers(key);
    } else if (key == "in_text") {
      list_.in_text = read_numbers(key);
    } else if (key == kOtherEnds) {
      rules.other_ends = read_numbers(key);
    } else if (key == "language_place") {
      rules.language_place = read_name<LanguagePlace>(key);
    } else if (key == "languages") {
      json_.read_object(key, [&](const std::string& name) { rules.languages.push_back({name, read_number(name)}); });
    } else if (key == "tokens") {
      json_.read_array(key, [&] { list_.tokens.push_back(json_.read_string("a token")); });
    } else {
      fail_at_member(key);
    }
  }

  void read_format() {
    const std::uint64_t format = json_.read_whole_number("format");
    if (format != kTokenListFormat) {
      json_.fail_at_value(fmt::format("format is {}, needs {}; use the build that wrote it", format, kTokenListFormat));
    }
  }

  [[noreturn]] void fail_at_member(const std::string& key) const {
    json_.fail_at_value(fmt::format("{} is no member of a vocabulary, needs one of {} or {}", quote(key),
                                    fmt::join(kMembers, ", "), kOtherEnds));
  }

  std::int64_t read_number(std::string_view what) {
    const std::uint64_t number = json_.read_whole_number(what);
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (number > kMost) json_.fail_at_value(fmt::format("{} is {}, needs at most {}", what, number, kMost));
    return static_cast<std::int64_t>(number);
  }

  std::vector<std::int64_t> read_numbers(std::string_view what) {
    std::vector<std::int64_t> numbers;
    json_.read_array(what, [&] { numbers.push_back(read_number(what)); });
    return numbers;
  }

  template <NamedEnum Enum>
  Enum read_name(std::string_view what) {
    const std::string text = json_.read_string(what);
    std::vector<std::string_view> names;
    for (const auto& [value, name] : enum_names(Enum{})) {
      if (name == text) return value;
      names.push_back(name);
    }
    json_.fail_at_value(fmt::format("{} is {}, needs one of {}", what, quote(text), fmt::join(names, ", ")));
  }

  SpecialTokens read_special() {
    SpecialTokens special;
    std::set<std::string> found;
    json_.read_object("special", [&](const std::string& key) {
      std::int64_t* number = key == "padding"   ? &special.padding
                             : key == "unknown" ? &special.unknown
                             : key == "begin"   ? &special.begin
                             : key == "end"     ? &special.end
                                                : nullptr;
      if (number == nullptr) {
        json_.fail_at_value(fmt::format("{} is no special token, needs padding, unknown, begin or end", quote(key)));
      }
      *number = read_number(key);
      found.insert(key);
    });
    check(found.size() == 4, "{} has {} special tokens, needs padding, unknown, begin and end", where_, found.size());
    return special;
  }

  std::string where_;
  JsonScanner json_;
  std::set<std::string, std::less<>> members_;
  TokenList list_;
};

}  // namespace

void NameMatcher::add(std::string_view name, std::int64_t token) {
  std::vector<Name>& names = by_first_byte_[index_of(name.front())];
  const auto shorter = std::ranges::find_if(names, [&](const Name& other) { return other.text.size() < name.size(); });
  names.insert(shorter, {std::string(name), token});
}

std::optional<NameMatch> NameMatcher::find(std::string_view text, std::size_t begin) const {
  for (; begin < text.size(); ++begin) {
    for (const Name& name : by_first_byte_[index_of(text[begin])]) {
      if (text.substr(begin).starts_with(name.text)) return NameMatch{begin, name.text.size(), name.token};
    }
  }
  return std::nullopt;
}

TokenIndex::TokenIndex(TokenList list, std::string_view where) : list_(std::move(list)) {
  ListCheck(list_, where).run();
  token_of_.reserve(list_.tokens.size());
  for (std::size_t i = 0; i < list_.tokens.size(); ++i) {
    const auto [first, is_new] = token_of_.emplace(list_.tokens[i], static_cast<std::int64_t>(i));
    if (!is_new) {
      fail("{}: token {} is {}, which token {} is too, needs each once", where, i, quote(list_.tokens[i]),
           first->second);
    }
  }
  for (const std::int64_t token : list_.in_text) names_.add(text_of(token), token);
  const std::vector<bool> is_text = text_tokens(list_);
  std::erase_if(token_of_, [&](const auto& entry) { return !is_text[static_cast<std::size_t>(entry.second)]; });
}

std::int64_t TokenIndex::find_piece(std::string_view piece) const {
  const auto found = token_of_.find(piece);
  return found != token_of_.end() ? found->second : list_.rules.special.unknown;
}

std::string write_token_list(const TokenList& list) {
  const SentenceRules& rules = list.rules;
  std::string text =
      fmt::format(R"({{
  "format": {},
  "text": "{}",
  "end_input": {},
  "special": {},
  "omitted": {},
  "forbidden": {},
  "in_text": {},{}
  "language_place": "{}",
  "languages": {},
  "tokens": [)",
                  kTokenListFormat, enum_name(list.text), rules.end_input.value_or(false), special_json(rules.special),
                  numbers_json(rules.omitted), numbers_json(rules.forbidden), numbers_json(list.in_text),
                  other_ends_json(rules.other_ends), enum_name(rules.language_place), languages_json(rules.languages));
  std::string_view separator = "\n    ";
  for (const std::string& token : list.tokens) {
    text += separator;
    text += quote_json(token);
    separator = ",\n    ";
  }
  return text + "\n  ]\n}\n";
}

TokenList parse_token_list(std::string_view bytes, std::string_view name) {
  return TokenListReader(bytes, fmt::format("load_vocabulary: {}", name)).run();
}

}  // namespace edgewise
