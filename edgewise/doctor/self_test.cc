// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/self_test.h"

#include <array>
#include <exception>
#include <new>

#include "edgewise/doctor/decoding_tests.h"
#include "edgewise/doctor/kernel_tests.h"

namespace edgewise {

std::span<const SelfTest> self_tests() {
  static constexpr std::array kTests = {
      SelfTest{"embedding and dropout", test_embedding},
      SelfTest{"residual sum and norm", test_norm},
      SelfTest{"products of training, fp32", test_fp32_gemm},
      SelfTest{"products of training, bf16", test_bf16_gemm},
      SelfTest{"products of translating, fp32", test_fp32_row_product},
      SelfTest{"products of translating, bf16", test_bf16_row_product},
      SelfTest{"products of translating, int8", test_int8_row_product},
      SelfTest{"attention over intervals", test_interval_attention},
      SelfTest{"attention over lists of edges", test_csr_attention},
      SelfTest{"decoding, fp32", [] { return test_decoding(RuntimePrecision::kFp32); }},
      SelfTest{"decoding, bf16", [] { return test_decoding(RuntimePrecision::kBf16); }},
      SelfTest{"decoding, int8", [] { return test_decoding(RuntimePrecision::kInt8); }}};
  return kTests;
}

Finding run_self_test(const SelfTest& test) {
  try {
    return test.run();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return {.is_right = false, .text = error.what()};
  }
}

}  // namespace edgewise
