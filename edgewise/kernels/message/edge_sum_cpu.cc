// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/message/edge_sum.h"
#include "edgewise/kernels/message/message_task.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/message/edge_sum_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/message/message_loops-inl.h"

// Highway includes this file once for each instruction set; the guarded part is compiled once.
#ifndef EDGEWISE_KERNELS_MESSAGE_EDGE_SUM_CPU_CC
#define EDGEWISE_KERNELS_MESSAGE_EDGE_SUM_CPU_CC
namespace edgewise::kernels {

template <typename T>
struct SumTask {
  MessageTask<T> message;
  T* out;
  AccumulatorType<T>* partials;  // [num_partials, size of the broadcast row]
};

template <typename T>
struct SumTasks {
  std::vector<SumTask<T>> sums;
  EdgeRows rows;
};

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_MESSAGE_EDGE_SUM_CPU_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// Rows of numbers that are added as they are.
template <typename T>
struct CopiedRows {
  const T* const* rows;

  template <int kVectors>
  HWY_INLINE void add(std::int64_t entry, std::int64_t v, Numbers<T>* sums) const {
    for (int i = 0; i < kVectors; ++i) {
      sums[i] = hn::Add(sums[i], load(AllLanes(), rows[entry] + (v + i) * kLanesOf<T>));
    }
  }
};

/// Rows whose elements are multiplied before they are added.
template <typename T, class Reader>
struct MultipliedRows {
  const T* const* rows;
  const T* const* factors;
  Reader reader;

  template <int kVectors>
  HWY_INLINE void add(std::int64_t entry, std::int64_t v, Numbers<T>* sums) const {
    for (int i = 0; i < kVectors; ++i) {
      sums[i] = hn::MulAdd(load(AllLanes(), rows[entry] + (v + i) * kLanesOf<T>), reader.read(factors[entry], v + i),
                           sums[i]);
    }
  }
};

/// Rows of which kVectors vectors at once are multiplied by one factor.
template <typename T>
struct ScaledRows {
  const T* const* rows;
  const T* const* factors;
  BroadcastReader<T> reader;

  template <int kVectors>
  HWY_INLINE void add(std::int64_t entry, std::int64_t v, Numbers<T>* sums) const {
    const auto factor = reader.read(factors[entry], v);
    for (int i = 0; i < kVectors; ++i) {
      sums[i] = hn::MulAdd(load(AllLanes(), rows[entry] + (v + i) * kLanesOf<T>), factor, sums[i]);
    }
  }
};

/// The chunk of a row whose entries are added to sums in memory.
template <typename T>
struct ChunkSum {
  std::int64_t count;
  const T* const* rows_ahead;  // or null
  bool is_first;               // the sums in memory are not read
  AccumulatorType<T>* sums;    // whole vectors
};

/// Adds kVectors vectors of each entry's message to the sums, from vector v on. The sums stay in registers.
template <int kVectors, class Rows, typename T>
HWY_INLINE void add_vectors(const Rows& rows, const ChunkSum<T>& chunk, std::int64_t v) {
  const NumberTag<T> d;
  AccumulatorType<T>* to = chunk.sums + v * kLanesOf<T>;
  Numbers<T> sums[kVectors];
  for (int i = 0; i < kVectors; ++i) sums[i] = chunk.is_first ? hn::Zero(d) : hn::LoadU(d, to + i * kLanesOf<T>);
  if (chunk.rows_ahead == nullptr) {
    for (std::int64_t entry = 0; entry < chunk.count; ++entry) rows.template add<kVectors>(entry, v, sums);
  } else {
    for (std::int64_t entry = 0; entry < chunk.count; ++entry) {
      const T* ahead = chunk.rows_ahead[entry] + v * kLanesOf<T>;
      for (int i = 0; i < kVectors; ++i) hwy::Prefetch(ahead + i * kLanesOf<T>);
      rows.template add<kVectors>(entry, v, sums);
    }
  }
  for (int i = 0; i < kVectors; ++i) hn::StoreU(sums[i], d, to + i * kLanesOf<T>);
}

template <class Rows, typename T>
HWY_INLINE void add_rows(const Rows& rows, const ChunkSum<T>& chunk, std::int64_t num_vectors) {
  std::int64_t v = 0;
  for (; v + 8 <= num_vectors; v += 8) add_vectors<8>(rows, chunk, v);
  if (v + 4 <= num_vectors) {
    add_vectors<4>(rows, chunk, v);
    v += 4;
  }
  if (v + 2 <= num_vectors) {
    add_vectors<2>(rows, chunk, v);
    v += 2;
  }
  if (v < num_vectors) add_vectors<1>(rows, chunk, v);
}

/// Computes the pieces of one sum.
template <typename T>
class RowSum {
 public:
  RowSum(const SumTask<T>& task, const EdgeRows& rows)
      : task_(task),
        chunk_(task.message, rows),
        size_(whole_vectors<T>(broadcast().size)),
        sums_(take_elements<Number>(size_)),
        folded_(take_elements<Number>(whole_vectors<T>(broadcast().out_size))),
        messages_(computes_messages() ? take_elements<Number>(kMaxChunk * size_) : nullptr) {
    for (std::int64_t i = 0; i < kMaxChunk; ++i) message_rows_[i] = messages_ + i * size_;
  }

  void add_piece(const RowPiece& piece) {
    Number* sums = sums_of(piece);
    if (piece.begin == piece.end) std::fill_n(sums, size_, Number{0});
    for (EdgeIndex entry = piece.begin; entry < piece.end; entry += kMaxChunk) {
      const std::int64_t count = std::min(kMaxChunk, piece.end - entry);
      chunk_.look_up(piece.row, entry, count);
      add_chunk({count, chunk_.left().rows_ahead(), entry == piece.begin, sums});
    }
    if (piece.partial >= 0) {
      std::copy_n(sums, broadcast().size, task_.partials + piece.partial * broadcast().size);
    } else {
      finish(sums, piece.row);
    }
  }

  /// Adds up the partial results of a row in their order.
  void add_partials(const LongRow& row) {
    std::fill_n(sums_, size_, Number{0});
    for (std::int64_t partial = row.first_partial; partial < row.last_partial; ++partial) {
      const Number* from = task_.partials + partial * broadcast().size;
      for (std::int64_t i = 0; i < broadcast().size; ++i) sums_[i] += from[i];
    }
    finish(sums_, row.row);
  }

 private:
  using Number = AccumulatorType<T>;

  const RowBroadcast& broadcast() const { return task_.message.broadcast; }
  bool computes_messages() const {
    return task_.message.formula != Formula::kCopy && task_.message.formula != Formula::kMultiply;
  }

  /// Returns the memory for the sums of a piece: the output, if it needs neither another type nor another size.
  Number* sums_of(const RowPiece& piece) const {
    if constexpr (std::is_same_v<T, Number>) {
      const bool is_whole = broadcast().out_reading() == RowReading::kWhole && size_ == broadcast().size;
      if (piece.partial < 0 && is_whole) return task_.out + piece.row * size_;
    }
    return sums_;
  }

  void add_chunk(const ChunkSum<T>& chunk) {
    const std::int64_t num_vectors = size_ / kLanesOf<T>;
    if (computes_messages()) {
      chunk_.compute(chunk.count, [&](std::int64_t entry, std::int64_t v, Numbers<T> message) HWY_ATTR {
        hn::StoreU(message, NumberTag<T>(), messages_ + entry * size_ + v * kLanesOf<T>);
      });
      const ChunkSum<Number> messages = {chunk.count, nullptr, chunk.is_first, chunk.sums};
      add_rows(CopiedRows<Number>{message_rows_}, messages, num_vectors);
    } else if (!task_.message.has_right()) {
      add_rows(CopiedRows<T>{chunk_.left().rows()}, chunk, num_vectors);
    } else {
      chunk_.with_right_reader([&](auto reader) HWY_ATTR { add_products(reader, chunk, num_vectors); });
    }
  }

  template <class Reader>
  HWY_INLINE void add_products(const Reader& reader, const ChunkSum<T>& chunk, std::int64_t num_vectors) {
    const T* const* rows = chunk_.left().rows();
    const T* const* factors = chunk_.right().rows();
    if constexpr (std::is_same_v<Reader, BroadcastReader<T>>) {
      const ScaledRows<T> scaled = {rows, factors, reader};
      const std::int64_t vectors_of_run = chunk_.vectors_of_run();
      if (vectors_of_run % 8 == 0) {
        for (std::int64_t v = 0; v < num_vectors; v += 8) add_vectors<8>(scaled, chunk, v);
        return;
      }
      if (vectors_of_run % 4 == 0) {
        for (std::int64_t v = 0; v < num_vectors; v += 4) add_vectors<4>(scaled, chunk, v);
        return;
      }
    }
    add_rows(MultipliedRows<T, Reader>{rows, factors, reader}, chunk, num_vectors);
  }

  void finish(const Number* sums, std::int64_t row) {
    T* out = task_.out + row * broadcast().out_size;
    if constexpr (std::is_same_v<T, Number>) {
      if (sums == out) return;
    }
    if (broadcast().out_reading() != RowReading::kWhole) {
      fold_row(broadcast(), sums, folded_);
      sums = folded_;
    }
    store_row(sums, broadcast().out_size, out);
  }

  const SumTask<T>& task_;
  MessageChunk<T> chunk_;
  std::int64_t size_;
  Number* sums_;
  Number* folded_;
  Number* messages_;
  const Number* message_rows_[kMaxChunk];
};

template <typename T, class Fn>
void for_sums(const SumTasks<T>& tasks, Fn fn) {
  Scratch::of_this_thread().reset();
  std::vector<RowSum<T>> sums;
  sums.reserve(tasks.sums.size());
  for (const SumTask<T>& task : tasks.sums) sums.emplace_back(task, tasks.rows);
  fn(sums);
}

template <typename T>
void add_pieces(const SumTasks<T>& tasks, std::int64_t begin, std::int64_t end) {
  for_sums(tasks, [&](std::vector<RowSum<T>>& sums) {
    tasks.rows.for_pieces(begin, end, [&](const RowPiece& piece) {
      for (RowSum<T>& sum : sums) sum.add_piece(piece);
    });
  });
}

template <typename T>
void add_long_rows(const SumTasks<T>& tasks, std::int64_t begin, std::int64_t end) {
  for_sums(tasks, [&](std::vector<RowSum<T>>& sums) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (RowSum<T>& sum : sums) sum.add_partials(tasks.rows.long_rows[static_cast<std::size_t>(i)]);
    }
  });
}

/// The functions that Highway exports cannot be templates.
void add_pieces_of_floats(const SumTasks<float>& t, std::int64_t begin, std::int64_t end) { add_pieces(t, begin, end); }
void add_pieces_of_doubles(const SumTasks<double>& t, std::int64_t begin, std::int64_t end) {
  add_pieces(t, begin, end);
}
void add_pieces_of_bf16(const SumTasks<BFloat16>& t, std::int64_t begin, std::int64_t end) {
  add_pieces(t, begin, end);
}
void add_long_rows_of_floats(const SumTasks<float>& t, std::int64_t begin, std::int64_t end) {
  add_long_rows(t, begin, end);
}
void add_long_rows_of_doubles(const SumTasks<double>& t, std::int64_t begin, std::int64_t end) {
  add_long_rows(t, begin, end);
}
void add_long_rows_of_bf16(const SumTasks<BFloat16>& t, std::int64_t begin, std::int64_t end) {
  add_long_rows(t, begin, end);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(add_pieces_of_floats);
HWY_EXPORT(add_pieces_of_doubles);
HWY_EXPORT(add_pieces_of_bf16);
HWY_EXPORT(add_long_rows_of_floats);
HWY_EXPORT(add_long_rows_of_doubles);
HWY_EXPORT(add_long_rows_of_bf16);

namespace {

template <typename T>
void run(const SumTasks<T>& tasks, bool are_long_rows, std::int64_t begin, std::int64_t end) {
  if constexpr (std::is_same_v<T, float>) {
    return are_long_rows ? HWY_DYNAMIC_DISPATCH(add_long_rows_of_floats)(tasks, begin, end)
                         : HWY_DYNAMIC_DISPATCH(add_pieces_of_floats)(tasks, begin, end);
  } else if constexpr (std::is_same_v<T, double>) {
    return are_long_rows ? HWY_DYNAMIC_DISPATCH(add_long_rows_of_doubles)(tasks, begin, end)
                         : HWY_DYNAMIC_DISPATCH(add_pieces_of_doubles)(tasks, begin, end);
  } else {
    return are_long_rows ? HWY_DYNAMIC_DISPATCH(add_long_rows_of_bf16)(tasks, begin, end)
                         : HWY_DYNAMIC_DISPATCH(add_pieces_of_bf16)(tasks, begin, end);
  }
}

}  // namespace

template <typename T>
void sum_edges(std::span<const SumEdges<T>> sums, const EdgeRows& rows) {
  if (instruction_set() == InstructionSet::kReference) return reference::sum_edges(sums, rows);
  SumTasks<T> tasks = {{}, rows};
  std::vector<AlignedBuffer> partials(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int64_t partials_size = rows.num_partials() * sums[i].message.broadcast->size;
    tasks.sums.push_back({MessageTask<T>(sums[i].message), sums[i].out,
                          partials[i].template elements<AccumulatorType<T>>(partials_size)});
  }
  parallel_ranges(
      rows.num_pieces(), [&](std::int64_t i) { return rows.cost_before(i); },
      [&](std::int64_t begin, std::int64_t end) { run(tasks, /*are_long_rows=*/false, begin, end); });
  parallel_for(std::ssize(rows.long_rows), /*grain=*/1,
               [&](std::int64_t begin, std::int64_t end) { run(tasks, /*are_long_rows=*/true, begin, end); });
}

template void sum_edges(std::span<const SumEdges<float>>, const EdgeRows&);
template void sum_edges(std::span<const SumEdges<double>>, const EdgeRows&);
template void sum_edges(std::span<const SumEdges<BFloat16>>, const EdgeRows&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
