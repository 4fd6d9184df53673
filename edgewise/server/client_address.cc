// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/client_address.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "edgewise/base/ascii.h"
#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

namespace ip = boost::asio::ip;

constexpr unsigned kBits = 128;
constexpr unsigned kMappedBits = 96;  // bits before an IPv4 address in an IPv6 address
constexpr unsigned kClientBits = 64;

std::optional<ip::address> parse_address(std::string_view text) {
  boost::system::error_code error;
  const ip::address address = ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  return address;
}

std::array<unsigned char, 16> bytes_of(const ip::address& address) {
  return (address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()) : address.to_v6()).to_bytes();
}

/// Returns the text of an address without its port, as some proxies write it: `1.2.3.4:5`, `[2001:db8::1]:5`.
std::string_view without_port(std::string_view text) {
  if (text.starts_with('[')) return text.substr(1, text.find(']') - 1);
  const std::size_t colon = text.find(':');
  const bool has_port = colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos;
  return has_port ? text.substr(0, colon) : text;
}

std::string name_of_client(const ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const ip::address_v6 whole = address.to_v6();
  if (whole.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, whole).to_string();
  ip::address_v6::bytes_type bytes = whole.to_bytes();
  std::fill(bytes.begin() + kClientBits / 8, bytes.end(), static_cast<unsigned char>(0));
  return ip::address_v6(bytes).to_string() + "/64";
}

}  // namespace

TrustedProxies::TrustedProxies(const std::vector<std::string>& networks) {
  for (const std::string& text : networks) {
    const std::size_t slash = text.find('/');
    const auto address = parse_address(std::string_view(text).substr(0, slash));
    check(address.has_value(), "server: trusted_proxies has {}, needs addresses or networks such as 10.0.0.0/8",
          quote(text));
    const unsigned first = address->is_v4() ? kMappedBits : 0;
    unsigned bits = kBits - first;
    if (slash != std::string::npos) {
      const bool fits = parse_number(text.substr(slash + 1), at_least(0).at_most(kBits - first), bits);
      check(fits, "server: trusted_proxies has {}, needs a number of bits from 0 to {} after the slash", quote(text),
            kBits - first);
    }
    networks_.push_back({bytes_of(*address), first + bits});
  }
}

bool TrustedProxies::trust(std::string_view text) const {
  if (text.empty()) return true;
  const auto address = parse_address(text);
  if (!address) return false;
  const Bytes bytes = bytes_of(*address);
  return std::ranges::any_of(networks_, [&](const Network& network) {
    const std::size_t whole = network.bits / 8;
    if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole), network.address.begin())) {
      return false;
    }
    const unsigned rest = network.bits % 8;
    return rest == 0 || (bytes[whole] ^ network.address[whole]) >> (8 - rest) == 0;
  });
}

std::string TrustedProxies::client_of(std::string_view peer, std::string_view forwarded) const {
  std::string_view client = peer;
  while (trust(client) && !forwarded.empty()) {
    const std::size_t comma = forwarded.rfind(',');
    const std::string_view last = comma == std::string_view::npos ? forwarded : forwarded.substr(comma + 1);
    const std::string_view address = without_port(trim_ascii(last));
    forwarded = comma == std::string_view::npos ? std::string_view() : forwarded.substr(0, comma);
    if (address.empty()) continue;  // lists may have empty elements (RFC 9110, section 5.6.1)
    if (!parse_address(address)) break;
    client = address;
  }
  const auto address = parse_address(client);
  return address ? name_of_client(*address) : std::string(client);
}

}  // namespace edgewise
