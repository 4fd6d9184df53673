// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/attention_watch.h"

#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

thread_local const AttentionWatch::See* seeing = nullptr;

}  // namespace

AttentionWatch::AttentionWatch(See see) : see_(std::move(see)) {
  check(seeing == nullptr, "AttentionWatch: this thread has one already, at most one is needed");
  seeing = &see_;
}

AttentionWatch::~AttentionWatch() { seeing = nullptr; }

const AttentionWatch::See* AttentionWatch::current() { return seeing; }

}  // namespace edgewise
