// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/store.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>

#include "tests/distributed/forked_group.h"

namespace edgewise {
namespace {

/// Returns whether a socket listens at all addresses of the machine.
bool listens_everywhere(const FileDescriptor& listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  ::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == INADDR_ANY;
  const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return std::equal(std::begin(six.s6_addr), std::end(six.s6_addr), std::begin(in6addr_any.s6_addr));
}

TEST(StoreAddress, OfOneMachineIsClosedToTheNetwork) {
  const ReservedPort port;
  EXPECT_FALSE(listens_everywhere(listen_for_store("127.0.0.1", port.number(), true)));
}

TEST(StoreAddress, OfSeveralMachinesIsOpenToTheNetwork) {
  const ReservedPort port;
  EXPECT_TRUE(listens_everywhere(listen_for_store("127.0.0.1", port.number(), false)));
}

TEST(StoreAddress, IsReachedOverTheLoopbackInterfaceOnItsOwnMachine) {
  const ReservedPort port;
  const FileDescriptor listener = listen_for_store("127.0.0.1", port.number(), false);
  const ConnectionEnds ends = reach_store("127.0.0.1", port.number(), std::chrono::seconds(60));
  EXPECT_EQ(ends.here, "127.0.0.1");
  EXPECT_EQ(ends.there, "127.0.0.1");
}

TEST(AddressOf, IsTheAddressOnTheWayToTheStore) {
  EXPECT_EQ(address_of(0, {{"127.0.0.1", "127.0.0.1"}, {"127.0.0.1", "127.0.0.1"}}), "127.0.0.1");
  EXPECT_EQ(address_of(1, {{"10.0.0.1", "10.0.0.1"}, {"10.0.0.2", "10.0.0.1"}}), "10.0.0.2");
}

TEST(AddressOf, IsThatOfTheStoreInTheNetworkForAProcessBesideTheStore) {
  const std::vector<ConnectionEnds> all{{"127.0.0.1", "127.0.1.1"}, {"::1", "::1"}, {"10.0.0.2", "10.0.0.1"}};
  EXPECT_EQ(address_of(0, all), "10.0.0.1");
  EXPECT_EQ(address_of(1, all), "10.0.0.1");
  EXPECT_EQ(address_of(2, all), "10.0.0.2");
}

}  // namespace
}  // namespace edgewise
