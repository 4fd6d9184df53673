// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <mutex>
#include <unordered_map>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// The values T(relation, device) of a relation, one for each device that was asked for.
template <class T>
class DeviceCache {
 public:
  explicit DeviceCache(const RelationView& relation) : relation_(relation) {}

  const T& on(c10::Device device) const {
    const std::scoped_lock lock(mutex_);
    return values_.try_emplace(device, relation_, device).first->second;
  }

 private:
  RelationView relation_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<c10::Device, T> values_;
};

/// Returns T(relation.view(), device), tensors that are derived from a relation. The first call for a relation and a
/// device stores the value with the relation, as Relation::derive() does. On a GPU, copies to the tensors begin in the
/// current stream of this first call; other streams must wait for it.
template <class T>
const T& derive_on(const Relation& relation, c10::Device device) {
  return relation.derive<DeviceCache<T>>().on(device);
}

}  // namespace edgewise
