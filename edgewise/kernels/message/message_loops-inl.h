// SPDX-License-Identifier: Apache-2.0
// Loops over the rows that messages read, and over the elements of messages. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_MESSAGE_MESSAGE_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_MESSAGE_MESSAGE_LOOPS_INL_H
#undef EDGEWISE_KERNELS_MESSAGE_MESSAGE_LOOPS_INL_H
#else
#define EDGEWISE_KERNELS_MESSAGE_MESSAGE_LOOPS_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "edgewise/kernels/message/message_task.h"
#include "edgewise/kernels/simd/accumulator_type.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// Vectors of the numbers that messages of type T are computed in.
template <typename T>
using NumberTag = hn::ScalableTag<AccumulatorType<T>>;
template <typename T>
using Numbers = hn::Vec<NumberTag<T>>;
template <typename T>
inline constexpr auto kLanesOf = static_cast<std::int64_t>(hn::MaxLanes(NumberTag<T>()));

/// Rounds a number of elements up to whole vectors.
template <typename T>
constexpr std::int64_t whole_vectors(std::int64_t count) {
  return (count + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>;
}

HWY_INLINE Numbers<double> load(AllLanes /*part*/, const double* from) { return hn::LoadU(NumberTag<double>(), from); }
HWY_INLINE void store(AllLanes /*part*/, Numbers<double> values, double* to) {
  hn::StoreU(values, NumberTag<double>(), to);
}

/// Stores the first `count` lanes.
template <typename T>
HWY_INLINE void store_first(std::int64_t count, Numbers<T> values, T* to) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    store(FirstLanes{static_cast<std::size_t>(count)}, values, to);
  } else {
    const NumberTag<T> d;
    hn::BlendedStore(values, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
  }
}

/// Stores `size` numbers, which are followed by memory up to whole vectors, as a row of type T.
template <typename T>
HWY_INLINE void store_row(const AccumulatorType<T>* from, std::int64_t size, T* to) {
  const NumberTag<T> d;
  std::int64_t i = 0;
  for (; i + kLanesOf<T> <= size; i += kLanesOf<T>) store(AllLanes(), hn::LoadU(d, from + i), to + i);
  if (i < size) store_first(size - i, hn::LoadU(d, from + i), to + i);
}

/// Returns an uninitialised buffer of this thread's Scratch for `count` elements.
template <typename T>
T* take_elements(std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  return reinterpret_cast<T*>(Scratch::of_this_thread().take((bytes + sizeof(float) - 1) / sizeof(float)));
}

// Readers of an operand's row: vector v holds the elements of the broadcast row from v * lanes on.

template <typename T>
struct WholeReader {
  HWY_INLINE Numbers<T> read(const T* row, std::int64_t v) const { return load(AllLanes(), row + v * kLanesOf<T>); }
};

/// Each vector lies in one run.
template <typename T>
struct BroadcastReader {
  const std::int32_t* first;  // the element of each vector

  HWY_INLINE Numbers<T> read(const T* row, std::int64_t v) const {
    return hn::Set(NumberTag<T>(), static_cast<AccumulatorType<T>>(row[first[v]]));
  }
};

/// A vector may hold several runs.
template <typename T>
struct PermutedReader {
  using Lane = hn::TFromD<hn::RebindToSigned<NumberTag<T>>>;
  const std::int32_t* first;  // the first element of each vector
  const Lane* lanes;          // for each lane of each vector, the element, counted from the first

  HWY_INLINE Numbers<T> read(const T* row, std::int64_t v) const {
    return hn::TableLookupLanes(load(AllLanes(), row + first[v]),
                                hn::SetTableIndices(NumberTag<T>(), lanes + v * kLanesOf<T>));
  }
};

/// The elements that the vectors of a broadcast row read from an operand that is repeated in runs.
template <typename T>
class RepeatedElements {
 public:
  using Lane = typename PermutedReader<T>::Lane;

  explicit RepeatedElements(const RowBroadcast& broadcast) : is_broadcast_(broadcast.run_length % kLanesOf<T> == 0) {
    const std::int64_t last = static_cast<std::int64_t>(broadcast.runs.size()) - 1;
    for (std::int64_t i = 0; i < whole_vectors<T>(broadcast.size); ++i) {
      const auto element = static_cast<std::int32_t>(std::min(i / broadcast.run_length, last));
      if (i % kLanesOf<T> == 0) first_.push_back(element);
      if (!is_broadcast_) lanes_.push_back(static_cast<Lane>(element - first_.back()));
    }
  }

  bool is_broadcast() const { return is_broadcast_; }
  BroadcastReader<T> broadcast_reader() const { return {first_.data()}; }
  PermutedReader<T> permuted_reader() const { return {first_.data(), lanes_.data()}; }

 private:
  bool is_broadcast_;
  std::vector<std::int32_t> first_;
  std::vector<Lane> lanes_;
};

struct CopyLeft {
  template <class V>
  HWY_INLINE V operator()(V left, V /*right*/) const {
    return left;
  }
};
struct AddBoth {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const {
    return hn::Add(left, right);
  }
};
struct SubtractRight {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const {
    return hn::Sub(left, right);
  }
};
struct SubtractLeft {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const {
    return hn::Sub(right, left);
  }
};
struct MultiplyBoth {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const {
    return hn::Mul(left, right);
  }
};
struct DivideByRight {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const {
    return hn::Div(left, right);
  }
};
struct DivideByLeft {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const {
    return hn::Div(right, left);
  }
};

/// Calls body(function of two vectors).
template <class Body>
HWY_INLINE void with_formula(Formula formula, Body&& body) {
  switch (formula) {
    case Formula::kCopy:
      return body(CopyLeft());
    case Formula::kAdd:
      return body(AddBoth());
    case Formula::kSubtract:
      return body(SubtractRight());
    case Formula::kSubtractFromRight:
      return body(SubtractLeft());
    case Formula::kMultiply:
      return body(MultiplyBoth());
    case Formula::kDivide:
      return body(DivideByRight());
    case Formula::kDivideRight:
      return body(DivideByLeft());
  }
}

inline constexpr std::int64_t kMaxChunk = 32;  // entries that are looked up at once
inline constexpr std::int64_t kMaxAhead = 32;  // entries between a row that is read and the row that is prefetched

/// The rows of one operand for consecutive entries of a row of the output.
template <typename T>
class ChunkRows {
 public:
  /// `is_whole`: rows are copied into broadcast rows unless they are ones.
  ChunkRows(const OperandRows<T>& operand, const EdgeRows& rows, std::int64_t row_size, bool is_whole)
      : operand_(operand), rows_(rows), row_size_(row_size) {
    constexpr std::int64_t kBytesAhead = 8192;
    const bool is_listed = operand.end == EdgeEnd::kEdge ? rows.edges != nullptr || operand.numbers != nullptr
                                                         : operand.end == EdgeEnd::kOther && rows.nodes != nullptr;
    const std::int64_t row_bytes = std::max<std::int64_t>(1, operand.size * static_cast<std::int64_t>(sizeof(T)));
    if (is_listed && operand.is_large) ahead_ = std::clamp<std::int64_t>(kBytesAhead / row_bytes, 4, kMaxAhead);
    needs_copies_ = operand.reading == RowReading::kRuns || (is_whole && operand.reading != RowReading::kWhole);
    if (needs_copies_) copies_ = take_elements<T>(kMaxChunk * whole_vectors<T>(row_size));
  }

  /// Looks up `count` entries of `row`, at most kMaxChunk, from `entry` on.
  HWY_INLINE void look_up(std::int64_t row, EdgeIndex entry, std::int64_t count) {
    switch (operand_.end) {
      case EdgeEnd::kRow: {
        const T* data = operand_.row(row);
        std::fill_n(row_, count, data);
        break;
      }
      case EdgeEnd::kOther:
        if (rows_.intervals != nullptr) {
          const std::int64_t first = rows_.node(row, entry);
          for (std::int64_t i = 0; i < count; ++i) row_[i] = operand_.row(first + i);
        } else {
          look_up_list(entry, count, [this](EdgeIndex i) { return rows_.nodes[i]; });
        }
        break;
      case EdgeEnd::kEdge:
        if (operand_.numbers != nullptr) {
          look_up_list(entry, count, [this](EdgeIndex i) { return operand_.numbers[rows_.edge(i)]; });
        } else if (rows_.edges != nullptr) {
          look_up_list(entry, count, [this](EdgeIndex i) { return rows_.edges[i]; });
        } else {
          for (std::int64_t i = 0; i < count; ++i) row_[i] = operand_.row(entry + i);
        }
        break;
    }
  }

  /// Replaces the rows by broadcast rows if their reader needs that.
  void copy_runs(const std::vector<RowBroadcast::Run>& runs, std::int64_t RowBroadcast::Run::*offset,
                 std::int64_t run_length, bool steps, std::int64_t count) {
    if (!needs_copies_) return;
    const T* copied = nullptr;
    for (std::int64_t i = 0; i < count; ++i) {
      T* to = copies_ + i * whole_vectors<T>(row_size_);
      if (row_[i] == copied) {
        row_[i] = row_[i - 1];
        continue;
      }
      copied = row_[i];
      row_[i] = to;
      for (const RowBroadcast::Run& run : runs) {
        if (steps) {
          std::copy_n(copied + run.*offset, run_length, to);
        } else {
          std::fill_n(to, run_length, copied[run.*offset]);
        }
        to += run_length;
      }
    }
  }

  const T* const* rows() const { return row_; }
  /// Returns, for each entry, the row to prefetch; null if prefetching gains nothing.
  const T* const* rows_ahead() const { return ahead_ == 0 || needs_copies_ || is_sequence_ ? nullptr : row_ahead_; }

 private:
  template <class Index>
  void look_up_list(EdgeIndex entry, std::int64_t count, Index index) {
    for (std::int64_t i = 0; i < count; ++i) row_[i] = operand_.row(index(entry + i));
    // The processor itself prefetches the rows of consecutive numbers.
    is_sequence_ = count > 1 && index(entry + count - 1) - index(entry) == count - 1;
    if (is_sequence_ || ahead_ == 0) return;
    const EdgeIndex last = rows_.num_entries() - 1;
    for (std::int64_t i = 0; i < count; ++i) row_ahead_[i] = operand_.row(index(std::min(entry + i + ahead_, last)));
  }

  const OperandRows<T>& operand_;
  const EdgeRows& rows_;
  std::int64_t row_size_;
  std::int64_t ahead_ = 0;
  bool is_sequence_ = false;
  bool needs_copies_ = false;
  T* copies_ = nullptr;
  const T* row_[kMaxChunk];
  const T* row_ahead_[kMaxChunk];
};

/// The messages of consecutive entries of a row of the output.
template <typename T>
class MessageChunk {
 public:
  /// `needs_whole_right`: the right operand is never read by a reader of repeated elements.
  MessageChunk(const MessageTask<T>& task, const EdgeRows& rows, bool needs_whole_right = false)
      : task_(task),
        repeated_(task.broadcast),
        reads_repeated_(task.has_right() && !needs_whole_right && task.right.reading == RowReading::kRepeated),
        left_(task.left, rows, task.broadcast.size, /*is_whole=*/true),
        right_(task.right, rows, task.broadcast.size, needs_whole_right) {}

  HWY_INLINE void look_up(std::int64_t row, EdgeIndex entry, std::int64_t count) {
    const RowBroadcast& b = task_.broadcast;
    left_.look_up(row, entry, count);
    left_.copy_runs(b.runs, &RowBroadcast::Run::left, b.run_length, b.left_steps, count);
    if (!task_.has_right()) return;
    right_.look_up(row, entry, count);
    if (const T* const* ahead = right_.rows_ahead()) prefetch(ahead, count);
    right_.copy_runs(b.runs, &RowBroadcast::Run::right, b.run_length, b.right_steps, count);
  }

  const MessageTask<T>& task() const { return task_; }
  const ChunkRows<T>& left() const { return left_; }
  const ChunkRows<T>& right() const { return task_.has_right() ? right_ : left_; }

  /// Returns how many vectors in a row read one element of the right row: 1 unless vectors lie in runs.
  std::int64_t vectors_of_run() const {
    return reads_repeated_ && repeated_.is_broadcast() ? task_.broadcast.run_length / kLanesOf<T> : 1;
  }

  /// Calls body(reader of the right rows).
  template <class Body>
  HWY_INLINE void with_right_reader(Body&& body) const {
    if (!reads_repeated_) return body(WholeReader<T>());
    if (repeated_.is_broadcast()) return body(repeated_.broadcast_reader());
    body(repeated_.permuted_reader());
  }

  /// Calls write(entry of the chunk, vector number, vector of the message's elements) for `count` entries.
  template <class Write>
  HWY_INLINE void compute(std::int64_t count, Write&& write) const {
    const T* const* left_rows = left_.rows();
    const T* const* right_rows = right().rows();
    const T* const* ahead = left_.rows_ahead();
    const std::int64_t num_vectors = whole_vectors<T>(task_.broadcast.size) / kLanesOf<T>;
    with_formula(task_.formula, [&](auto formula) HWY_ATTR {
      with_right_reader([&](auto reader) HWY_ATTR {
        for (std::int64_t i = 0; i < count; ++i) {
          const T* left_row = left_rows[i];
          const T* right_row = right_rows[i];
          for (std::int64_t v = 0; v < num_vectors; ++v) {
            if (ahead != nullptr) hwy::Prefetch(ahead[i] + v * kLanesOf<T>);
            write(i, v, formula(load(AllLanes(), left_row + v * kLanesOf<T>), reader.read(right_row, v)));
          }
        }
      });
    });
  }

 private:
  /// Prefetches the first bytes of the right rows. The loops over elements prefetch the left rows.
  HWY_INLINE void prefetch(const T* const* rows, std::int64_t count) const {
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t size = std::min(task_.right.size, 4 * kLine);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t element = 0; element < size; element += kLine) hwy::Prefetch(rows[i] + element);
    }
  }

  const MessageTask<T>& task_;
  RepeatedElements<T> repeated_;
  bool reads_repeated_;
  ChunkRows<T> left_;
  ChunkRows<T> right_;
};

/// Adds up the elements of a broadcast row into the `out_size` elements of an output's row.
template <typename Number>
HWY_INLINE void fold_row(const RowBroadcast& broadcast, const Number* row, Number* out) {
  std::fill_n(out, broadcast.out_size, Number{0});
  for (const RowBroadcast::Run& run : broadcast.runs) {
    if (broadcast.out_steps) {
      for (std::int64_t i = 0; i < broadcast.run_length; ++i) out[run.out + i] += row[i];
    } else {
      const hn::ScalableTag<Number> d;
      auto sums = hn::Zero(d);
      std::int64_t i = 0;
      for (; i + kLanesOf<Number> <= broadcast.run_length; i += kLanesOf<Number>)
        sums = hn::Add(sums, hn::LoadU(d, row + i));
      Number sum = hn::GetLane(hn::SumOfLanes(d, sums));
      for (; i < broadcast.run_length; ++i) sum += row[i];
      out[run.out] += sum;
    }
    row += broadcast.run_length;
  }
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_MESSAGE_MESSAGE_LOOPS_INL_H
