// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/gemm_onednn.h"

#include <dnnl.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "edgewise/kernels/simd/aligned_bytes.h"

namespace edgewise::kernels::onednn {
namespace {

using dnnl::matmul;
using dnnl::memory;

// Sizes at which the layout of packed matrices is chosen; it serves all.
constexpr std::int64_t kRowsToPackFor = 1024;

// Enough for each layer of a model in each class of row counts.
constexpr std::size_t kMostCompiled = 4096;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream stream(cpu());
  return stream;
}

memory::data_type data_type(ElementType type) {
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

memory::desc matrix_desc(ElementType type, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                         MatrixLayout layout = MatrixLayout::kRows) {
  const bool is_in_rows = layout == MatrixLayout::kRows;
  return {{rows, columns}, data_type(type), is_in_rows ? memory::dims{stride, 1} : memory::dims{1, stride}};
}

// A product's parts as oneDNN describes them; bias is empty for none.
struct Descriptions {
  memory::desc a, b, bias, out;
};

matmul::primitive_desc product_desc(const Descriptions& parts, const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), parts.a, parts.b, parts.bias, parts.out, attributes};
#else
  return {matmul::desc(parts.a, parts.b, parts.bias, parts.out), attributes, cpu()};
#endif
}

// Products of this size read a packed [K, N] fastest.
matmul::primitive_desc packing_desc(ElementType type, std::int64_t depth, std::int64_t columns) {
  const memory::desc any({depth, columns}, data_type(type), memory::format_tag::any);
  const ElementType out_type = type == ElementType::kInt8 ? ElementType::kInt32 : type;
  return product_desc({matrix_desc(type, kRowsToPackFor, depth, depth),
                       any,
                       {},
                       matrix_desc(out_type, kRowsToPackFor, columns, columns)},
                      {});
}

// Kept, because the choice may depend on the number of threads, and packing must not differ from use.
memory::desc packed_desc(ElementType type, std::int64_t depth, std::int64_t columns) {
  static std::mutex mutex;
  static std::map<std::tuple<ElementType, std::int64_t, std::int64_t>, memory::desc> kept;
  const std::scoped_lock lock(mutex);
  const auto [place, is_new] = kept.try_emplace({type, depth, columns});
  if (is_new) place->second = packing_desc(type, depth, columns).weights_desc();
  return place->second;
}

Descriptions descriptions_of(const ProductShape& shape) {
  Descriptions parts;
  parts.a = matrix_desc(shape.type, shape.rows, shape.depth, shape.a_stride, shape.a_layout);
  if (shape.b_layout == RightLayout::kPacked) {
    parts.b = packed_desc(shape.type, shape.depth, shape.columns);
  } else {
    const bool is_in_rows = shape.b_layout == RightLayout::kRows;
    parts.b = matrix_desc(shape.type, shape.depth, shape.columns, shape.b_stride,
                          is_in_rows ? MatrixLayout::kRows : MatrixLayout::kColumns);
  }
  if (shape.has_bias) parts.bias = matrix_desc(ElementType::kFloat, 1, shape.columns, shape.columns);
  parts.out = matrix_desc(shape.out_type, shape.rows, shape.columns, shape.out_stride);
  return parts;
}

void append(dnnl::post_ops& steps, GemmActivation activation) {
  const auto algorithm =
      activation == GemmActivation::kRelu ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_gelu_erf;
#if DNNL_VERSION_MAJOR >= 3
  steps.append_eltwise(algorithm, 0.0f, 0.0f);
#else
  steps.append_eltwise(1.0f, algorithm, 0.0f, 0.0f);
#endif
}

dnnl::primitive_attr attributes_of(const ProductShape& shape) {
  dnnl::post_ops steps;
  if (shape.result == GemmResult::kAdd) steps.append_sum(1.0f);
  if (shape.activation != GemmActivation::kNone) append(steps, shape.activation);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(steps);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// A product that oneDNN has compiled for one shape.
class Product {
 public:
  explicit Product(const ProductShape& shape) : parts_(descriptions_of(shape)) {
    const matmul::primitive_desc desc = product_desc(parts_, attributes_of(shape));
    scratchpad_ = desc.scratchpad_desc();
    primitive_ = matmul(desc);
  }

  void run(const ProductData& data) const {
    static thread_local AlignedBytes scratch;
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, at(parts_.a, data.a)},
        {DNNL_ARG_WEIGHTS, at(parts_.b, data.b)},
        {DNNL_ARG_DST, at(parts_.out, data.out)},
        {DNNL_ARG_SCRATCHPAD, at(scratchpad_, scratch.of_size(scratchpad_.get_size()))},
    };
    if (data.bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, at(parts_.bias, data.bias));
    primitive_.execute(stream(), arguments);
  }

 private:
  // oneDNN's handles are never const, though it only reads what is.
  static memory at(const memory::desc& desc, const void* data) { return {desc, cpu(), const_cast<void*>(data)}; }

  Descriptions parts_;
  memory::desc scratchpad_;
  matmul primitive_;
};

std::shared_ptr<const Product> product_of(const ProductShape& shape) {
  static std::mutex mutex;
  static std::map<ProductShape, std::shared_ptr<const Product>> kept;
  const std::scoped_lock lock(mutex);
  const auto found = kept.find(shape);
  if (found != kept.end()) return found->second;
  if (kept.size() >= kMostCompiled) kept.clear();
  return kept.emplace(shape, std::make_shared<const Product>(shape)).first->second;
}

void copy(const memory::desc& from_desc, const void* from, const memory::desc& to_desc, void* to) {
  memory source(from_desc, cpu(), const_cast<void*>(from));
  memory target(to_desc, cpu(), to);
  dnnl::reorder(source, target).execute(stream(), source, target);
}

bool has(dnnl::cpu_isa wanted) {
  static const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

// Intel's vdpbf16ps, without AMX, runs at half the rate of float products (measured on Sapphire Rapids: 112 and 215
// GFLOP/s a core); AMD's at twice it.
bool is_amd() {
#ifdef __x86_64__
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

}  // namespace

bool has_bf16() { return has(dnnl::cpu_isa::avx512_core); }

bool has_amx() { return has(dnnl::cpu_isa::avx512_core_amx); }

bool bf16_is_fast() { return has_amx() || (has(dnnl::cpu_isa::avx512_core_bf16) && is_amd()); }

bool int8_is_exact() { return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni); }

void run(const ProductShape& shape, const ProductData& data) { product_of(shape)->run(data); }

std::size_t packed_size(ElementType type, std::int64_t depth, std::int64_t columns) {
  return packed_desc(type, depth, columns).get_size();
}

void pack(ElementType type, std::int64_t depth, std::int64_t columns, const Matrix<float>& from, void* to) {
  copy(matrix_desc(ElementType::kFloat, depth, columns, from.stride, from.layout), from.data,
       packed_desc(type, depth, columns), to);
}

void pack(std::int64_t depth, std::int64_t columns, const Matrix<std::int8_t>& from, void* to) {
  copy(matrix_desc(ElementType::kInt8, depth, columns, from.stride, from.layout), from.data,
       packed_desc(ElementType::kInt8, depth, columns), to);
}

void unpack(ElementType type, std::int64_t depth, std::int64_t columns, const void* from, float* to) {
  copy(packed_desc(type, depth, columns), from, matrix_desc(ElementType::kFloat, depth, columns, columns), to);
}

}  // namespace edgewise::kernels::onednn
