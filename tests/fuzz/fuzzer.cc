// SPDX-License-Identifier: Apache-2.0
// The program fuzz_READER: libFuzzer for the function of readers.h that the build sets as EDGEWISE_FUZZ_READER.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  edgewise::fuzz::EDGEWISE_FUZZ_READER({reinterpret_cast<const char*>(data), size});
  return 0;
}
