// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/client_address.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace edgewise {
namespace {

TEST(ClientAddress, IsThatOfThePeerUnlessThePeerIsATrustedProxy) {
  const TrustedProxies proxies({"127.0.0.1", "10.0.0.0/8"});
  EXPECT_EQ(proxies.client_of("192.0.2.1", "203.0.113.5"), "192.0.2.1");
  EXPECT_EQ(proxies.client_of("127.0.0.1", "203.0.113.5"), "203.0.113.5");
  EXPECT_EQ(proxies.client_of("127.0.0.1", ""), "127.0.0.1");
  EXPECT_EQ(proxies.client_of("::ffff:10.1.2.3", "203.0.113.5"), "203.0.113.5");
}

TEST(ClientAddress, IsTheLastAddressThatNoTrustedProxyHas) {
  const TrustedProxies proxies({"127.0.0.1", "10.0.0.0/8"});
  EXPECT_EQ(proxies.client_of("127.0.0.1", "1.1.1.1, 203.0.113.5, 10.9.9.9"), "203.0.113.5");
  EXPECT_EQ(proxies.client_of("127.0.0.1", "10.9.9.9"), "10.9.9.9");
  EXPECT_EQ(proxies.client_of("127.0.0.1", "nonsense"), "127.0.0.1");
  EXPECT_EQ(proxies.client_of("127.0.0.1", "1.1.1.1, 203.0.113.5, , "), "203.0.113.5");
  EXPECT_EQ(proxies.client_of("127.0.0.1", "203.0.113.5:4711"), "203.0.113.5");
}

TEST(ClientAddress, OfIpv6IsItsNetworkOf64Bits) {
  const TrustedProxies proxies({"2001:db8:1::/48"});
  EXPECT_EQ(proxies.client_of("2001:db8:2:3:4:5:6:7", ""), "2001:db8:2:3::/64");
  EXPECT_EQ(proxies.client_of("2001:db8:1:9::1", "[2001:db8:2:3::9]:443"), "2001:db8:2:3::/64");
  EXPECT_EQ(proxies.client_of("::ffff:192.0.2.1", ""), "192.0.2.1");
}

TEST(ClientAddress, OfAUnixSocketIsThatWhichTheProxyNames) {
  EXPECT_EQ(TrustedProxies().client_of("", "203.0.113.5"), "203.0.113.5");
  EXPECT_EQ(TrustedProxies().client_of("", ""), "");
}

TEST(ClientAddress, RefusesProxiesThatAreNoNetworks) {
  EXPECT_EQ(error_of([] { TrustedProxies({"proxy"}); }),
            "server: trusted_proxies has \"proxy\", needs addresses or networks such as 10.0.0.0/8");
  EXPECT_EQ(error_of([] { TrustedProxies({"10.0.0.0/33"}); }),
            "server: trusted_proxies has \"10.0.0.0/33\", needs a number of bits from 0 to 32 after the slash");
}

}  // namespace
}  // namespace edgewise
