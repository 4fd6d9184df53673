// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

namespace edgewise {

/// Reads two PEM files: the certificate of a server, which the certificates of its issuers may follow, and its private
/// key without a password. Connections have TLS 1.2 or 1.3. Throws Error for files that are unreadable or have
/// something else, and for a key that does not belong to the certificate.
std::shared_ptr<boost::asio::ssl::context> make_tls_context(const std::string& certificate, const std::string& key);

}  // namespace edgewise
