// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentences/abbreviation_rules.h"

#include <algorithm>
#include <array>
#include <map>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

struct LanguageCode {
  std::string_view code;  // ISO 639-2 or 639-3
  std::string_view short_code;
};

constexpr LanguageCode kLanguageCodes[] = {{"ces", "cs"}, {"cze", "cs"}, {"deu", "de"}, {"dut", "nl"}, {"eng", "en"},
                                           {"fra", "fr"}, {"fre", "fr"}, {"ger", "de"}, {"ita", "it"}, {"nld", "nl"},
                                           {"pol", "pl"}, {"por", "pt"}, {"rus", "ru"}, {"spa", "es"}};

/// Returns the letters of a code before its country or script, in lower case and with two letters if the language has
/// a list: `de` for `>>deu<<`, `deu_Latn`, `__de__` and `de-AT`.
std::string short_language_code(std::string_view language) {
  const std::size_t begin = std::min(language.find_first_not_of(">_"), language.size());
  const std::string_view rest = language.substr(begin);
  const std::string code = lower_case(rest.substr(0, rest.find_first_of("_-<@.")));
  const auto* known = std::ranges::find(kLanguageCodes, code, &LanguageCode::code);
  return known == std::end(kLanguageCodes) ? code : std::string(known->short_code);
}

/// Adds an abbreviation as it is in the file and, unless it is a single letter, with a capital as at the beginning of a
/// sentence. Adds an abbreviation of three letters or more in capitals, too: `NO.` is more often the word.
void add_abbreviation(WordSet& words, std::string_view word) {
  words.insert(word);
  const std::size_t num_letters = count_code_points(word);
  if (num_letters == 1) return;
  std::string capitalised;
  std::string capitals;
  for_each_code_point(word, [&](CodePoint point, std::size_t offset) {
    const char32_t capital = titlecase_letter(point.value);
    append_utf8(capitals, capital);
    append_utf8(capitalised, offset == 0 ? capital : point.value);
  });
  words.insert(capitalised);
  if (num_letters > 2) words.insert(capitals);
}

class RulesParser {
 public:
  explicit RulesParser(std::string_view name) : name_(name) {}

  void parse_line(std::string_view line) {
    line = strip_space(line.substr(0, line.find('#')));
    if (line.starts_with('[')) {
      section_ = line;
      return;
    }
    for (const std::string_view word : split_words(line)) add(word);
  }

  AbbreviationRules take() { return std::move(rules_); }

 private:
  void add(std::string_view word) {
    if (section_ == "[inside or end]" && word.starts_with('-')) {
      rules_.suffixes.emplace_back(word.substr(1));
    } else if (section_ == "[inside]") {
      add_abbreviation(rules_.inside, word);
      add_beginnings(word);
    } else if (section_ == "[inside or end]") {
      add_abbreviation(rules_.inside_or_end, word);
      add_beginnings(word);
    } else {
      find_word_list().insert(word);
    }
  }

  void add_beginnings(std::string_view word) {
    for (std::size_t stop = word.find('.'); stop != std::string_view::npos; stop = word.find('.', stop + 1)) {
      add_abbreviation(rules_.partial, word.substr(0, stop));
    }
  }

  WordSet& find_word_list() {
    const std::array<std::pair<std::string_view, WordSet*>, 5> lists = {{
        {"[before numbers]", &rules_.before_numbers},
        {"[first words]", &rules_.first_words},
        {"[before ordinals]", &rules_.before_ordinals},
        {"[after ordinals]", &rules_.after_ordinals},
        {"[before letters]", &rules_.before_letters},
    }};
    const auto* found = std::ranges::find(lists, section_, [](const auto& list) { return list.first; });
    check(found != lists.end(),
          "parse_abbreviation_rules: {} has words in the section {}, needs one of [inside], [inside or end], "
          "[before numbers], [first words], [before ordinals], [after ordinals], [before letters]",
          name_, quote(section_));
    return *found->second;
  }

  std::string_view name_;
  std::string_view section_;
  AbbreviationRules rules_;
};

constexpr std::string_view kExtension = ".txt";
constexpr std::string_view kMostLanguages = "default";

using RulesByLanguage = std::map<std::string, AbbreviationRules, std::less<>>;

const RulesByLanguage& all_rules() {
  static const RulesByLanguage rules = [] {
    RulesByLanguage parsed;
    for (const EmbeddedFile& file : abbreviation_files()) {
      const std::string_view language = file.name.substr(0, file.name.size() - kExtension.size());
      parsed.emplace(language, parse_abbreviation_rules(file.text, file.name));
    }
    return parsed;
  }();
  return rules;
}

}  // namespace

AbbreviationRules parse_abbreviation_rules(std::string_view text, std::string_view name) {
  RulesParser parser(name);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    parser.parse_line(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parser.take();
}

const AbbreviationRules& find_abbreviation_rules(std::string_view language) {
  const auto found = all_rules().find(short_language_code(language));
  return found == all_rules().end() ? all_rules().find(kMostLanguages)->second : found->second;
}

}  // namespace edgewise
