// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/gemm_onednn.h"

#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "edgewise/base/address_space.h"
#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/simd/scratch.h"

namespace edgewise::kernels::onednn {
namespace {

using dnnl::matmul;
using dnnl::memory;

// oneDNN chooses the layout of packed matrices for this number of rows; all products use that layout.
constexpr std::int64_t kRowsToPackFor = 1024;

constexpr std::size_t kMaxCompiled = 4096;  // enough for each layer of a model with each compiled number of rows

/// Restricts oneDNN to the set that EDGEWISE_KERNELS names. kAvx512 includes all extensions, and AMX.
void restrict_instructions() {
  const std::optional<InstructionSet> named = named_instruction_set();
  if (!named || *named == InstructionSet::kAvx512 || *named == InstructionSet::kNeon) return;
  const bool is_avx2 = *named == InstructionSet::kAvx2;
  const dnnl::status status = dnnl::set_max_cpu_isa(is_avx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41);
  check(status == dnnl::status::success || status == dnnl::status::unimplemented,
        "EDGEWISE_KERNELS: this process used oneDNN before, needs gemm() to be the first use; unset the variable");
}

/// Restricts oneDNN's instructions. oneDNN chooses them at its first use, so every function that uses oneDNN calls this
/// one first.
void initialise() {
  static const bool is_done = (restrict_instructions(), true);
  static_cast<void>(is_done);
}

/// Calls a function that uses oneDNN. Throws std::bad_alloc if memory runs out.
template <class Fn>
decltype(auto) call_library(Fn&& fn) {
  const LibraryCall call;
  const SerialOpenMpScope serial;
  try {
    return fn();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw;
  }
}

const dnnl::engine& cpu() {
  initialise();
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream stream(cpu());
  return stream;
}

memory::data_type to_data_type(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
      return memory::data_type::f32;
    case ElementType::kBFloat16:
      return memory::data_type::bf16;
  }
  return memory::data_type::undef;
}

memory::desc describe_matrix(ElementType type, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                             MatrixLayout layout = MatrixLayout::kRows) {
  const bool is_in_rows = layout == MatrixLayout::kRows;
  return {{rows, columns}, to_data_type(type), is_in_rows ? memory::dims{stride, 1} : memory::dims{1, stride}};
}

/// The operands of a matmul; `bias` is empty without a bias.
struct OperandDescs {
  memory::desc a, b, bias, out;
};

matmul::primitive_desc describe_matmul(const OperandDescs& operands, const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), operands.a, operands.b, operands.bias, operands.out, attributes};
#else
  return {matmul::desc(operands.a, operands.b, operands.bias, operands.out), attributes, cpu()};
#endif
}

/// Describes a matmul in which oneDNN chooses the layout of the right side [K, N].
matmul::primitive_desc describe_packing(ElementType type, std::int64_t depth, std::int64_t columns) {
  const memory::desc any({depth, columns}, to_data_type(type), memory::format_tag::any);
  return describe_matmul({describe_matrix(type, kRowsToPackFor, depth, depth),
                          any,
                          {},
                          describe_matrix(type, kRowsToPackFor, columns, columns)},
                         {});
}

/// Returns the layout of a packed [K, N].
memory::desc describe_packed(ElementType type, std::int64_t depth, std::int64_t columns) {
  static std::mutex mutex;
  static std::map<std::tuple<ElementType, std::int64_t, std::int64_t>, memory::desc> cache;
  const std::scoped_lock lock(mutex);
  const std::tuple key(type, depth, columns);
  const auto found = cache.find(key);
  if (found != cache.end()) return found->second;
  return cache.emplace(key, call_library([&] { return describe_packing(type, depth, columns).weights_desc(); }))
      .first->second;
}

OperandDescs describe_operands(const MatmulShape& shape) {
  OperandDescs operands;
  operands.a = describe_matrix(shape.type, shape.rows, shape.depth, shape.a_stride, shape.a_layout);
  if (shape.b_layout == RightLayout::kPacked) {
    operands.b = describe_packed(shape.type, shape.depth, shape.columns);
  } else {
    const bool is_in_rows = shape.b_layout == RightLayout::kRows;
    operands.b = describe_matrix(shape.type, shape.depth, shape.columns, shape.b_stride,
                                 is_in_rows ? MatrixLayout::kRows : MatrixLayout::kColumns);
  }
  if (shape.has_bias) operands.bias = describe_matrix(ElementType::kFloat, 1, shape.columns, shape.columns);
  operands.out = describe_matrix(shape.out_type, shape.rows, shape.columns, shape.out_stride);
  return operands;
}

void append_eltwise(dnnl::post_ops& steps, dnnl::algorithm algorithm, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
  steps.append_eltwise(algorithm, alpha, 0.0f);
#else
  steps.append_eltwise(1.0f, algorithm, alpha, 0.0f);
#endif
}

void append_activation(dnnl::post_ops& steps, GemmActivation activation) {
  switch (activation) {
    case GemmActivation::kNone:
      return;
    case GemmActivation::kRelu:
      return append_eltwise(steps, dnnl::algorithm::eltwise_relu, 0.0f);
    case GemmActivation::kGelu:
      return append_eltwise(steps, dnnl::algorithm::eltwise_gelu_erf, 0.0f);
    case GemmActivation::kSilu:
      return append_eltwise(steps, dnnl::algorithm::eltwise_swish, /*alpha=*/1.0f);
    case GemmActivation::kGeluTanh:
      return append_eltwise(steps, dnnl::algorithm::eltwise_gelu_tanh, 0.0f);
  }
}

dnnl::primitive_attr make_attributes(const MatmulShape& shape) {
  dnnl::post_ops steps;
  if (shape.result == GemmResult::kAdd) steps.append_sum(1.0f);
  append_activation(steps, shape.activation);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(steps);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// A matmul that oneDNN has compiled for one shape.
class CompiledMatmul {
 public:
  explicit CompiledMatmul(const MatmulShape& shape) : operands_(describe_operands(shape)) {
    const matmul::primitive_desc desc = describe_matmul(operands_, make_attributes(shape));
    scratchpad_ = desc.scratchpad_desc();
    primitive_ = matmul(desc);
  }

  void run(const MatmulData& data) const {
    static thread_local AlignedBuffer scratch;
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, wrap(operands_.a, data.a)},
        {DNNL_ARG_WEIGHTS, wrap(operands_.b, data.b)},
        {DNNL_ARG_DST, wrap(operands_.out, data.out)},
        {DNNL_ARG_SCRATCHPAD, wrap(scratchpad_, scratch.reserve_bytes(scratchpad_.get_size()))},
    };
    if (data.bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, wrap(operands_.bias, data.bias));
    primitive_.execute(stream(), arguments);
  }

 private:
  // The interface of oneDNN has no const memory, but inputs are not written.
  static memory wrap(const memory::desc& desc, const void* data) { return {desc, cpu(), const_cast<void*>(data)}; }

  OperandDescs operands_;
  memory::desc scratchpad_;
  matmul primitive_;
};

std::shared_ptr<const CompiledMatmul> find_or_compile(const MatmulShape& shape) {
  static std::mutex mutex;
  static std::map<MatmulShape, std::shared_ptr<const CompiledMatmul>> cache;
  const std::scoped_lock lock(mutex);
  const auto found = cache.find(shape);
  if (found != cache.end()) return found->second;
  if (cache.size() >= kMaxCompiled) cache.clear();
  return cache.emplace(shape, std::make_shared<const CompiledMatmul>(shape)).first->second;
}

void copy(const memory::desc& from_desc, const void* from, const memory::desc& to_desc, void* to) {
  call_library([&] {
    memory source(from_desc, cpu(), const_cast<void*>(from));
    memory target(to_desc, cpu(), to);
    dnnl::reorder(source, target).execute(stream(), source, target);
  });
}

/// Returns how many columns of [K, N] a thread packs at a time: all of a small matrix, an eighth of a large one.
std::int64_t choose_columns_to_pack(std::int64_t depth, std::int64_t columns) {
  // Copying so many values takes ten times as long as starting oneDNN's copy.
  constexpr std::int64_t kMinValues = 1 << 15;
  constexpr std::int64_t kColumnStep = 64;
  constexpr std::int64_t kParts = 8;
  const std::int64_t count = std::max(columns / kParts, kMinValues / std::max<std::int64_t>(depth, 1));
  return (count + kColumnStep - 1) / kColumnStep * kColumnStep;
}

bool has_isa(dnnl::cpu_isa isa) {
  initialise();
  static const auto effective = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (effective & static_cast<unsigned>(isa)) == static_cast<unsigned>(isa);
}

}  // namespace

std::string_view instructions() {
  static constexpr std::array<std::pair<dnnl::cpu_isa, std::string_view>, 7> kAscending = {
      {{dnnl::cpu_isa::sse41, "sse41"},
       {dnnl::cpu_isa::avx, "avx"},
       {dnnl::cpu_isa::avx2, "avx2"},
       {dnnl::cpu_isa::avx512_core, "avx512_core"},
       {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
       {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
       {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"}}};
  std::string_view best = "basic";
  for (const auto& [isa, name] : kAscending) {
    if (has_isa(isa)) best = name;
  }
  return best;
}

bool has_bf16() { return has_isa(dnnl::cpu_isa::avx512_core); }

bool has_amx() { return has_isa(dnnl::cpu_isa::avx512_core_amx); }

bool has_fast_bf16() { return has_amx() || (has_isa(dnnl::cpu_isa::avx512_core_bf16) && has_fast_bf16_instructions()); }

void run(const MatmulShape& shape, const MatmulData& data) {
  call_library([&] { find_or_compile(shape)->run(data); });
}

std::size_t count_packed_bytes(ElementType type, std::int64_t depth, std::int64_t columns) {
  return describe_packed(type, depth, columns).get_size();
}

void pack(ElementType type, std::int64_t depth, std::int64_t columns, const Matrix<float>& from, void* to) {
  const memory::desc packed = describe_packed(type, depth, columns);
  const std::int64_t part = choose_columns_to_pack(depth, columns);
  const auto describe_part = [&](std::int64_t first) {
    return packed.submemory_desc({depth, std::min(part, columns - first)}, {0, first}, /*allow_empty=*/true);
  };
  // The layout may have blocks of columns that the parts would cut.
  const bool can_be_cut = part < columns && describe_part(part);
  if (!can_be_cut) {
    return copy(describe_matrix(ElementType::kFloat, depth, columns, from.stride, from.layout), from.data, packed, to);
  }
  parallel_for((columns + part - 1) / part, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin * part; first < std::min(end * part, columns); first += part) {
      const std::int64_t count = std::min(part, columns - first);
      const float* data = from.data + first * from.column_step();
      copy(describe_matrix(ElementType::kFloat, depth, count, from.stride, from.layout), data, describe_part(first),
           to);
    }
  });
}

void unpack(ElementType type, std::int64_t depth, std::int64_t columns, const void* from, float* to) {
  copy(describe_packed(type, depth, columns), from, describe_matrix(ElementType::kFloat, depth, columns, columns), to);
}

}  // namespace edgewise::kernels::onednn
