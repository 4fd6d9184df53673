// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/kv_cache_blocks.h"

#include "edgewise/base/error.h"

namespace edgewise {

template <typename T>
T* BlockPool<T>::take() {
  if (free_.empty()) return blocks_.emplace_back().template elements<T>(shape_.size());
  T* block = free_.back();
  free_.pop_back();
  return block;
}

NodeIndex PageNumbers::take() {
  if (free_.empty()) return static_cast<NodeIndex>(num_pages_++ * BlockShape::kTokens);
  const NodeIndex page = free_.back();
  free_.pop_back();
  return page;
}

template <class Pool>
void HypothesisCache<Pool>::clear(Pool& pool) {
  for (const Address block : blocks_) pool.give_back(block);
  blocks_.clear();
  nodes_.clear();
}

template <class Pool>
NodeIndex HypothesisCache<Pool>::add(NodeIndex parent, Pool& pool, const char* caller) {
  const std::int64_t count = std::ssize(nodes_);
  check(parent >= HypothesisTree::kRoot && parent < count, "{}: parent is {}, needs kRoot or a number in [0, {})",
        caller, parent, count);
  if (count % BlockShape::kTokens == 0) blocks_.push_back(pool.take());
  nodes_.push_back({parent, parent == HypothesisTree::kRoot ? 0 : nodes_[static_cast<std::size_t>(parent)].depth + 1});
  return static_cast<NodeIndex>(count);
}

template <class Pool>
void HypothesisCache<Pool>::append_path(NodeIndex node, const BlockShape& shape,
                                        std::vector<typename Pool::ConstAddress>& entries) const {
  entries.resize(entries.size() + static_cast<std::size_t>(depth(node)) + 1);
  for (auto next = entries.rbegin(); node != HypothesisTree::kRoot; ++next) {
    *next = entry(node, shape);
    node = nodes_[static_cast<std::size_t>(node)].parent;
  }
}

template class BlockPool<float>;
template class BlockPool<BFloat16>;
template class HypothesisCache<BlockPool<float>>;
template class HypothesisCache<BlockPool<BFloat16>>;
template class HypothesisCache<PageNumbers>;

}  // namespace edgewise
