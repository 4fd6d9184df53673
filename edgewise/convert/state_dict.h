// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "edgewise/convert/stored_tensor.h"

namespace edgewise {

/// Reads the bytes of a storage, which the pickle names by a key. Throws Error if there is none.
using StorageReader = std::function<std::string(std::string_view key)>;

/// Reads a pickle that is a dict from names to PyTorch tensors. Tensors may share a storage, which is read once; a
/// tensor that is not contiguous is copied to row-major order. Throws Error, beginning with `where`, for other values,
/// which it names, and for a tensor that reaches beyond its storage or has more elements than it.
StoredTensors read_state_dict(std::string_view pickle, const std::string& where, const StorageReader& read_storage);

}  // namespace edgewise
