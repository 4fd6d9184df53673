// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "edgewise/base/safetensors.h"

namespace edgewise {

/// A model's parameters by their names, each of which must be there in the shape that its options say. Errors begin
/// with `read_parameters: ` and the name of the file.
class ParameterReader {
 public:
  /// The file must outlive this.
  ParameterReader(const SafetensorsFile& file, std::string file_name) : file_(file), file_name_(std::move(file_name)) {}

  std::vector<float> read(const std::string& name, std::initializer_list<std::int64_t> shape);

  /// Throws Error if the file has parameters that nobody read.
  void expect_all_read() const;

 private:
  const SafetensorsFile& file_;
  std::string file_name_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace edgewise
