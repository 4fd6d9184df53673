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

/// Writes the sums of the lanes of four vectors to out[0] … out[3].
template <class D, class V, typename Number>
HWY_INLINE void store_four_sums(D d, const V* sums, Number* out) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<Number, float>) {
    // Adds blocks of four lanes: after two rounds, lane i of each block holds a part of sum i.
    const hn::RepartitionToWide<D> pairs;
    const auto a_b =
        hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, sums[0], sums[1]), hn::InterleaveUpper(d, sums[0], sums[1])));
    const auto c_d =
        hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, sums[2], sums[3]), hn::InterleaveUpper(d, sums[2], sums[3])));
    HWY_ALIGN Number blocks[hn::MaxLanes(D())];
    const auto added = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, a_b, c_d)),
                               hn::BitCast(d, hn::InterleaveUpper(pairs, a_b, c_d)));
    hn::Store(added, d, blocks);
    const hn::Full128<float> block;
    auto total = hn::Load(block, blocks);
    for (std::size_t i = 4; i < hn::MaxLanes(D()); i += 4) total = hn::Add(total, hn::Load(block, blocks + i));
    return hn::StoreU(total, block, out);
  }
#endif
  for (int i = 0; i < 4; ++i) out[i] = hn::GetLane(hn::SumOfLanes(d, sums[i]));
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

/// Writes the sum of each run to out[e * num_runs + r]. Writes up to 3 numbers more.
template <bool kHasRight, typename T>
HWY_INLINE void sum_runs(const ChunkRuns<T>& runs, AccumulatorType<T>* out) {
  const NumberTag<T> d;
  const std::int64_t whole = runs.length / kLanesOf<T> * kLanesOf<T>;
  const auto is_in_run = hn::FirstN(d, static_cast<std::size_t>(runs.length - whole));
  const std::int64_t count = runs.num_entries * runs.num_runs;
  std::int64_t entry = 0;
  std::int64_t run = 0;
  for (std::int64_t first = 0; first < count; first += 4) {
    const T* left[4];
    const T* right[4];
    for (int i = 0; i < 4; ++i) {
      left[i] = runs.left[entry] + run * runs.length;
      right[i] = runs.right[entry] + run * runs.length;
      if (runs.left_ahead != nullptr) {
        const T* ahead = runs.left_ahead[entry] + run * runs.length;
        for (std::int64_t k = 0; k < runs.length; k += 64 / static_cast<std::int64_t>(sizeof(T)))
          hwy::Prefetch(ahead + k);
      }
      if (first + i + 1 < count && ++run == runs.num_runs) {
        run = 0;
        ++entry;
      }
    }
    Numbers<T> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (std::int64_t k = 0; k < whole; k += kLanesOf<T>) {
      for (int i = 0; i < 4; ++i) {
        const auto l = load(AllLanes(), left[i] + k);
        if constexpr (kHasRight) {
          sums[i] = hn::MulAdd(l, load(AllLanes(), right[i] + k), sums[i]);
        } else {
          sums[i] = hn::Add(sums[i], l);
        }
      }
    }
    if (whole < runs.length) {
      for (int i = 0; i < 4; ++i) {
        auto l = load(AllLanes(), left[i] + whole);
        if constexpr (kHasRight) l = hn::Mul(l, load(AllLanes(), right[i] + whole));
        sums[i] = hn::Add(sums[i], hn::IfThenElseZero(is_in_run, l));
      }
    }
    store_four_sums(d, sums, out + first);
  }
}

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
        folded_(take_elements<Number>(whole_vectors<T>(kMaxChunk * broadcast().out_size) + kSlack)),
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
  static constexpr std::int64_t kSlack = 4;

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
      sum_runs<true>(runs, folded_);
    } else {
      sum_runs<false>(runs, folded_);
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

// The functions that Highway exports cannot be templates.
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
