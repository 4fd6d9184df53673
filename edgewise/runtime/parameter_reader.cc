// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/parameter_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "edgewise/base/error.h"

namespace edgewise {

std::vector<float> ParameterReader::read(const std::string& name, std::initializer_list<std::int64_t> shape) {
  const TensorInfo* info = file_.find(name);
  check(info != nullptr, "read_parameters: {} lacks {}", file_name_, name);
  check(info->dtype == DType::kF32 && std::ranges::equal(info->shape, shape),
        "read_parameters: {} has {} as {} [{}], F32 [{}] is needed", file_name_, name, dtype_name(info->dtype),
        fmt::join(info->shape, ", "), fmt::join(shape, ", "));
  read_.insert(name);
  std::vector<float> values(info->bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), info->bytes.data(), info->bytes.size());
  return values;
}

void ParameterReader::expect_all_read() const {
  for (const TensorInfo& info : file_.tensors()) {
    check(read_.contains(info.name), "read_parameters: {} has {}, which is not asked for", file_name_, info.name);
  }
}

}  // namespace edgewise
