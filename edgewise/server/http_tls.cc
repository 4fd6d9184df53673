// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_tls.h"

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"

namespace edgewise {
namespace {

using boost::system::error_code;
using TlsContext = boost::asio::ssl::context;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1024} * 1024;

void use_certificate(TlsContext& tls, const std::string& path) {
  const std::string text = read_file(path, "server", kMaxFileBytes);
  error_code error;
  tls.use_certificate_chain(boost::asio::buffer(text), error);
  check(!error, "server: certificate {} has no usable certificate ({}), needs one in PEM form", path, error.message());
}

void use_key(TlsContext& tls, const std::string& path, const std::string& certificate) {
  const std::string text = read_file(path, "server", kMaxFileBytes);
  error_code error;
  // Without this function, OpenSSL would ask the terminal for the password of an encrypted key.
  tls.set_password_callback([](std::size_t, TlsContext::password_purpose) { return std::string(); }, error);
  tls.use_private_key(boost::asio::buffer(text), TlsContext::pem, error);
  const bool is_mismatch = ERR_GET_REASON(static_cast<unsigned long>(error.value())) == X509_R_KEY_VALUES_MISMATCH;
  check(!error || is_mismatch,
        "server: key {} has no usable private key ({}), needs one in PEM form without a password", path,
        error.message());
  // The second check finds a key of another kind than that of the certificate.
  check(!is_mismatch && SSL_CTX_check_private_key(tls.native_handle()) == 1,
        "server: key {} does not belong to the certificate {}, needs the private key of that certificate", path,
        certificate);
}

}  // namespace

std::shared_ptr<TlsContext> make_tls_context(const std::string& certificate, const std::string& key) {
  auto tls = std::make_shared<TlsContext>(TlsContext::tls_server);
  tls->set_options(TlsContext::default_workarounds | TlsContext::no_tlsv1 | TlsContext::no_tlsv1_1);
  // Clients keep their sessions themselves, in tickets; a cache would grow with the number of clients.
  SSL_CTX_set_session_cache_mode(tls->native_handle(), SSL_SESS_CACHE_OFF);
  use_certificate(*tls, certificate);
  use_key(*tls, key, certificate);
  return tls;
}

}  // namespace edgewise
