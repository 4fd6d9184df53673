// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/hypothesis_cache.h"

#include <algorithm>

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
const typename HypothesisCache<Pool>::Block& HypothesisCache<Pool>::block(NodeIndex node) const {
  const std::int64_t number = node / BlockShape::kTokens;
  if (number >= first_block_) return blocks_[static_cast<std::size_t>(number - first_block_)];
  check(number < std::ssize(sink_blocks_),
        "step: token {} of a text was discarded, needs to be within the reach of the model's relation; add tokens in "
        "the order of their positions",
        node);
  return sink_blocks_[static_cast<std::size_t>(number)];
}

template <class Pool>
void HypothesisCache<Pool>::clear(Pool& pool) {
  for (const Block& block : sink_blocks_) pool.give_back(block.address);
  for (const Block& block : blocks_) pool.give_back(block.address);
  sink_blocks_.clear();
  blocks_.clear();
  first_block_ = 0;
  num_nodes_ = 0;
}

template <class Pool>
NodeIndex HypothesisCache<Pool>::add(NodeIndex parent, Pool& pool, const char* caller) {
  const NodeIndex number = num_nodes_;
  check(parent >= HypothesisTree::kRoot && parent < number, "{}: parent is {}, needs kRoot or a number in [0, {})",
        caller, parent, number);
  const bool is_root = parent == HypothesisTree::kRoot;
  const std::int32_t depth = is_root ? 0 : at(parent).depth + 1;
  const NodeIndex sink = depth < sinks_ ? number : is_root ? HypothesisTree::kRoot : at(parent).sink;
  if (number % BlockShape::kTokens == 0) blocks_.push_back({pool.take(), {}});
  blocks_.back().nodes[static_cast<std::size_t>(number % BlockShape::kTokens)] = {parent, depth, sink};
  ++num_nodes_;
  return number;
}

template <class Pool>
void HypothesisCache<Pool>::append_path(NodeIndex node, const BlockShape& shape,
                                        std::vector<typename Pool::ConstAddress>& entries) const {
  entries.resize(entries.size() + static_cast<std::size_t>(depth(node)) + 1);
  for (auto next = entries.rbegin(); node != HypothesisTree::kRoot; ++next) {
    *next = entry(node, shape);
    node = at(node).parent;
  }
}

template <class Pool>
void HypothesisCache<Pool>::append_depths(NodeIndex node, std::span<const NodeIndex> depths, const BlockShape& shape,
                                          std::vector<typename Pool::ConstAddress>& entries) const {
  const NodeIndex last_sink = at(node).sink;
  const std::int64_t last_sink_depth = last_sink == HypothesisTree::kRoot ? -1 : depth(last_sink);
  entries.resize(entries.size() + depths.size());
  auto next = entries.rbegin();
  for (auto wanted = depths.rbegin(); wanted != depths.rend(); ++wanted, ++next) {
    if (*wanted <= last_sink_depth && depth(node) > last_sink_depth) node = last_sink;
    while (depth(node) > *wanted) node = at(node).parent;
    *next = entry(node, shape);
  }
}

template <class Pool>
void HypothesisCache<Pool>::discard_below(std::int64_t depth, Pool& pool) {
  while (blocks_.size() > 1) {
    const Block& front = blocks_.front();
    if (std::ranges::any_of(front.nodes, [&](const Node& node) { return node.depth >= depth; })) return;
    if (std::ranges::any_of(front.nodes, [&](const Node& node) { return node.depth < sinks_; })) {
      if (std::ssize(sink_blocks_) != first_block_) return;
      sink_blocks_.push_back(front);
    } else {
      pool.give_back(front.address);
    }
    blocks_.pop_front();
    ++first_block_;
  }
}

template class BlockPool<float>;
template class BlockPool<BFloat16>;
template class HypothesisCache<BlockPool<float>>;
template class HypothesisCache<BlockPool<BFloat16>>;
template class HypothesisCache<PageNumbers>;

}  // namespace edgewise
