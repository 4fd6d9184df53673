// SPDX-License-Identifier: Apache-2.0
// Reading and writing vocabulary.json.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <set>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/vocabulary/token_list.h"

namespace edgewise {
namespace {

constexpr std::int64_t kTokenListFormat = 1;
constexpr std::array<std::string_view, 10> kMembers = {"format",    "text",    "end_input",      "special",   "omitted",
                                                       "forbidden", "in_text", "language_place", "languages", "tokens"};

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
    json_.fail_at_value(
        fmt::format("{} is no member of a vocabulary, needs one of {}", quote(key), fmt::join(kMembers, ", ")));
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
  "in_text": {},
  "language_place": "{}",
  "languages": {},
  "tokens": [)",
                  kTokenListFormat, enum_name(list.text), rules.end_input.value_or(false), special_json(rules.special),
                  numbers_json(rules.omitted), numbers_json(rules.forbidden), numbers_json(list.in_text),
                  enum_name(rules.language_place), languages_json(rules.languages));
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
