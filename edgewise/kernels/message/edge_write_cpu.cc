// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/message/edge_sum.h"
#include "edgewise/kernels/message/message_task.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/message/edge_write_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/message/message_loops-inl.h"

// Highway includes this file once for each instruction set; the guarded part is compiled once.
#ifndef EDGEWISE_KERNELS_MESSAGE_EDGE_WRITE_CPU_CC
#define EDGEWISE_KERNELS_MESSAGE_EDGE_WRITE_CPU_CC
namespace edgewise::kernels {

template <typename T>
struct WriteTask {
  MessageTask<T> message;
  EdgeRows rows;
  T* out;
  const std::int64_t* numbers;  // or null
};

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_MESSAGE_EDGE_WRITE_CPU_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// Writes sums of neighbouring lanes of four vectors: of each vector i the sums of `num_sums` equal parts, to
/// out[i * stride] and the numbers after it.
template <class D, class V, typename Number>
HWY_INLINE void store_sums_of_parts(D d, const V* sums, [[maybe_unused]] std::int64_t num_sums, std::int64_t stride,
                                    Number* out) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<Number, float>) {
    // Adds blocks of four lanes: after two rounds, lane i of each block holds the sum of the block of vector i.
    constexpr auto kLanesOfD = static_cast<std::int64_t>(hn::MaxLanes(D()));
    const hn::RepartitionToWide<D> pairs;
    const auto a_b =
        hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, sums[0], sums[1]), hn::InterleaveUpper(d, sums[0], sums[1])));
    const auto c_d =
        hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, sums[2], sums[3]), hn::InterleaveUpper(d, sums[2], sums[3])));
    const auto added = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, a_b, c_d)),
                               hn::BitCast(d, hn::InterleaveUpper(pairs, a_b, c_d)));
    HWY_ALIGN Number blocks[hn::MaxLanes(D())];
    hn::Store(added, d, blocks);
    const std::int64_t part = kLanesOfD / num_sums;
    for (std::int64_t s = 0; s < num_sums; ++s) {
      const hn::Full128<float> block;
      auto total = hn::Load(block, blocks + s * part);
      for (std::int64_t i = 4; i < part; i += 4) total = hn::Add(total, hn::Load(block, blocks + s * part + i));
      if (num_sums == 1 && stride == 1) return hn::StoreU(total, block, out);
      HWY_ALIGN Number four[4];
      hn::Store(total, block, four);
      for (std::int64_t i = 0; i < 4; ++i) out[i * stride + s] = four[i];
    }
    return;
  }
#endif
  for (std::int64_t i = 0; i < 4; ++i) out[i * stride] = hn::GetLane(hn::SumOfLanes(d, sums[i]));
}

/// The runs of the messages of a chunk: run r of entry e is the `length` elements from r * length on.
template <typename T>
struct ChunkRuns {
  const T* const* left;
  const T* const* right;
  const T* const* left_ahead;  // or null
  std::int64_t num_entries;
  std::int64_t num_runs;  // in each entry
  std::int64_t length;
};

/// Computes the sums of runs. A unit is one run, or the runs of one vector if runs are a fraction of a vector.
template <bool kHasRight, typename T>
class RunSums {
  using Number = AccumulatorType<T>;

 public:
  explicit RunSums(const ChunkRuns<T>& runs)
      : runs_(runs),
        runs_of_unit_(fill_vectors(runs) ? kLanesOf<T> / runs.length : 1),
        num_units_(runs.num_runs / runs_of_unit_),
        length_(runs.length * runs_of_unit_),
        whole_(length_ / kLanesOf<T> * kLanesOf<T>) {}

  /// Writes the sum of each run to out[e * num_runs + r]. Writes the sums of up to 3 more units. `is_right_shared`: all
  /// entries have one right row.
  HWY_INLINE void write(bool is_right_shared, Number* out) const {
    if (kHasRight && is_right_shared) {
      for (std::int64_t entry = 0; entry < runs_.num_entries; entry += 4) add_entries(entry, out);
    } else if (num_units_ % 4 == 0) {
      for (std::int64_t entry = 0; entry < runs_.num_entries; ++entry) add_units(entry, out);
    } else {
      add_any_units(out);
    }
  }

 private:
  struct Four {
    const T* rows[4];
  };

  /// Returns whether a vector holds several whole runs, each of whole blocks of four lanes.
  static bool fill_vectors(const ChunkRuns<T>& runs) {
    const bool are_parts =
        runs.length % 4 == 0 && runs.length > 0 && runs.length < kLanesOf<T> && kLanesOf<T> % runs.length == 0;
    return std::is_same_v<Number, float> && are_parts && runs.num_runs % (kLanesOf<T> / runs.length) == 0;
  }

  HWY_INLINE void prefetch(std::int64_t entry, std::int64_t unit, std::int64_t num_units) const {
    if (runs_.left_ahead == nullptr) return;
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    const T* ahead = runs_.left_ahead[entry] + unit * length_;
    for (std::int64_t i = 0; i < num_units * length_; i += kLine) hwy::Prefetch(ahead + i);
  }

  /// Adds up one unit of each of four rows, and writes the sums `stride` numbers apart.
  template <bool kIsRightShared>
  HWY_INLINE void add_four(const Four& left, const Four& right, std::int64_t stride, Number* out) const {
    const NumberTag<T> d;
    Numbers<T> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    auto add = [&](std::int64_t k, auto part) HWY_ATTR {
      auto r = hn::Zero(d);
      if constexpr (kHasRight && kIsRightShared) r = load(AllLanes(), right.rows[0] + k);
      for (int i = 0; i < 4; ++i) {
        auto l = load(AllLanes(), left.rows[i] + k);
        if constexpr (std::is_same_v<decltype(part), FirstLanes>) {
          l = hn::IfThenElseZero(hn::FirstN(d, part.count), l);
        }
        if constexpr (kHasRight && !kIsRightShared) r = load(AllLanes(), right.rows[i] + k);
        if constexpr (kHasRight && std::is_same_v<decltype(part), FirstLanes>) {
          r = hn::IfThenElseZero(hn::FirstN(d, part.count), r);
        }
        sums[i] = kHasRight ? hn::MulAdd(l, r, sums[i]) : hn::Add(sums[i], l);
      }
    };
    for (std::int64_t k = 0; k < whole_; k += kLanesOf<T>) add(k, AllLanes());
    if (whole_ < length_) add(whole_, FirstLanes{static_cast<std::size_t>(length_ - whole_)});
    store_sums_of_parts(d, sums, runs_of_unit_, stride, out);
  }

  /// Adds up all units of four entries, or of the last entry several times.
  HWY_INLINE void add_entries(std::int64_t entry, Number* out) const {
    const std::int64_t last = runs_.num_entries - 1;
    for (std::int64_t i = entry; i < std::min(entry + 4, last + 1); ++i) prefetch(i, 0, num_units_);
    for (std::int64_t unit = 0; unit < num_units_; ++unit) {
      Four left;
      for (int i = 0; i < 4; ++i) left.rows[i] = runs_.left[std::min(entry + i, last)] + unit * length_;
      const Four right = {{runs_.right[0] + unit * length_}};
      add_four<true>(left, right, runs_.num_runs, out + entry * runs_.num_runs + unit * runs_of_unit_);
    }
  }

  /// Adds up the units of an entry, whose number is a multiple of four.
  HWY_INLINE void add_units(std::int64_t entry, Number* out) const {
    prefetch(entry, 0, num_units_);
    for (std::int64_t unit = 0; unit < num_units_; unit += 4) {
      Four left;
      Four right;
      for (int i = 0; i < 4; ++i) left.rows[i] = runs_.left[entry] + (unit + i) * length_;
      for (int i = 0; i < 4; ++i) right.rows[i] = runs_.right[entry] + (unit + i) * length_;
      add_four<false>(left, right, runs_of_unit_, out + entry * runs_.num_runs + unit * runs_of_unit_);
    }
  }

  /// Adds up the units of all entries, four at once.
  HWY_INLINE void add_any_units(Number* out) const {
    const std::int64_t count = runs_.num_entries * num_units_;
    std::int64_t entry = 0;
    std::int64_t unit = 0;
    for (std::int64_t first = 0; first < count; first += 4) {
      Four left;
      Four right;
      for (int i = 0; i < 4; ++i) {
        left.rows[i] = runs_.left[entry] + unit * length_;
        right.rows[i] = runs_.right[entry] + unit * length_;
        prefetch(entry, unit, 1);
        if (first + i + 1 < count && ++unit == num_units_) {
          unit = 0;
          ++entry;
        }
      }
      add_four<false>(left, right, runs_of_unit_, out + first * runs_of_unit_);
    }
  }

  const ChunkRuns<T>& runs_;
  std::int64_t runs_of_unit_;
  std::int64_t num_units_;
  std::int64_t length_;
  std::int64_t whole_;
};

/// Writes the messages of the entries of a row.
template <typename T>
class RowWriter {
 public:
  explicit RowWriter(const WriteTask<T>& task)
      : task_(task),
        sums_runs_(broadcast().out_reading() == RowReading::kRepeated &&
                   (task.message.formula == Formula::kCopy || task.message.formula == Formula::kMultiply)),
        chunk_(task.message, task.rows, /*needs_whole_right=*/sums_runs_),
        size_(whole_vectors<T>(broadcast().size)),
        folded_(take_elements<Number>(whole_vectors<T>((kMaxChunk + 3) * broadcast().out_size) + kSlack)),
        messages_(is_whole() || sums_runs_ ? nullptr : take_elements<Number>(kMaxChunk * size_)) {}

  void write(std::int64_t row, EdgeIndex begin, EdgeIndex end) {
    for (EdgeIndex entry = begin; entry < end; entry += kMaxChunk) {
      const std::int64_t count = std::min(kMaxChunk, end - entry);
      chunk_.look_up(row, entry, count);
      if (is_whole()) {
        write_messages(entry, count);
      } else if (sums_runs_) {
        write_sums_of_runs(entry, count);
      } else {
        write_folded_messages(entry, count);
      }
    }
  }

 private:
  using Number = AccumulatorType<T>;
  static constexpr std::int64_t kSlack = 4 * kLanesOf<T>;

  const RowBroadcast& broadcast() const { return task_.message.broadcast; }
  bool is_whole() const { return broadcast().out_reading() == RowReading::kWhole; }
  T* out_row(EdgeIndex entry) const {
    const EdgeIndex edge = task_.rows.edge(entry);
    return task_.out + (task_.numbers != nullptr ? task_.numbers[edge] : edge) * broadcast().out_size;
  }

  void write_messages(EdgeIndex entry, std::int64_t count) {
    T* out[kMaxChunk];
    for (std::int64_t i = 0; i < count; ++i) out[i] = out_row(entry + i);
    const std::int64_t num_whole = broadcast().size / kLanesOf<T>;
    const std::int64_t rest = broadcast().size % kLanesOf<T>;
    chunk_.compute(count, [&](std::int64_t i, std::int64_t v, Numbers<T> message) HWY_ATTR {
      if (v < num_whole) {
        store(AllLanes(), message, out[i] + v * kLanesOf<T>);
      } else {
        store_first(rest, message, out[i] + v * kLanesOf<T>);
      }
    });
  }

  void write_sums_of_runs(EdgeIndex entry, std::int64_t count) {
    const ChunkRuns<T> runs = {chunk_.left().rows(), chunk_.right().rows(), chunk_.left().rows_ahead(), count,
                               broadcast().out_size, broadcast().run_length};
    if (task_.message.has_right()) {
      RunSums<true, T>(runs).write(task_.message.right.end == EdgeEnd::kRow, folded_);
    } else {
      RunSums<false, T>(runs).write(/*is_right_shared=*/false, folded_);
    }
    if (task_.rows.edges == nullptr && task_.numbers == nullptr) {
      store_row(folded_, count * broadcast().out_size, out_row(entry));
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      store_row(folded_ + i * broadcast().out_size, broadcast().out_size, out_row(entry + i));
    }
  }

  void write_folded_messages(EdgeIndex entry, std::int64_t count) {
    chunk_.compute(count, [&](std::int64_t i, std::int64_t v, Numbers<T> message) HWY_ATTR {
      hn::StoreU(message, NumberTag<T>(), messages_ + i * size_ + v * kLanesOf<T>);
    });
    for (std::int64_t i = 0; i < count; ++i) {
      fold_row(broadcast(), messages_ + i * size_, folded_);
      store_row(folded_, broadcast().out_size, out_row(entry + i));
    }
  }

  const WriteTask<T>& task_;
  bool sums_runs_;
  MessageChunk<T> chunk_;
  std::int64_t size_;
  Number* folded_;
  Number* messages_;
};

/// Writes the entries [begin, end).
template <typename T>
void write_entries(const WriteTask<T>& task, EdgeIndex begin, EdgeIndex end) {
  Scratch::of_this_thread().reset();
  RowWriter<T> writer(task);
  const EdgeIndex* row_begin = task.rows.row_begin;
  std::int64_t row = std::upper_bound(row_begin, row_begin + task.rows.num_rows + 1, begin) - row_begin - 1;
  for (; begin < end; ++row) {
    const EdgeIndex row_end = std::min(end, row_begin[row + 1]);
    writer.write(row, begin, row_end);
    begin = row_end;
  }
}

/// The functions that Highway exports cannot be templates.
void write_floats(const WriteTask<float>& task, EdgeIndex begin, EdgeIndex end) { write_entries(task, begin, end); }
void write_doubles(const WriteTask<double>& task, EdgeIndex begin, EdgeIndex end) { write_entries(task, begin, end); }
void write_bf16(const WriteTask<BFloat16>& task, EdgeIndex begin, EdgeIndex end) { write_entries(task, begin, end); }

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(write_floats);
HWY_EXPORT(write_doubles);
HWY_EXPORT(write_bf16);

template <typename T>
void write_edges(const WriteEdges<T>& p, const EdgeRows& rows) {
  if (instruction_set() == InstructionSet::kReference) return reference::write_edges(p, rows);
  constexpr std::int64_t kMinNumbersPerThread = 16384;
  const WriteTask<T> task = {MessageTask<T>(p.message), rows, p.out, p.numbers};
  const std::int64_t grain = kMinNumbersPerThread / std::max<std::int64_t>(1, task.message.broadcast.size) + 1;
  parallel_for(rows.num_entries(), grain, [&](EdgeIndex begin, EdgeIndex end) {
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(write_floats)(task, begin, end);
    } else if constexpr (std::is_same_v<T, double>) {
      HWY_DYNAMIC_DISPATCH(write_doubles)(task, begin, end);
    } else {
      HWY_DYNAMIC_DISPATCH(write_bf16)(task, begin, end);
    }
  });
}

template void write_edges(const WriteEdges<float>&, const EdgeRows&);
template void write_edges(const WriteEdges<double>&, const EdgeRows&);
template void write_edges(const WriteEdges<BFloat16>&, const EdgeRows&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
