// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_tls.h"

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"

namespace edgewise {
namespace {

using boost::system::error_code;
using TlsContext = boost::asio::ssl::context;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1024} * 1024;

TextFile read_text_file(const std::string& path) { return {path, read_file(path, "server", kMaxFileBytes)}; }

void use_certificate(TlsContext& tls, const TextFile& file) {
  error_code error;
  tls.use_certificate_chain(boost::asio::buffer(file.text), error);
  check(!error, "server: certificate {} has no usable certificate ({}), needs one in PEM form", file.path,
        error.message());
}

void use_key(TlsContext& tls, const TextFile& file, const std::string& certificate) {
  error_code error;
  // Without this function, OpenSSL would ask the terminal for the password of an encrypted key.
  tls.set_password_callback([](std::size_t, TlsContext::password_purpose) { return std::string(); }, error);
  tls.use_private_key(boost::asio::buffer(file.text), TlsContext::pem, error);
  const bool is_mismatch = ERR_GET_REASON(static_cast<unsigned long>(error.value())) == X509_R_KEY_VALUES_MISMATCH;
  check(!error || is_mismatch,
        "server: key {} has no usable private key ({}), needs one in PEM form without a password", file.path,
        error.message());
  // The second check finds a key of another kind than that of the certificate.
  check(!is_mismatch && SSL_CTX_check_private_key(tls.native_handle()) == 1,
        "server: key {} does not belong to the certificate {}, needs the private key of that certificate", file.path,
        certificate);
}

}  // namespace

TlsFiles read_tls_files(const std::string& certificate, const std::string& key) {
  return {read_text_file(certificate), read_text_file(key)};
}

std::shared_ptr<TlsContext> make_tls_context(const TlsFiles& files) {
  auto tls = std::make_shared<TlsContext>(TlsContext::tls_server);
  tls->set_options(TlsContext::default_workarounds | TlsContext::no_tlsv1 | TlsContext::no_tlsv1_1);
  // Clients keep their sessions themselves, in tickets; a cache would grow with the number of clients.
  SSL_CTX_set_session_cache_mode(tls->native_handle(), SSL_SESS_CACHE_OFF);
  use_certificate(*tls, files.certificate);
  use_key(*tls, files.key, files.certificate.path);
  return tls;
}

}  // namespace edgewise
