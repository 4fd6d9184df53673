// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>
#include <vector>

namespace edgewise {

/// At most one value of each type, made when first asked for. Any thread may ask.
class DerivedValues {
 public:
  using Make = std::function<std::shared_ptr<const void>()>;

  /// The value of `type`, which `make` makes where there is none yet. If it throws, there is still none.
  const void* get(std::type_index type, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, value] : values_) {
      if (known == type) return value.get();
    }
    return values_.emplace_back(type, make()).second.get();
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::type_index, std::shared_ptr<const void>>> values_;
};

}  // namespace edgewise
