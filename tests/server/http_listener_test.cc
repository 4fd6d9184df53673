// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_listener.h"

#include <gtest/gtest.h>

#include <chrono>
#include <new>
#include <string>

#include "tests/server/raw_client.h"

namespace edgewise {
namespace {

TEST(HttpListener, AcceptsConnectionsBehindOneWhoseFunctionThrows) {
  boost::asio::io_context io;
  int accepted = 0;
  const auto listener = listen(io, "127.0.0.1:0", -1);
  listener->start([&](const HttpSocket&, const std::string& peer) {
    EXPECT_EQ(peer, "127.0.0.1");
    if (++accepted == 1) throw std::bad_alloc();
    listener->close();
  });
  const RawClient first(listener->port());
  const RawClient second(listener->port());
  EXPECT_THROW(io.run(), std::bad_alloc);
  io.run_for(std::chrono::seconds(10));
  EXPECT_EQ(accepted, 2);
}

}  // namespace
}  // namespace edgewise
