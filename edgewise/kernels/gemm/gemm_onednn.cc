// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/gemm_onednn.h"

#include <dnnl.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "edgewise/kernels/simd/aligned_buffer.h"

namespace edgewise::kernels::onednn {
namespace {

using dnnl::matmul;
using dnnl::memory;

// oneDNN chooses the layout of packed matrices for this number of rows; all products use that layout.
constexpr std::int64_t kRowsToPackFor = 1024;

constexpr std::size_t kMaxCompiled = 4096;  // enough for each layer of a model with each compiled number of rows

const dnnl::engine& cpu() {
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
    case ElementType::kInt8:
      return memory::data_type::s8;
    case ElementType::kInt32:
      return memory::data_type::s32;
  }
  return memory::data_type::undef;
}

memory::desc describe_matrix(ElementType type, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                             MatrixLayout layout = MatrixLayout::kRows) {
  const bool is_in_rows = layout == MatrixLayout::kRows;
  return {{rows, columns}, to_data_type(type), is_in_rows ? memory::dims{stride, 1} : memory::dims{1, stride}};
}

// The operands of a matmul; `bias` is empty without a bias.
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

// Describes a matmul in which oneDNN chooses the layout of the right side [K, N].
matmul::primitive_desc describe_packing(ElementType type, std::int64_t depth, std::int64_t columns) {
  const memory::desc any({depth, columns}, to_data_type(type), memory::format_tag::any);
  const ElementType out_type = type == ElementType::kInt8 ? ElementType::kInt32 : type;
  return describe_matmul({describe_matrix(type, kRowsToPackFor, depth, depth),
                          any,
                          {},
                          describe_matrix(out_type, kRowsToPackFor, columns, columns)},
                         {});
}

// Returns the layout of a packed [K, N]. Caches the layout, because oneDNN's choice may depend on the number of
// threads, and products must read the layout that was packed.
memory::desc describe_packed(ElementType type, std::int64_t depth, std::int64_t columns) {
  static std::mutex mutex;
  static std::map<std::tuple<ElementType, std::int64_t, std::int64_t>, memory::desc> cache;
  const std::scoped_lock lock(mutex);
  const auto [entry, is_new] = cache.try_emplace({type, depth, columns});
  if (is_new) entry->second = describe_packing(type, depth, columns).weights_desc();
  return entry->second;
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

void append_activation(dnnl::post_ops& steps, GemmActivation activation) {
  const auto algorithm =
      activation == GemmActivation::kRelu ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_gelu_erf;
#if DNNL_VERSION_MAJOR >= 3
  steps.append_eltwise(algorithm, 0.0f, 0.0f);
#else
  steps.append_eltwise(1.0f, algorithm, 0.0f, 0.0f);
#endif
}

dnnl::primitive_attr make_attributes(const MatmulShape& shape) {
  dnnl::post_ops steps;
  if (shape.result == GemmResult::kAdd) steps.append_sum(1.0f);
  if (shape.activation != GemmActivation::kNone) append_activation(steps, shape.activation);
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
  memory source(from_desc, cpu(), const_cast<void*>(from));
  memory target(to_desc, cpu(), to);
  dnnl::reorder(source, target).execute(stream(), source, target);
}

bool has_isa(dnnl::cpu_isa isa) {
  static const auto effective = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (effective & static_cast<unsigned>(isa)) == static_cast<unsigned>(isa);
}

// The instruction vdpbf16ps has half the speed of float products on Intel (Sapphire Rapids without AMX: 112 against 215
// GFLOP/s per core) and twice their speed on AMD.
bool is_amd() {
#ifdef __x86_64__
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

}  // namespace

bool has_bf16() { return has_isa(dnnl::cpu_isa::avx512_core); }

bool has_amx() { return has_isa(dnnl::cpu_isa::avx512_core_amx); }

bool has_fast_bf16() { return has_amx() || (has_isa(dnnl::cpu_isa::avx512_core_bf16) && is_amd()); }

bool has_exact_int8() { return has_isa(dnnl::cpu_isa::avx512_core_vnni) || has_isa(dnnl::cpu_isa::avx2_vnni); }

void run(const MatmulShape& shape, const MatmulData& data) { find_or_compile(shape)->run(data); }

std::size_t count_packed_bytes(ElementType type, std::int64_t depth, std::int64_t columns) {
  return describe_packed(type, depth, columns).get_size();
}

template <typename From>
void pack(ElementType type, std::int64_t depth, std::int64_t columns, const Matrix<From>& from, void* to) {
  copy(describe_matrix(kElementType<From>, depth, columns, from.stride, from.layout), from.data,
       describe_packed(type, depth, columns), to);
}
template void pack(ElementType, std::int64_t, std::int64_t, const Matrix<float>&, void*);
template void pack(ElementType, std::int64_t, std::int64_t, const Matrix<std::int8_t>&, void*);

void unpack(ElementType type, std::int64_t depth, std::int64_t columns, const void* from, float* to) {
  copy(describe_packed(type, depth, columns), from, describe_matrix(ElementType::kFloat, depth, columns, columns), to);
}

}  // namespace edgewise::kernels::onednn
