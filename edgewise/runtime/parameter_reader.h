// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/runtime/weight_matrix.h"

namespace edgewise {

/// Reads parameters by name, each of a given shape and stored in any way that base/files/stored_parameters.h describes,
/// and records which of them were read. Throws Error, whose messages begin with "read_parameters", and StopException if
/// `stop` is set before a parameter is read.
class ParameterReader {
 public:
  ParameterReader(const SafetensorsFile& file, std::string file_name, const StopRequest* stop);

  /// Returns the values of a parameter.
  std::vector<float> read(const std::string& name, std::initializer_list<std::int64_t> shape);

  /// Returns a matrix in the type in which the file stores it; F16 becomes float.
  WeightMatrix read_matrix(const std::string& name, std::int64_t rows, std::int64_t columns);

  /// Throws Error if the file has a tensor that was not read.
  void expect_all_read() const;

 private:
  const TensorInfo& find(const std::string& name, std::initializer_list<std::int64_t> shape);

  const SafetensorsFile& file_;
  std::string file_name_;
  const StopRequest* stop_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace edgewise
