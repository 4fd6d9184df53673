// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/attention_recorder.h"

#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

thread_local const AttentionRecorder::Callback* active_callback = nullptr;

}  // namespace

AttentionRecorder::AttentionRecorder(Callback callback) : callback_(std::move(callback)) {
  check(active_callback == nullptr, "AttentionRecorder: this thread has one already, needs at most one");
  active_callback = &callback_;
}

AttentionRecorder::~AttentionRecorder() { active_callback = nullptr; }

const AttentionRecorder::Callback* AttentionRecorder::current() { return active_callback; }

}  // namespace edgewise
