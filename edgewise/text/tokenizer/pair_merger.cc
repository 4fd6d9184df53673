// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/tokenizer/pair_merger.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_set>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::int64_t kMaxNumbers = 1'000'000;
constexpr std::int32_t kNoSymbol = -1;

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

}  // namespace

/// The tokens of a word as a list, and the pairs that may be merged, least rank first. A pair is out of date once one
/// of its tokens has been merged; it is then left out.
class PairMerger::Word {
 public:
  explicit Word(const PairMerger& merger) : merger_(merger) {}

  void add(std::int32_t token) {
    const auto index = static_cast<std::int32_t>(symbols_.size());
    if (index > 0) symbols_.back().next = index;
    symbols_.push_back({token, index - 1, kNoSymbol});
  }

  void merge_pairs() {
    for (std::int32_t i = 0; i + 1 < static_cast<std::int32_t>(symbols_.size()); ++i) consider(i);
    while (!pairs_.empty()) {
      const Pair best = pairs_.top();
      pairs_.pop();
      Symbol& left = symbol(best.position);
      if (left.token != best.left || left.next == kNoSymbol || symbol(left.next).token != best.right) continue;
      Symbol& right = symbol(left.next);
      left.token = best.merged;
      right.token = kNoSymbol;
      left.next = right.next;
      if (left.next != kNoSymbol) symbol(left.next).previous = best.position;
      if (left.previous != kNoSymbol) consider(left.previous);
      consider(best.position);
    }
  }

  void append_to(std::vector<std::int64_t>& tokens) const {
    for (const Symbol& symbol : symbols_) {
      if (symbol.token != kNoSymbol) tokens.push_back(symbol.token);
    }
  }

 private:
  struct Symbol {
    std::int32_t token;  // kNoSymbol once the symbol is merged into the one before it
    std::int32_t previous;
    std::int32_t next;
  };

  struct Pair {
    std::uint32_t rank;
    std::int32_t position;  // number of the left symbol
    std::int32_t left, right, merged;

    bool operator<(const Pair& other) const {  // std::priority_queue returns the greatest
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };

  Symbol& symbol(std::int32_t index) { return symbols_[static_cast<std::size_t>(index)]; }

  /// Adds the pair that begins at a position, if it may be merged.
  void consider(std::int32_t position) {
    const Symbol& left = symbol(position);
    if (left.next == kNoSymbol) return;
    const std::int32_t right = symbol(left.next).token;
    if (const Merge* merge = merger_.find_merge(left.token, right)) {
      pairs_.push({merge->rank, position, left.token, right, merge->token});
    }
  }

  const PairMerger& merger_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Pair> pairs_;
};

PairMerger::PairMerger(const PairModel& model, const std::string& where)
    : prefix_(model.prefix),
      suffix_(model.suffix),
      fuses_unknown_(model.fuses_unknown),
      ignores_merges_(model.ignores_merges) {
  std::unordered_set<std::int64_t> numbers;
  for (const auto& [token, number] : model.tokens) {
    if (number < 0 || number >= kMaxNumbers || !numbers.insert(number).second) {
      fail("{}: {} has number {}, needs a number of its own from 0 to {}", where, quote(token), number,
           kMaxNumbers - 1);
    }
    const bool is_new = tokens_.emplace(token, static_cast<std::int32_t>(number)).second;
    if (!is_new) fail("{}: {} is there twice, needs to be there once", where, quote(token));
  }
  add_merges(model, where);
  index_characters(model);
  if (model.unknown) {
    const auto found = tokens_.find(*model.unknown);
    if (found != tokens_.end()) unknown_ = found->second;
    check(unknown_.has_value(), "{}: unk_token is {}, needs one of the tokens", where, quote(*model.unknown));
  }
}

void PairMerger::add_merges(const PairModel& model, const std::string& where) {
  std::uint32_t rank = 0;
  for (const auto& merge : model.merges) {
    const std::string& left = merge.first;
    const std::string& right = merge.second;
    const auto require = [&](const std::string& token) {
      const auto found = tokens_.find(token);
      if (found == tokens_.end()) {
        fail("{}: the merge of {} and {} has {}, needs a token of the vocabulary", where, quote(left), quote(right),
             quote(token));
      }
      return found->second;
    };
    const std::int32_t first = require(left);
    const std::int32_t second = require(right);
    const std::string_view rest =
        right.starts_with(prefix_) ? std::string_view(right).substr(prefix_.size()) : std::string_view(right);
    merges_.insert_or_assign(pair_key(first, second), Merge{rank++, require(left + std::string(rest))});
  }
}

void PairMerger::index_characters(const PairModel& model) {
  for (const auto& [token, number] : tokens_) {
    if (token.empty()) continue;
    const CodePoint point = code_point_at(token, 0);
    if (point.size == token.size()) characters_.emplace(point.value, number);
  }
  has_bytes_ = model.has_byte_fallback;
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    const auto found = tokens_.find(fmt::format("<0x{:02X}>", byte));
    bytes_[byte] = found == tokens_.end() ? kNoSymbol : found->second;
  }
}

std::optional<std::int64_t> PairMerger::find(std::string_view token) const {
  const auto found = tokens_.find(std::string(token));
  return found == tokens_.end() ? std::nullopt : std::optional<std::int64_t>(found->second);
}

const PairMerger::Merge* PairMerger::find_merge(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

/// Appends the token or tokens of a character, which has the prefix and the suffix of its place in the word.
/// `ends_with_unknown`: whether the unknown token of the characters before is yet to be added.
void PairMerger::append_symbol(std::string_view symbol, Word& symbols, bool& ends_with_unknown) const {
  const CodePoint first = code_point_at(symbol, 0);
  std::optional<std::int32_t> token;
  if (first.size == symbol.size()) {
    if (const auto found = characters_.find(first.value); found != characters_.end()) token = found->second;
  } else if (const auto found = tokens_.find(std::string(symbol)); found != tokens_.end()) {
    token = found->second;
  }
  if (token) {
    if (std::exchange(ends_with_unknown, false)) symbols.add(*unknown_);
    symbols.add(*token);
    return;
  }
  const auto token_of = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
  if (has_bytes_ && std::ranges::none_of(symbol, [&](char byte) { return token_of(byte) == kNoSymbol; })) {
    for (const char byte : symbol) symbols.add(token_of(byte));
  } else if (unknown_) {
    if (ends_with_unknown && !fuses_unknown_) symbols.add(*unknown_);
    ends_with_unknown = true;
  }
}

void PairMerger::append_symbols(std::string_view word, Word& symbols) const {
  bool ends_with_unknown = false;
  std::string changed;
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t size = std::max<std::size_t>(code_point_at(word, begin).size, 1);
    std::string_view symbol = word.substr(begin, size);
    const bool has_prefix = begin > 0 && !prefix_.empty();
    const bool has_suffix = begin + size == word.size() && !suffix_.empty();
    if (has_prefix || has_suffix) {
      changed = has_prefix ? prefix_ : "";
      changed += symbol;
      if (has_suffix) changed += suffix_;
      symbol = changed;
    }
    append_symbol(symbol, symbols, ends_with_unknown);
    begin += size;
  }
  if (ends_with_unknown) symbols.add(*unknown_);
}

void PairMerger::append_tokens(std::string_view word, std::vector<std::int64_t>& tokens) const {
  if (ignores_merges_) {
    if (const auto token = find(word)) {
      tokens.push_back(*token);
      return;
    }
  }
  Word symbols(*this);
  append_symbols(word, symbols);
  symbols.merge_pairs();
  symbols.append_to(tokens);
}

}  // namespace edgewise
