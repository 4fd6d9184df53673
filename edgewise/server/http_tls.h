// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

namespace edgewise {

/// A file with its text.
struct TextFile {
  std::string path;
  std::string text;

  friend bool operator==(const TextFile&, const TextFile&) = default;
};

/// Two PEM files: the certificate of a server, which the certificates of its issuers may follow, and its private key
/// without a password.
struct TlsFiles {
  TextFile certificate;
  TextFile key;

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

/// Throws Error for files that cannot be read.
TlsFiles read_tls_files(const std::string& certificate, const std::string& key);

/// Connections have TLS 1.2 or 1.3. Throws Error for files with something else, and for a key that does not belong to
/// the certificate.
std::shared_ptr<boost::asio::ssl::context> make_tls_context(const TlsFiles& files);

}  // namespace edgewise
