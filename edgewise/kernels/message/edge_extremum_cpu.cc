// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/message/edge_sum.h"
#include "edgewise/kernels/message/message_task.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/message/edge_extremum_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/message/message_loops-inl.h"

// Highway includes this file once for each instruction set; the guarded part is compiled once.
#ifndef EDGEWISE_KERNELS_MESSAGE_EDGE_EXTREMUM_CPU_CC
#define EDGEWISE_KERNELS_MESSAGE_EDGE_EXTREMUM_CPU_CC
namespace edgewise::kernels {

/// A number that counts entries in a lane of vectors for T.
template <typename T>
using EntryNumber = std::conditional_t<sizeof(AccumulatorType<T>) == 8, std::int64_t, std::int32_t>;

template <typename T>
struct ExtremumTask {
  MessageTask<T> message;
  EdgeRows rows;
  bool is_maximum;
  T* out;
  std::int32_t* entry;                   // or null
  AccumulatorType<T>* partial_extremum;  // [num_partials, size]
  EntryNumber<T>* partial_entry;         // [num_partials, size]
};

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_MESSAGE_EDGE_EXTREMUM_CPU_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// The rows of messages of a chunk: T, or the numbers that T's messages are computed in.
template <typename Element>
struct ChunkMessages {
  const Element* const* rows;
  const Element* const* rows_ahead;  // or null
  std::int64_t count;
  std::int64_t first_entry;  // the number of the chunk's first entry in the row
};

/// Compares kVectors vectors of each message with the extremum so far, from vector v on.
template <bool kIsMaximum, bool kKeepsEntry, int kVectors, typename Element>
HWY_INLINE void compare_vectors(const ChunkMessages<Element>& messages, AccumulatorType<Element>* extremum,
                                EntryNumber<Element>* entry, std::int64_t v) {
  const NumberTag<Element> d;
  const hn::RebindToSigned<NumberTag<Element>> d_entry;
  constexpr std::int64_t kStep = kLanesOf<Element>;
  extremum += v * kStep;
  entry += v * kStep;
  Numbers<Element> best[kVectors];
  hn::Vec<decltype(d_entry)> best_entry[kVectors];
  std::int64_t i = 0;
  for (int k = 0; k < kVectors; ++k) {
    if (messages.first_entry == 0) {
      best[k] = load(AllLanes(), messages.rows[0] + (v + k) * kStep);
      best_entry[k] = hn::Zero(d_entry);
    } else {
      best[k] = hn::LoadU(d, extremum + k * kStep);
      best_entry[k] = hn::LoadU(d_entry, entry + k * kStep);
    }
  }
  if (messages.first_entry == 0) i = 1;
  for (; i < messages.count; ++i) {
    const auto number = hn::Set(d_entry, static_cast<EntryNumber<Element>>(messages.first_entry + i));
    for (int k = 0; k < kVectors; ++k) {
      if (messages.rows_ahead != nullptr) hwy::Prefetch(messages.rows_ahead[i] + (v + k) * kStep);
      const auto value = load(AllLanes(), messages.rows[i] + (v + k) * kStep);
      // A comparison with NaN is false: a value that is NaN replaces the extremum, and an extremum that is NaN stays.
      const auto is_worse = kIsMaximum ? hn::Le(value, best[k]) : hn::Ge(value, best[k]);
      const auto stays = hn::Or(is_worse, hn::IsNaN(best[k]));
      best[k] = hn::IfThenElse(stays, best[k], value);
      if constexpr (kKeepsEntry) {
        best_entry[k] = hn::IfThenElse(hn::RebindMask(d_entry, stays), best_entry[k], number);
      }
    }
  }
  for (int k = 0; k < kVectors; ++k) {
    hn::StoreU(best[k], d, extremum + k * kStep);
    hn::StoreU(best_entry[k], d_entry, entry + k * kStep);
  }
}

template <bool kIsMaximum, bool kKeepsEntry, typename Element>
HWY_INLINE void compare_rows(const ChunkMessages<Element>& messages, std::int64_t num_vectors,
                             AccumulatorType<Element>* extremum, EntryNumber<Element>* entry) {
  std::int64_t v = 0;
  for (; v + 4 <= num_vectors; v += 4) compare_vectors<kIsMaximum, kKeepsEntry, 4>(messages, extremum, entry, v);
  for (; v < num_vectors; ++v) compare_vectors<kIsMaximum, kKeepsEntry, 1>(messages, extremum, entry, v);
}

/// Computes the pieces of an extremum.
template <typename T>
class RowExtremum {
 public:
  explicit RowExtremum(const ExtremumTask<T>& task)
      : task_(task),
        chunk_(task.message, task.rows),
        size_(whole_vectors<T>(size())),
        extremum_(take_elements<Number>(size_)),
        entry_(take_elements<EntryNumber<T>>(size_)),
        messages_(task.message.has_right() ? take_elements<Number>(kMaxChunk * size_) : nullptr) {
    for (std::int64_t i = 0; i < kMaxChunk; ++i) message_rows_[i] = messages_ + i * size_;
  }

  void find_piece(const RowPiece& piece) {
    const EdgeIndex row_begin = task_.rows.row_begin[piece.row];
    for (EdgeIndex entry = piece.begin; entry < piece.end; entry += kMaxChunk) {
      const std::int64_t count = std::min(kMaxChunk, piece.end - entry);
      chunk_.look_up(piece.row, entry, count);
      compare_chunk(entry - piece.begin, count);
    }
    if (piece.begin == piece.end) {
      std::fill_n(extremum_, size_, Number{0});
      std::fill_n(entry_, size_, EntryNumber<T>{-1});
    }
    if (piece.partial < 0) return finish(piece.row);
    std::copy_n(extremum_, size(), task_.partial_extremum + piece.partial * size());
    EntryNumber<T>* partial_entry = task_.partial_entry + piece.partial * size();
    for (std::int64_t i = 0; i < size(); ++i) {
      partial_entry[i] = entry_[i] + static_cast<EntryNumber<T>>(piece.begin - row_begin);
    }
  }

  /// Compares the extrema of the pieces of a row in their order.
  void compare_partials(const LongRow& row) {
    std::copy_n(task_.partial_extremum + row.first_partial * size(), size(), extremum_);
    std::copy_n(task_.partial_entry + row.first_partial * size(), size(), entry_);
    for (std::int64_t partial = row.first_partial + 1; partial < row.last_partial; ++partial) {
      const Number* value = task_.partial_extremum + partial * size();
      for (std::int64_t i = 0; i < size(); ++i) {
        const bool is_better = task_.is_maximum ? value[i] > extremum_[i] : value[i] < extremum_[i];
        if (std::isnan(extremum_[i]) || !(is_better || std::isnan(value[i]))) continue;
        extremum_[i] = value[i];
        entry_[i] = task_.partial_entry[partial * size() + i];
      }
    }
    finish(row.row);
  }

 private:
  using Number = AccumulatorType<T>;

  std::int64_t size() const { return task_.message.broadcast.size; }

  void compare_chunk(std::int64_t first_entry, std::int64_t count) {
    if (!task_.message.has_right()) {
      return compare(ChunkMessages<T>{chunk_.left().rows(), chunk_.left().rows_ahead(), count, first_entry});
    }
    chunk_.compute(count, [&](std::int64_t i, std::int64_t v, Numbers<T> message) HWY_ATTR {
      hn::StoreU(message, NumberTag<T>(), messages_ + i * size_ + v * kLanesOf<T>);
    });
    compare(ChunkMessages<Number>{message_rows_, nullptr, count, first_entry});
  }

  template <typename Element>
  void compare(const ChunkMessages<Element>& messages) {
    const std::int64_t num_vectors = size_ / kLanesOf<T>;
    if (task_.entry == nullptr) {
      task_.is_maximum ? compare_rows<true, false>(messages, num_vectors, extremum_, entry_)
                       : compare_rows<false, false>(messages, num_vectors, extremum_, entry_);
    } else {
      task_.is_maximum ? compare_rows<true, true>(messages, num_vectors, extremum_, entry_)
                       : compare_rows<false, true>(messages, num_vectors, extremum_, entry_);
    }
  }

  void finish(std::int64_t row) {
    store_row(extremum_, size(), task_.out + row * size());
    if (task_.entry == nullptr) return;
    std::transform(entry_, entry_ + size(), task_.entry + row * size(),
                   [](EntryNumber<T> entry) { return static_cast<std::int32_t>(entry); });
  }

  const ExtremumTask<T>& task_;
  MessageChunk<T> chunk_;
  std::int64_t size_;
  Number* extremum_;
  EntryNumber<T>* entry_;
  Number* messages_;
  const Number* message_rows_[kMaxChunk];
};

/// Computes the pieces, or the long rows, [begin, end).
template <typename T>
void find_range(const ExtremumTask<T>& task, bool are_long_rows, std::int64_t begin, std::int64_t end) {
  Scratch::of_this_thread().reset();
  RowExtremum<T> extremum(task);
  if (!are_long_rows) {
    return task.rows.for_pieces(begin, end, [&](const RowPiece& piece) { extremum.find_piece(piece); });
  }
  for (std::int64_t i = begin; i < end; ++i) {
    extremum.compare_partials(task.rows.long_rows[static_cast<std::size_t>(i)]);
  }
}

/// The functions that Highway exports cannot be templates.
void find_floats(const ExtremumTask<float>& task, bool are_long_rows, std::int64_t begin, std::int64_t end) {
  find_range(task, are_long_rows, begin, end);
}
void find_doubles(const ExtremumTask<double>& task, bool are_long_rows, std::int64_t begin, std::int64_t end) {
  find_range(task, are_long_rows, begin, end);
}
void find_bf16(const ExtremumTask<BFloat16>& task, bool are_long_rows, std::int64_t begin, std::int64_t end) {
  find_range(task, are_long_rows, begin, end);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(find_floats);
HWY_EXPORT(find_doubles);
HWY_EXPORT(find_bf16);

template <typename T>
void find_extrema(const FindExtrema<T>& p, const EdgeRows& rows) {
  if (instruction_set() == InstructionSet::kReference) return reference::find_extrema(p, rows);
  const MessageTask<T> message(p.message);
  const std::int64_t partials_size = rows.num_partials() * message.broadcast.size;
  AlignedBuffer partial_extremum;
  AlignedBuffer partial_entry;
  const ExtremumTask<T> task = {message,
                                rows,
                                p.is_maximum,
                                p.out,
                                p.entry,
                                partial_extremum.elements<AccumulatorType<T>>(partials_size),
                                partial_entry.elements<EntryNumber<T>>(partials_size)};
  auto find = [&](bool are_long_rows, std::int64_t begin, std::int64_t end) {
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(find_floats)(task, are_long_rows, begin, end);
    } else if constexpr (std::is_same_v<T, double>) {
      HWY_DYNAMIC_DISPATCH(find_doubles)(task, are_long_rows, begin, end);
    } else {
      HWY_DYNAMIC_DISPATCH(find_bf16)(task, are_long_rows, begin, end);
    }
  };
  parallel_ranges(
      rows.num_pieces(), [&](std::int64_t i) { return rows.cost_before(i); },
      [&](std::int64_t begin, std::int64_t end) { find(/*are_long_rows=*/false, begin, end); });
  parallel_for(std::ssize(rows.long_rows), /*grain=*/1,
               [&](std::int64_t begin, std::int64_t end) { find(/*are_long_rows=*/true, begin, end); });
}

template void find_extrema(const FindExtrema<float>&, const EdgeRows&);
template void find_extrema(const FindExtrema<double>&, const EdgeRows&);
template void find_extrema(const FindExtrema<BFloat16>&, const EdgeRows&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
