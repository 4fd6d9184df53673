// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>

#include "edgewise/device/memory.h"
#include "edgewise/kernels/gemm/linear_product.h"

namespace edgewise::kernels {
namespace {

void check(const char* function, cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(function) + ": " + cublasLtGetStatusString(status));
}

template <auto kDestroy>
struct Destroy {
  template <typename Handle>
  void operator()(Handle* handle) const {
    kDestroy(handle);
  }
};

using Descriptor = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;

/// cuBLASLt stores matrices column by column, so that it computes out^T = W x^T.
Layout layout_of(cudaDataType type, std::int64_t columns, std::int64_t rows) {
  cublasLtMatrixLayout_t layout = nullptr;
  check("cublasLtMatrixLayoutCreate", cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(columns),
                                                                 static_cast<std::uint64_t>(rows), columns));
  return Layout(layout);
}

template <typename Attribute>
void set(const Descriptor& descriptor, cublasLtMatmulDescAttributes_t name, const Attribute& value) {
  check("cublasLtMatmulDescSetAttribute",
        cublasLtMatmulDescSetAttribute(descriptor.get(), name, &value, sizeof(value)));
}

template <typename Attribute>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t name, const Attribute& value) {
  check("cublasLtMatmulPreferenceSetAttribute",
        cublasLtMatmulPreferenceSetAttribute(preference.get(), name, &value, sizeof(value)));
}

Descriptor describe(const float* bias) {
  cublasLtMatmulDesc_t created = nullptr;
  check("cublasLtMatmulDescCreate", cublasLtMatmulDescCreate(&created, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  Descriptor descriptor(created);
  set(descriptor, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (bias != nullptr) {
    set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  return descriptor;
}

template <typename T>
constexpr cudaDataType kType = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_16BF;

}  // namespace

class GpuProducts::Library {
 public:
  explicit Library(device::Stream stream) : stream_(stream) {
    check("cublasLtCreate", cublasLtCreate(&handle_));
    workspace_ = device::allocate_memory(kWorkspaceBytes, stream_);
  }

  ~Library() {
    device::free_memory(workspace_, stream_);
    cublasLtDestroy(handle_);
  }

  template <typename T>
  void multiply(const LinearProduct<T>& p) {
    const Descriptor descriptor = describe(p.bias);
    const Layout weight = layout_of(kType<T>, p.inputs, p.outputs);
    const Layout x = layout_of(kType<T>, p.inputs, p.rows);
    const Layout out = layout_of(CUDA_R_32F, p.outputs, p.rows);
    const float one = 1;
    const float beta = p.is_added ? 1 : 0;
    const cublasLtMatmulAlgo_t& algorithm = algorithm_for(p);
    check("cublasLtMatmul", cublasLtMatmul(handle_, descriptor.get(), &one, p.weight, weight.get(), p.x, x.get(), &beta,
                                           p.out, out.get(), p.out, out.get(), &algorithm, workspace_, kWorkspaceBytes,
                                           static_cast<cudaStream_t>(stream_.handle)));
  }

 private:
  static constexpr std::size_t kWorkspaceBytes = 32 << 20;
  static constexpr std::int64_t kTypicalRows = 256;

  template <typename T>
  const cublasLtMatmulAlgo_t& algorithm_for(const LinearProduct<T>& p) {
    const auto key = std::tuple(kType<T>, p.inputs, p.outputs, p.bias != nullptr);
    if (const auto known = algorithms_.find(key); known != algorithms_.end()) return known->second;
    return algorithms_.emplace(key, find_algorithm(p)).first->second;
  }

  template <typename T>
  cublasLtMatmulAlgo_t find_algorithm(const LinearProduct<T>& p) const {
    const Descriptor descriptor = describe(p.bias);
    const Layout weight = layout_of(kType<T>, p.inputs, p.outputs);
    const Layout x = layout_of(kType<T>, p.inputs, kTypicalRows);
    const Layout out = layout_of(CUDA_R_32F, p.outputs, kTypicalRows);
    cublasLtMatmulPreference_t created = nullptr;
    check("cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate(&created));
    const Preference preference(created);
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    // Without sums of parts of the inputs, whose number could depend on the rows.
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
    cublasLtMatmulHeuristicResult_t result = {};
    int count = 0;
    check("cublasLtMatmulAlgoGetHeuristic",
          cublasLtMatmulAlgoGetHeuristic(handle_, descriptor.get(), weight.get(), x.get(), out.get(), out.get(),
                                         preference.get(), 1, &result, &count));
    if (count == 0) throw std::runtime_error("GpuProducts: cuBLASLt has no algorithm for this product");
    return result.algo;
  }

  device::Stream stream_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::map<std::tuple<cudaDataType, std::int64_t, std::int64_t, bool>, cublasLtMatmulAlgo_t> algorithms_;
};

GpuProducts::GpuProducts(device::Stream stream) : library_(std::make_unique<Library>(stream)) {}
GpuProducts::~GpuProducts() = default;

template <typename T>
void GpuProducts::multiply(const LinearProduct<T>& p) {
  if (p.rows > 0) library_->multiply(p);
}

template void GpuProducts::multiply(const LinearProduct<float>&);
template void GpuProducts::multiply(const LinearProduct<BFloat16>&);

}  // namespace edgewise::kernels
