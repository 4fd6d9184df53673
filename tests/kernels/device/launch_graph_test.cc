// SPDX-License-Identifier: Apache-2.0
#include "edgewise/device/launch_graph.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "edgewise/kernels/gemm/activation.h"
#include "tests/support/device_buffer.h"

namespace edgewise::kernels::gpu {
namespace {

/// Begins to replace negative numbers by zero, in a copy of `x`.
void begin_relu(const device::Buffer<float>& x, device::Buffer<float>& out, device::Stream stream) {
  begin_copy(out.data(), x.data(), x.size() * sizeof(float), stream);
  activate(ActivationForward<float>{.activation = GemmActivation::kRelu,
                                    .count = static_cast<std::int64_t>(out.size()),
                                    .x = out.data(),
                                    .out = out.data(),
                                    .dropout = {}},
           stream);
}

class LaunchGraphs : public testing::Test {
 protected:
  ~LaunchGraphs() override { device::destroy_stream(stream_); }

  void assign(const std::vector<float>& values) { x_.assign(values); }

  device::LaunchGraph record_relu() {
    return device::LaunchGraph::record(stream_, [&] { begin_relu(x_, out_, stream_); });
  }

  device::Stream stream_ = device::create_stream();
  device::Buffer<float> x_ = device::Buffer<float>(std::vector<float>{1, -1, 2});
  device::Buffer<float> out_ = device::Buffer<float>(std::vector<float>{7, 7, 7});
};

TEST_F(LaunchGraphs, RecordsKernelsAndCopiesWithoutRunningThem) {
  const device::LaunchGraph graph = record_relu();

  EXPECT_EQ(out_.read(stream_), (std::vector<float>{7, 7, 7}));
}

TEST_F(LaunchGraphs, RunsInOrderOnTheContentOfTheMemory) {
  const device::LaunchGraph graph = record_relu();
  for (const std::vector<float>& values : {std::vector<float>{-3, 4, -5}, {6, -7, 8}}) {
    assign(values);

    graph.launch(stream_);

    EXPECT_EQ(out_.read(stream_), (std::vector<float>{values[0] > 0 ? values[0] : 0, values[1] > 0 ? values[1] : 0,
                                                      values[2] > 0 ? values[2] : 0}));
  }
}

TEST_F(LaunchGraphs, AnErrorEndsTheRecording) {
  EXPECT_THROW(device::LaunchGraph::record(stream_,
                                           [&] {
                                             begin_relu(x_, out_, stream_);
                                             throw std::runtime_error("no memory");
                                           }),
               std::runtime_error);

  begin_relu(x_, out_, stream_);
  EXPECT_EQ(out_.read(stream_), (std::vector<float>{1, 0, 2}));
}

}  // namespace
}  // namespace edgewise::kernels::gpu
