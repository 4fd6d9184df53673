// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/text/bleu_tokenizers.h"

namespace edgewise {

/// What an n-gram order without any match counts as: 1/2, 1/4, … of a match for the first such order, the second, … (as
/// mteval does), or nothing, which makes the score 0.
enum class BleuSmoothing { kExponential, kNone };

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  bool lower_case = false;
  BleuSmoothing smoothing = BleuSmoothing::kExponential;
};

inline constexpr std::size_t kBleuOrders = 4;

struct BleuScore {
  double score = 0.0;                            // from 0 to 100
  std::array<double, kBleuOrders> precisions{};  // from 0 to 100
  double brevity_penalty = 1.0;

  std::array<std::int64_t, kBleuOrders> matches{};
  std::array<std::int64_t, kBleuOrders> totals{};
  std::int64_t hypothesis_length = 0;  // words
  std::int64_t reference_length = 0;

  double ratio() const;

  /// "BLEU = 20.8 54.4/26.6/14.9/8.7 (BP = 1.000 ratio = 1.026 hyp_len = 62880 ref_len = 61287)", with the signature
  /// after the name when there is one.
  std::string format(int digits = 1, std::string_view signature = {}) const;
};

/// BLEU of a corpus (Papineni et al. 2002) with one reference a line: the same numbers as sacreBLEU 2.6.0's. Its
/// Unicode tables may be newer than ICU's, which `intl` and lower-casing depend on for characters of the last years.
/// Throws Error for corpora of different length, without lines, or not UTF-8.
BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options = {});

/// What a score depends on, as sacreBLEU writes it: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:…".
std::string bleu_signature(const BleuOptions& options = {});

}  // namespace edgewise
