// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_server.h"

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/server/http_listener.h"
#include "edgewise/server/http_shared.h"

namespace edgewise {

namespace {

namespace net = boost::asio;
using boost::system::error_code;
using TlsContext = boost::asio::ssl::context;

/// The texts of two PEM files: the certificate of a server, which the certificates of its issuers may follow, and its
/// private key without a password.
using TlsFiles = std::pair<std::string, std::string>;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1024} * 1024;

/// Returns nothing without the files of TLS. Throws Error for files that cannot be read.
std::optional<TlsFiles> read_tls(const HttpServerOptions& options) {
  if (options.certificate.empty() && options.key.empty()) return std::nullopt;
  check(!options.certificate.empty() && !options.key.empty(),
        "server: only one of certificate and key is given, TLS needs both");
  return TlsFiles{read_file(options.certificate, "server", kMaxFileBytes),
                  read_file(options.key, "server", kMaxFileBytes)};
}

void use_certificate(TlsContext& tls, const std::string& text, const std::string& path) {
  error_code error;
  tls.use_certificate_chain(net::buffer(text), error);
  check(!error, "server: certificate {} has no usable certificate ({}), needs one in PEM form", path, error.message());
}

void use_key(TlsContext& tls, const std::string& text, const HttpServerOptions& options) {
  error_code error;
  // Without this function, OpenSSL would ask the terminal for the password of an encrypted key.
  tls.set_password_callback([](std::size_t, TlsContext::password_purpose) { return std::string(); }, error);
  tls.use_private_key(net::buffer(text), TlsContext::pem, error);
  const bool is_mismatch = ERR_GET_REASON(static_cast<unsigned long>(error.value())) == X509_R_KEY_VALUES_MISMATCH;
  check(!error || is_mismatch,
        "server: key {} has no usable private key ({}), needs one in PEM form without a password", options.key,
        error.message());
  // The second check finds a key of another kind than that of the certificate.
  check(!is_mismatch && SSL_CTX_check_private_key(tls.native_handle()) == 1,
        "server: key {} does not belong to the certificate {}, needs the private key of that certificate", options.key,
        options.certificate);
}

/// Connections have TLS 1.2 or 1.3. Throws Error for files with something else, and for a key that does not belong to
/// the certificate.
std::shared_ptr<TlsContext> make_tls_context(const TlsFiles& files, const HttpServerOptions& options) {
  auto tls = std::make_shared<TlsContext>(TlsContext::tls_server);
  tls->set_options(TlsContext::default_workarounds | TlsContext::no_tlsv1 | TlsContext::no_tlsv1_1);
  // Clients keep their sessions themselves, in tickets; a cache would grow with the number of clients.
  SSL_CTX_set_session_cache_mode(tls->native_handle(), SSL_SESS_CACHE_OFF);
  use_certificate(*tls, files.first, options.certificate);
  use_key(*tls, files.second, options);
  return tls;
}

}  // namespace

class HttpServer::Implementation {
 public:
  Implementation(const HttpServerOptions& options, HttpHandlers handlers)
      : shared_(options, std::move(handlers)),
        tls_files_(read_tls(options)),
        tls_(tls_files_ ? make_tls_context(*tls_files_, options) : nullptr),
        listener_(listen(shared_.io, options.listen, options.socket)),
        port_(listener_->port()),
        work_(shared_.io.get_executor()) {
    listener_->start([this](HttpSocket socket, const std::string& peer) {
      if (!shared_.is_draining) serve_connection(std::move(socket), peer, shared_, tls_);
    });
    auto thread = try_start_thread([this] { run_connections(); });
    check(thread.has_value(), "server: the system refuses to start a thread, needs one for the connections; {}",
          kRaiseProcessLimit);
    thread_ = std::move(*thread);
  }

  ~Implementation() {
    net::post(shared_.io, [this] {
      shared_.is_draining = true;
      listener_->close();
      for_each_connection([](ClosableConnection& connection) { connection.close(); });
    });
    shared_.handler_threads.join();  // handlers end soon: their exchanges are abandoned
    work_.reset();
    thread_.join();
  }

  std::uint16_t port() const { return port_; }

  Load load() {
    const std::lock_guard lock(shared_.mutex);
    return {.connections = shared_.num_connections, .requests = shared_.requests};
  }

  bool reload_certificate() {
    const std::lock_guard lock(reload_mutex_);
    auto files = read_tls(shared_.options);
    if (files == tls_files_) return false;
    net::post(shared_.io, [this, tls = make_tls_context(*files, shared_.options)] { tls_ = tls; });
    tls_files_ = std::move(files);
    return true;
  }

  bool drain(double seconds) {
    net::post(shared_.io, [this] {
      listener_->close();
      shared_.is_draining = true;
      // Bytes that have arrived are received first, so that a connection with a request is not idle any more.
      net::post(shared_.io, [this] {
        for_each_connection([](ClosableConnection& connection) { connection.close_if_idle(); });
        const std::lock_guard lock(shared_.mutex);
        shared_.has_closed_idle = true;
        shared_.changed.notify_all();
      });
    });
    std::unique_lock lock(shared_.mutex);
    return shared_.changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                    [&] { return shared_.has_closed_idle && shared_.num_connections == 0; });
  }

 private:
  /// An exception, such as that of a full memory, ends the connection whose function threw it, but not the server.
  void run_connections() {
    for (bool is_running = true; is_running;) {
      try {
        shared_.io.run();
        is_running = false;
      } catch (const std::exception& error) {
        if (shared_.handlers.report) shared_.handlers.report(error.what());
      }
    }
  }

  /// Visits a copy of the set, because a connection that closes leaves the set.
  template <class Visit>
  void for_each_connection(Visit visit) {
    for (ClosableConnection* connection : std::set(shared_.connections)) visit(*connection);
  }

  HttpShared shared_;
  std::mutex reload_mutex_;  // held by one reload_certificate() at a time
  std::optional<TlsFiles> tls_files_;
  std::shared_ptr<net::ssl::context> tls_;  // for the thread of the connections
  std::unique_ptr<HttpListener> listener_;
  std::uint16_t port_;
  net::executor_work_guard<net::io_context::executor_type> work_;
  std::jthread thread_;
};

HttpServer::HttpServer(const HttpServerOptions& options, HttpHandlers handlers)
    : implementation_(std::make_unique<Implementation>(options, std::move(handlers))) {}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return implementation_->port(); }

HttpServer::Load HttpServer::load() const { return implementation_->load(); }

bool HttpServer::reload_certificate() { return implementation_->reload_certificate(); }

bool HttpServer::drain(double seconds) { return implementation_->drain(seconds); }

}  // namespace edgewise
