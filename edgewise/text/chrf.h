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
  double score = 0.0;  // from 0 to 100
  std::string name;    // "chrF2", or "chrF2++"

  /// "chrF2 = 45.3", with the signature after the name when there is one.
  std::string format(int digits = 1, std::string_view signature = {}) const;
};

/// chrF of a corpus (Popović 2015, 2017) with one reference a line: the F-score, recall weighing twice as much, of
/// n-grams of up to 6 characters, white space left out, and of up to `word_order` words. The same numbers as sacreBLEU
/// 2.6.0's. Throws Error for corpora of different length, without lines, or not UTF-8, and for a word order that is not
/// from 0 to 4.
ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const ChrfOptions& options = {});

/// What a score depends on, as sacreBLEU writes it: "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:…".
std::string chrf_signature(const ChrfOptions& options = {});

}  // namespace edgewise
