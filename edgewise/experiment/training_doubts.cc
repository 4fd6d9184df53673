// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/training_doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

using ScriptCounts = std::map<int, std::int64_t>;

/// Counts the letters of texts by script, without those that several scripts share.
ScriptCounts count_letters(std::span<const std::string> texts) {
  ScriptCounts counts;
  for (const std::string& text : texts) {
    for_each_code_point(text, [&](CodePoint point, std::size_t) {
      if (is_letter(point.value) && script_of(point.value) != kNoScript) ++counts[script_of(point.value)];
    });
  }
  return counts;
}

/// Counts the tokens that have a letter of a script.
ScriptCounts count_tokens(const Vocabulary& vocabulary) {
  ScriptCounts counts;
  for (std::int64_t token = 0; token < vocabulary.size(); ++token) {
    const std::string text(vocabulary.token_text(token));
    const bool is_special = text.starts_with('<') && text.ends_with('>');
    if (is_special) continue;
    for (const auto& [script, letters] : count_letters(std::span(&text, 1))) ++counts[script];
  }
  return counts;
}

std::string describe_unknown_tokens(std::string_view side, std::span<const std::string> sentences,
                                    const Vocabulary& vocabulary) {
  constexpr double kMost = 0.2;
  std::int64_t tokens = 0;
  std::int64_t unknown = 0;
  for (const std::string& sentence : sentences) {
    const std::vector<std::int64_t> encoded = vocabulary.encode(sentence);
    tokens += std::ssize(encoded);
    unknown += std::ranges::count(encoded, vocabulary.special().unknown);
  }
  const double share = static_cast<double>(unknown) / static_cast<double>(std::max<std::int64_t>(tokens, 1));
  if (share < kMost) return "";
  return fmt::format(
      "{:.0f} % of the {} tokens are unknown to the vocabulary ({} of {} in {} sentences), which does not fit these "
      "sentences; learn another one",
      100 * share, side, unknown, tokens, sentences.size());
}

std::string describe_other_script(std::string_view side, std::span<const std::string> sentences,
                                  const Vocabulary& vocabulary) {
  const std::int64_t needed = std::clamp<std::int64_t>(vocabulary.size() / 100, 1, 100);
  const ScriptCounts tokens = count_tokens(vocabulary);
  const auto tokens_of = [&](int script) { return tokens.contains(script) ? tokens.at(script) : 0; };
  std::int64_t letters = 0;
  std::int64_t foreign = 0;
  std::pair<int, std::int64_t> most = {kNoScript, 0};
  for (const auto& count : count_letters(sentences)) {
    letters += count.second;
    if (tokens_of(count.first) >= needed) continue;
    foreign += count.second;
    if (count.second > most.second) most = count;
  }
  if (foreign == 0 || 2 * foreign < letters) return "";
  return fmt::format(
      "{:.0f} % of the {} letters are of a script that the vocabulary does not have: {} of {} letters are {}, but only "
      "{} of {} tokens; learn another vocabulary",
      100 * static_cast<double>(foreign) / static_cast<double>(letters), side, most.second, letters,
      script_name(most.first), tokens_of(most.first), vocabulary.size());
}

}  // namespace

LossDoubt::LossDoubt(TrainObserver& observer, std::int64_t tokens, std::int64_t warmup)
    : observer_(observer), tokens_(tokens), warmup_(warmup) {}

void LossDoubt::on_step(const StepReport& report) {
  constexpr std::int64_t kWindow = 20;
  if (has_warned_ || !std::isfinite(report.loss)) return;
  ++steps_;
  mean_ += (report.loss - mean_) / static_cast<double>(std::min(steps_, kWindow));
  const double chance = std::log(static_cast<double>(tokens_));
  const bool is_warm = report.step >= warmup_ + kWindow && steps_ >= kWindow;
  const bool is_hopeless = is_warm ? mean_ > chance : steps_ >= kWindow && mean_ > 10 * chance;
  if (!is_hopeless) return;
  has_warned_ = true;
  observer_.on_warning(
      report.step,
      fmt::format(
          "the mean loss of the last {} steps is {:.4g}, above {:.4g}, the loss of a guess among {} tokens: the "
          "model learns nothing; use a lower learning rate or a longer warm-up, and check the data",
          kWindow, mean_, chance, tokens_));
}

std::vector<std::string> describe_vocabulary_doubts(std::string_view side, std::span<const std::string> sentences,
                                                    const Vocabulary& vocabulary) {
  std::vector<std::string> doubts = {describe_other_script(side, sentences, vocabulary),
                                     describe_unknown_tokens(side, sentences, vocabulary)};
  std::erase(doubts, "");
  return doubts;
}

}  // namespace edgewise
