// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/split.h"

#include <string>

#include "edgewise/base/error.h"
#include "edgewise/text/unicode.h"
#include "edgewise/text/utf8.h"

namespace edgewise {
namespace {

/// FNV-1a (Fowler, Noll, Vo) of the bytes that are put in.
class Hash {
 public:
  void put(std::string_view bytes) {
    for (const char byte : bytes) {
      value_ ^= static_cast<unsigned char>(byte);
      value_ *= 0x100000001B3;
    }
  }

  /// The high bits of FNV-1a depend little on the last bytes: this spreads them (the finaliser of MurmurHash3).
  std::uint64_t spread() const {
    std::uint64_t value = value_;
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD;
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53;
    return value ^ value >> 33;
  }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace

std::uint64_t hash_of_words(std::string_view sentence) {
  const std::string lower = lower_case(sentence);
  Hash hash;
  bool is_in_word = false;
  bool has_words = false;
  for_each_code_point(lower, [&](CodePoint point, std::size_t offset) {
    const bool is_of_word = is_letter(point.value) || is_number(point.value);
    if (is_of_word) {
      if (!is_in_word && has_words) hash.put(" ");
      hash.put(std::string_view(lower).substr(offset, point.size));
      has_words = true;
    }
    is_in_word = is_of_word;
  });
  return hash.spread();
}

Split split_of(std::string_view sentence, const SplitShares& shares) {
  check(shares.valid >= 0 && shares.test >= 0 && shares.valid + shares.test <= 1,
        "split_of: shares are {} for validation and {} for test, need 0 or more and at most 1 together", shares.valid,
        shares.test);
  constexpr double kStep = 0x1p-53;
  const double where = static_cast<double>(hash_of_words(sentence) >> 11) * kStep;
  if (where < shares.valid) return Split::kValid;
  if (where < shares.valid + shares.test) return Split::kTest;
  return Split::kTrain;
}

}  // namespace edgewise
