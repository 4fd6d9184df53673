// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/sentence_frame.h"

#include <algorithm>
#include <optional>
#include <span>

#include "edgewise/base/config/nearest_name.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::string_view kCodeBegin = ">>";
constexpr std::string_view kCodeEnd = "<<";

bool has_output_language_first(const SentenceRules& rules) {
  return rules.language_place == LanguagePlace::kBeforeBoth || rules.language_place == LanguagePlace::kAfterInput;
}

std::optional<std::int64_t> find_language(const SentenceRules& rules, std::string_view name) {
  const auto found = std::ranges::lower_bound(rules.languages, name, {}, &Language::name);
  return found != rules.languages.end() && found->name == name ? std::optional(found->token) : std::nullopt;
}

/// Returns a few names for an error: those near `name`, or else the first.
std::string list_near_names(std::string_view name, std::span<const Language> languages) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> names;
  for (const Language& language : languages) names.push_back(language.name);
  std::vector<std::string> near;
  if (const auto nearest = nearest_name(name, names)) near.push_back(*nearest);
  for (const std::string& other : names) {
    const bool is_near = !name.empty() && (other.starts_with(name) || name.starts_with(other));
    if (is_near && near.size() < kMost && std::ranges::find(near, other) == near.end()) near.push_back(other);
  }
  if (near.empty())
    near.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size())));
  for (std::string& other : near) other = quote_unless_plain(other);
  return fmt::format("{}", fmt::join(near, ", "));
}

/// The side of a pair in errors: its name and the options that give its language.
struct Side {
  std::string_view name;
  std::string_view options;
};

constexpr Side kInput = {"input", "--from or data.input_language"};
constexpr Side kOutput = {"output", "--to or data.output_language"};

std::int64_t require_language(const SentenceRules& rules, std::string_view name, const Side& side,
                              std::string_view caller) {
  if (const auto token = find_language(rules, name)) return *token;
  const std::string near = list_near_names(name, rules.languages);
  check(!name.empty(), "{}: the {} language is not given, needs one of the model's {} languages, such as {}; set {}",
        caller, side.name, rules.languages.size(), near, side.options);
  fail("{}: the {} language is {}, needs one of the model's {} languages, such as {}", caller, side.name,
       quote_unless_plain(name), rules.languages.size(), near);
}

void check_language(const SentenceRules& rules, bool has_place, std::string_view name, const Side& side,
                    std::string_view caller) {
  if (name.empty()) return;
  check(!rules.languages.empty(), "{}: the {} language is {}, but the model has no languages; leave out {}", caller,
        side.name, quote_unless_plain(name), side.options);
  check(has_place, "{}: the {} language is {}, but the model has only output languages; leave out {}", caller,
        side.name, quote_unless_plain(name), side.options);
  require_language(rules, name, side, caller);
}

/// Returns the bytes of the language code at the beginning of a text, 0 if there is none.
std::size_t code_size(std::string_view text) {
  const std::size_t end = text.starts_with(kCodeBegin) ? text.find(kCodeEnd) : std::string_view::npos;
  return end == std::string_view::npos ? 0 : end + kCodeEnd.size();
}

/// Takes the code of the output language out of the text, or else puts the language given in front.
void place_output_language(const Vocabulary& vocabulary, std::string_view language, std::string_view caller,
                           FramedInput& input) {
  const SentenceRules& rules = vocabulary.rules();
  if (const std::size_t size = code_size(input.text); size > 0) {
    const std::string_view code = input.text.substr(0, size);
    const auto found = std::ranges::find_if(
        rules.languages, [&](const Language& known) { return vocabulary.token_text(known.token) == code; });
    const bool is_known = found != rules.languages.end();
    if (is_known || language.empty()) {
      input.frame.before.push_back(is_known ? found->token : rules.special.unknown);
      input.text.remove_prefix(size);
      return;
    }
  }
  if (!language.empty()) input.frame.before.push_back(require_language(rules, language, kOutput, caller));
}

}  // namespace

void check_sentence_options(const Vocabulary& input, const Vocabulary& output, bool end_input,
                            const PairLanguages& languages, std::string_view caller) {
  const SentenceRules& rules = input.rules();
  check(rules.end_input.value_or(end_input) == end_input,
        "{}: data.end_input is {}, needs {}, as the vocabulary says; set data.end_input={}", caller, end_input,
        !end_input, !end_input);
  check_language(rules, has_output_language_first(rules), languages.input, kInput, caller);
  const bool is_in_input = rules.language_place == LanguagePlace::kOutputBeforeInput;
  check_language(is_in_input ? rules : output.rules(), true, languages.output, kOutput, caller);
}

FramedInput frame_input(const Vocabulary& vocabulary, std::string_view text, bool end_input,
                        const PairLanguages& languages, std::string_view caller) {
  const SentenceRules& rules = vocabulary.rules();
  FramedInput input = {text, {}};
  if (end_input) input.frame.after.push_back(rules.special.end);
  switch (rules.language_place) {
    case LanguagePlace::kNone:
      break;
    case LanguagePlace::kOutputBeforeInput:
      place_output_language(vocabulary, languages.output, caller, input);
      break;
    case LanguagePlace::kBeforeBoth:
      input.frame.before.push_back(require_language(rules, languages.input, kInput, caller));
      break;
    case LanguagePlace::kAfterInput:
      input.frame.after.push_back(require_language(rules, languages.input, kInput, caller));
      break;
  }
  return input;
}

std::vector<std::int64_t> output_beginning(const Vocabulary& vocabulary, std::string_view language,
                                           std::string_view caller) {
  const SentenceRules& rules = vocabulary.rules();
  if (!has_output_language_first(rules)) return {};
  return {require_language(rules, language, kOutput, caller)};
}

SentenceFrame frame_output(const Vocabulary& vocabulary, std::string_view language, std::string_view caller) {
  SentenceFrame frame = {{vocabulary.special().begin}, {vocabulary.special().end}};
  for (const std::int64_t token : output_beginning(vocabulary, language, caller)) frame.before.push_back(token);
  return frame;
}

}  // namespace edgewise
