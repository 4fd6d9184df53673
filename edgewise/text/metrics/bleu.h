// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/stop_request.h"

namespace edgewise {

/// Tokenizers of BLEU under sacreBLEU's names: 13a, the rules of WMT's mteval-v13a for European languages; intl, which
/// splits at Unicode punctuation and symbols (mteval-v14 --international-tokenization); none, white space alone.
enum class BleuTokenizer { k13a, kIntl, kNone };

inline constexpr auto enum_names(BleuTokenizer) {
  return std::array{EnumName{BleuTokenizer::k13a, "13a"}, EnumName{BleuTokenizer::kIntl, "intl"},
                    EnumName{BleuTokenizer::kNone, "none"}};
}

/// Returns the line with white space between its tokens; there may be several spaces.
std::string tokenize_for_bleu(std::string_view line, BleuTokenizer tokenizer);

/// Precision of an n-gram order without matches: the first such order counts as 1/2 of a match, the second as 1/4, …
/// (as in mteval), or each counts as 0, which makes the score 0.
enum class BleuSmoothing { kExponential, kNone };

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  bool lower_case = false;
  BleuSmoothing smoothing = BleuSmoothing::kExponential;
};

inline constexpr std::size_t kBleuOrders = 4;

struct BleuScore {
  double score = 0.0;                            // 0 to 100
  std::array<double, kBleuOrders> precisions{};  // 0 to 100, for n-grams of 1 to 4 words
  double brevity_penalty = 1.0;

  std::array<std::int64_t, kBleuOrders> matches{};
  std::array<std::int64_t, kBleuOrders> totals{};
  std::int64_t hypothesis_length = 0;  // in words
  std::int64_t reference_length = 0;

  double ratio() const;

  /// Returns "BLEU = 20.8 54.4/26.6/14.9/8.7 (BP = 1.000 ratio = 1.026 hyp_len = 62880 ref_len = 61287)", with the
  /// signature after the name if it is not empty.
  std::string format(int digits = 1, std::string_view signature = {}) const;
};

/// Computes BLEU (Papineni et al. 2002) of a corpus with one reference per line, with the same numbers as
/// sacreBLEU 2.6.0. The `intl` tokenizer and lower-casing may differ from sacreBLEU for characters that are newer than
/// ICU's Unicode tables. Throws Error if the numbers of lines differ or are 0, and for text that is not UTF-8.
/// Throws StopException if `stop` is set before the end.
BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options = {}, const StopRequest* stop = nullptr);

/// Returns the settings of a score in sacreBLEU's notation: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:…".
std::string bleu_signature(const BleuOptions& options = {});

}  // namespace edgewise
