// SPDX-License-Identifier: Apache-2.0

#include "edgewise/kernels/gpu/chunks.h"
#include "edgewise/kernels/gpu/device.h"
#include "edgewise/kernels/loss/logit_sums_cuda.h"
#include "edgewise/kernels/loss/logits_tile.h"

namespace edgewise::kernels {
namespace gpu {

/// A token and its logit, less its penalty. A logit of -infinity or NaN is no candidate.
struct TopToken {
  float logit;
  std::int32_t token;

  /// Returns whether this token is before the other one in a list: of equal logits the lower token is first.
  EDGEWISE_DEVICE bool precedes(const TopToken& other) const {
    return logit != other.logit ? logit > other.logit : token < other.token;
  }
};

/// A row of a tile, and the list of the largest logits of earlier tiles, which receives the result.
struct TopTokenRow {
  const float* logits;   // [N]
  const float* penalty;  // [N], or null
  std::int32_t first_token;
  int capacity;  // k, at least 1
  int count;     // elements of the list
  float* top_logits;
  std::int32_t* top_tokens;

  EDGEWISE_DEVICE TopToken listed(int i) const { return {top_logits[i], top_tokens[i]}; }

  EDGEWISE_DEVICE float candidate(float logit, int column) const {
    return penalty == nullptr ? logit : logit - penalty[column];
  }

  EDGEWISE_DEVICE void write(int i, const TopToken& token) const {
    top_logits[i] = token.logit;
    top_tokens[i] = token.token;
  }
};

/// Selects the tokens in a block. At least k logits reach the k-th largest of the threads' maxima, so that the logits
/// below this bound are no candidates. Each candidate, usually one of fewer than 2 k, is compared with all others: the
/// number of those that precede it is its place in the list.
template <int kThreads, int kQuads>
class TopTokenSelection {
  static_assert(kMaxTopTokens <= kThreads);
  static constexpr int kMaxCandidates = 512;
  static_assert(kMaxTopTokens <= kMaxCandidates);

 public:
  struct Shared {
    alignas(16) float maxima[kThreads];
    TopToken candidates[kMaxCandidates];
    TopToken selected[kMaxTopTokens];
    float bound;
    std::uint32_t num_candidates;
    float partial_logits[kThreads / kWarpSize];
    std::int32_t partial_tokens[kThreads / kWarpSize];
  };

  /// `columns` are the columns of the row.
  EDGEWISE_DEVICE TopTokenSelection(const TopTokenRow& row, const RowColumns& columns, Shared& shared)
      : row_(row), columns_(columns), shared_(shared) {}

  /// Writes the largest candidate of this thread's columns. A barrier follows before run().
  EDGEWISE_DEVICE static void begin(float maximum, Shared& shared) {
    shared.maxima[thread_index()] = maximum;
    if (thread_index() == 0) shared.num_candidates = 0;
  }

  /// Writes the list and returns the number of its elements. A collective of the block.
  EDGEWISE_DEVICE int run() {
    find_bound();
    synchronize_block();
    gather_candidates();
    synchronize_block();
    const int num_candidates = static_cast<int>(shared_.num_candidates);
    if (num_candidates > kMaxCandidates) return select_one_by_one();
    rank_candidates(num_candidates);
    return num_candidates < row_.capacity ? num_candidates : row_.capacity;
  }

 private:
  EDGEWISE_DEVICE void find_bound() {
    const int thread = thread_index();
    const float maximum = shared_.maxima[thread];
    int rank = 0;
    for (int i = 0; i < kThreads; i += 4) {
      const Floats4 others = *reinterpret_cast<const Floats4*>(&shared_.maxima[i]);
      EDGEWISE_UNROLL
      for (int j = 0; j < 4; ++j) {
        rank += others.at[j] > maximum || (others.at[j] == maximum && i + j < thread) ? 1 : 0;
      }
    }
    if (rank == row_.capacity - 1) shared_.bound = maximum;
  }

  EDGEWISE_DEVICE void gather_candidates() {
    if (thread_index() < row_.count) append(row_.listed(thread_index()));
    const float bound = shared_.bound;
    const float list_threshold = row_.count < row_.capacity ? kLowestLogit : row_.top_logits[row_.count - 1];
    columns_.visit<kThreads, kQuads>([&](auto part) {
      constexpr int kSize = decltype(part)::kSize;
      float logit[kSize];
      load_columns(row_.logits, part, logit);
      float largest = kLowestLogit;
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) largest = Maximum()(logit[i], largest);
      if (!(largest >= bound && largest > list_threshold)) return;
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) {
        if (!(logit[i] >= bound && logit[i] > list_threshold)) continue;
        const float candidate = row_.candidate(logit[i], part.at(i));
        if (candidate >= bound && candidate > list_threshold) append({candidate, row_.first_token + part.at(i)});
      }
    });
  }

  EDGEWISE_DEVICE void append(const TopToken& token) {
    const std::uint32_t place = atomic_add(&shared_.num_candidates, 1);
    if (place < kMaxCandidates) shared_.candidates[place] = token;
  }

  // The candidates are in any order; their ranks are not.
  EDGEWISE_DEVICE void rank_candidates(int num_candidates) const {
    for (int i = thread_index(); i < num_candidates; i += kThreads) {
      const TopToken token = shared_.candidates[i];
      int rank = 0;
      for (int j = 0; j < num_candidates; ++j) rank += shared_.candidates[j].precedes(token) ? 1 : 0;
      if (rank < row_.capacity) row_.write(rank, token);
    }
  }

  // Selects the tokens of a row with more candidates than shared memory has room for, in a pass for each of them.
  EDGEWISE_DEVICE int select_one_by_one() {
    TopToken last = {std::numeric_limits<float>::infinity(), -1};
    for (int i = 0; i < row_.capacity; ++i) {
      last = find_next(last);
      if (thread_index() == 0) shared_.selected[i] = last;
    }
    synchronize_block();
    if (thread_index() < row_.capacity) row_.write(thread_index(), shared_.selected[thread_index()]);
    return row_.capacity;
  }

  // Returns the first token that `last` precedes, which exists. A collective of the block.
  EDGEWISE_DEVICE TopToken find_next(const TopToken& last) {
    TopToken best = {kLowestLogit, std::numeric_limits<std::int32_t>::max()};
    const auto compare = [&](const TopToken& token) {
      if (last.precedes(token) && token.precedes(best)) best = token;
    };
    if (thread_index() < row_.count) compare(row_.listed(thread_index()));
    columns_.visit<kThreads, 1>([&](auto part) {
      constexpr int kSize = decltype(part)::kSize;
      float logit[kSize];
      load_columns(row_.logits, part, logit);
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) {
        compare({row_.candidate(logit[i], part.at(i)), row_.first_token + part.at(i)});
      }
    });
    const float logit = reduce_block<kThreads>(best.logit, Maximum(), shared_.partial_logits);
    const std::int32_t token = best.logit == logit ? best.token : std::numeric_limits<std::int32_t>::max();
    return {logit, reduce_block<kThreads>(token, Minimum(), shared_.partial_tokens)};
  }

  TopTokenRow row_;
  RowColumns columns_;
  Shared& shared_;
};

/// A block reduces one row: first the sum and the largest logit of each thread, then the k largest logits.
struct LogitsTileRows {
  static constexpr const char* kName = "logits_tile";
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kQuads = 4;  // groups of four logits that a thread loads at a time
  using Selection = TopTokenSelection<kThreads, kQuads>;

  struct Shared {
    WarpExpSums<kWarps> sums;
    Selection::Shared selection;
  };

  LogitsTile p;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const std::int64_t begin = block_index() * p.columns;
    const RowColumns columns(begin, static_cast<int>(p.columns));
    LogSumExpTopK& result = p.accumulators[block_index()];
    const TopTokenRow row = {.logits = p.logits + begin,
                             .penalty = p.penalty,
                             .first_token = static_cast<std::int32_t>(p.first_token),
                             .capacity = static_cast<int>(result.capacity),
                             .count = static_cast<int>(result.count),
                             .top_logits = result.top_logits,
                             .top_tokens = result.top_tokens};
    add_logits(row, columns, result.logits_out);
    synchronize_block();
    if (thread_index() == 0) add_sums(shared.sums.sum_of_block(), result);
    if (row.capacity == 0) return;
    const int count = Selection(row, columns, shared.selection).run();
    if (thread_index() == 0) result.count = count;
  }

 private:
  EDGEWISE_DEVICE static void add_logits(const TopTokenRow& row, const RowColumns& columns, float* logits_out) {
    Shared& shared = shared_memory<Shared>();
    ExpSums sums;
    float largest = kLowestLogit;
    columns.visit<kThreads, kQuads>([&](auto part) {
      constexpr int kSize = decltype(part)::kSize;
      float logit[kSize];
      load_columns(row.logits, part, logit);
      sums.raise_to(logit);
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) {
        sums.sum += sums.weight(logit[i]);
        largest = Maximum()(row.candidate(logit[i], part.at(i)), largest);
        if (logits_out != nullptr) logits_out[part.at(i)] = logit[i];
      }
    });
    shared.sums.write(sums);
    Selection::begin(largest, shared.selection);
  }

  EDGEWISE_DEVICE static void add_sums(ExpSums tile, LogSumExpTopK& result) {
    const float base = Maximum()(result.base, tile.maximum);
    tile.raise(base);
    result.sum = result.sum * double{exp_approximate(result.base - exponent_base(base))} + double{tile.sum};
    result.base = base;
  }
};

}  // namespace gpu

void reduce_logits_tile(const LogitsTile& p, device::Stream stream) {
  launch(gpu::LogitsTileRows{p}, static_cast<int>(p.rows), stream);
}

}  // namespace edgewise::kernels
