// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/base/files/safetensors.h"

// Tensors of files of other programs. TensorInfo and DType are those of safetensors files, so that an importer reads
// tensors of every format in one way. The parameter `where` begins each error: "import_model: opus/model.npz".

namespace edgewise {

/// The tensors of a file, in the file's order, and the memory of their bytes. Moving the object keeps the bytes.
struct StoredTensors {
  std::vector<TensorInfo> tensors;
  std::vector<std::shared_ptr<const void>> memory;

  /// Stores the bytes and returns them.
  std::string_view keep(std::string bytes);

  /// Returns null for a name that no tensor has.
  TensorInfo* find(std::string_view name);

  /// Adds a tensor of F32 with these elements.
  void add(std::string name, std::vector<std::int64_t> shape, std::span<const float> elements);
};

/// Adds a tensor of F32 whose elements are 0.
void add_zeros(std::string name, std::vector<std::int64_t> shape, StoredTensors& tensors);

/// Returns whether two tensors have equal types, shapes and bytes.
bool are_equal(const TensorInfo& a, const TensorInfo& b);

/// Looks up tensors by name, and records which ones were looked up.
class TensorLookup {
 public:
  /// The tensors must outlive the lookup. Throws Error if two tensors have one name.
  TensorLookup(std::span<const TensorInfo> tensors, std::string where);

  /// Returns null if no tensor has the name.
  const TensorInfo* find(std::string_view name);

  /// Throws Error if no tensor has the name.
  const TensorInfo& get(std::string_view name);

  /// Throws Error also if the tensor has another shape.
  const TensorInfo& get(std::string_view name, std::span<const std::int64_t> shape);

  /// Throws Error, which names up to five tensors, if there are tensors that were not looked up.
  void expect_all_used() const;

 private:
  std::span<const TensorInfo> tensors_;
  std::string where_;
  std::unordered_map<std::string_view, std::size_t> index_of_;
  std::vector<bool> is_used_;
};

/// Returns the elements of an F32, F16, BF16 or F64 tensor without rounding: throws Error for an F64 element, other
/// than NaN, that is no float, and for another dtype.
std::vector<float> to_floats(const TensorInfo& tensor, std::string_view where);

/// Returns the element of a tensor of one whole number or truth value. Throws Error for another tensor.
std::int64_t to_whole_number(const TensorInfo& tensor, std::string_view where);

/// Returns the text of an I8 or U8 tensor of one dimension, without the NUL at its end if there is one. Throws Error
/// for another tensor, and for text that is not UTF-8 or has another NUL.
std::string to_text(const TensorInfo& tensor, std::string_view where);

/// Returns the size in bytes of a tensor. Throws Error if the shape has a negative dimension, more dimensions than a
/// safetensors file can have, or more bytes than a 64-bit number can count.
std::uint64_t checked_byte_size(DType dtype, std::span<const std::int64_t> shape, std::string_view what);

/// Checks the name and the shape of a tensor that will be written, and that its bytes fit its shape.
void check_tensor_to_write(const TensorInfo& tensor, std::string_view function);

/// Copies a tensor in row-major order. Element [i, j, …] is number i * strides[0] + j * strides[1] + … of `source`,
/// which must have it.
std::string copy_strided(std::string_view source, std::size_t element_size, std::span<const std::int64_t> shape,
                         std::span<const std::int64_t> strides);

}  // namespace edgewise
