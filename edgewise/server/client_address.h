// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// Addresses of proxies whose header field X-Forwarded-For is believed.
class TrustedProxies {
 public:
  /// Each element is an IPv4 or IPv6 address, or a network such as 10.0.0.0/8. Throws Error for anything else.
  explicit TrustedProxies(const std::vector<std::string>& networks = {});

  /// Returns whether the address is that of a trusted proxy. An empty address, that of a Unix socket, is one.
  bool trust(std::string_view address) const;

  /// Returns the address of the client: that of the peer, or, if the peer is a trusted proxy, the last address in
  /// `forwarded` that is not that of a trusted proxy. An IPv6 address becomes its network of 64 bits, because one
  /// client has all addresses in it.
  std::string client_of(std::string_view peer, std::string_view forwarded) const;

 private:
  using Bytes = std::array<unsigned char, 16>;  // the bytes of an IPv6 address; an IPv4 address is mapped into it
  struct Network {
    Bytes address;
    unsigned bits;
  };

  std::vector<Network> networks_;
};

}  // namespace edgewise
