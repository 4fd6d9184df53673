// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace edgewise {

struct ChrfOptions {
  int word_order = 0;  // 2: chrF++
  bool lower_case = false;
};

struct ChrfScore {
  double score = 0.0;  // 0 to 100
  std::string name;    // "chrF2", or "chrF2++"

  /// Returns "chrF2 = 45.3", with the signature after the name if it is not empty.
  std::string format(int digits = 1, std::string_view signature = {}) const;
};

/// Computes chrF (Popović 2015, 2017) of a corpus with one reference per line: the F-score, with recall weighted twice
/// as much as precision, of n-grams of 1 to 6 characters (without white space) and 1 to `word_order` words. Numbers
/// equal those of sacreBLEU 2.6.0. Throws Error if the numbers of lines differ or are 0, for text that is not UTF-8,
/// and for a word order outside 0 to 4.
ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const ChrfOptions& options = {});

/// Returns the settings of a score in sacreBLEU's notation: "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:…".
std::string chrf_signature(const ChrfOptions& options = {});

}  // namespace edgewise
