// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_server.h"

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
#include "edgewise/server/http_listener.h"
#include "edgewise/server/http_shared.h"
#include "edgewise/server/http_tls.h"

namespace edgewise {
namespace {

namespace net = boost::asio;

/// Returns nothing without the files of TLS.
std::optional<TlsFiles> read_tls(const HttpServerOptions& options) {
  if (options.certificate.empty() && options.key.empty()) return std::nullopt;
  check(!options.certificate.empty() && !options.key.empty(),
        "server: only one of certificate and key is given, TLS needs both");
  return read_tls_files(options.certificate, options.key);
}

}  // namespace

class HttpServer::Implementation {
 public:
  Implementation(const HttpServerOptions& options, HttpHandlers handlers)
      : shared_(options, std::move(handlers)),
        tls_files_(read_tls(options)),
        tls_(tls_files_ ? make_tls_context(*tls_files_) : nullptr),
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
    close_all();
    shared_.handler_threads.join();  // handlers end soon: their exchanges are abandoned
    work_.reset();
    thread_.join();
  }

  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  std::uint16_t port() const { return port_; }

  Load load() {
    const std::lock_guard lock(shared_.mutex);
    return {.connections = shared_.num_connections, .requests = shared_.requests};
  }

  bool reload_certificate() {
    const std::lock_guard lock(reload_mutex_);
    auto files = read_tls(shared_.options);
    if (files == tls_files_) return false;
    net::post(shared_.io, [this, tls = make_tls_context(*files)] { tls_ = tls; });
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

  void close_all() {
    net::post(shared_.io, [this] {
      shared_.is_draining = true;
      listener_->close();
      for_each_connection([](ClosableConnection& connection) { connection.close(); });
    });
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
