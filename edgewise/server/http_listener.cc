// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kListening = "0A";  // state of a socket in /proc/net/tcp

/// Adds the names that /proc/PID/fd has for the sockets that listen on a port.
void add_sockets(const char* table, std::uint16_t port, std::set<std::string>& sockets) {
  std::ifstream file(table);
  const std::string ending = fmt::format(":{:04X}", port);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
    fields >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> inode;
    if (state == kListening && local.ends_with(ending)) sockets.insert(fmt::format("socket:[{}]", inode));
  }
}

bool has_socket(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  for (fs::directory_iterator entry(process / "fd", error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (sockets.contains(fs::read_symlink(entry->path(), ignored).string())) return true;
  }
  return false;
}

/// Searches /proc for the process that listens on a TCP port of this machine, and describes it: "a program" if there is
/// none, or if this user may not look at its descriptors.
std::string describe_port_owner(std::uint16_t port) {
  std::set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) add_sockets(table, port, sockets);
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    std::int64_t process = 0;
    const bool is_process = parse_number(entry->path().filename().string(), at_least(1), process);
    if (!is_process || !has_socket(entry->path(), sockets)) continue;
    std::string name;
    std::getline(std::ifstream(entry->path() / "comm"), name);
    return fmt::format("{} (process {})", printable(name), process);
  }
  return "a program";
}

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;
using Local = net::local::stream_protocol;

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::chrono::milliseconds kRetryTime{100};

std::string peer_name(const tcp::endpoint& peer) { return peer.address().to_string(); }
std::string peer_name(const Local::endpoint&) { return {}; }

void prepare(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}
void prepare(Local::socket&) {}

std::uint16_t port_of(const tcp::endpoint& endpoint) { return endpoint.port(); }
std::uint16_t port_of(const Local::endpoint&) { return 0; }

template <class Protocol>
class Listener final : public HttpListener {
 public:
  using Acceptor = typename Protocol::acceptor;

  explicit Listener(Acceptor acceptor) : acceptor_(std::move(acceptor)), retry_(acceptor_.get_executor()) {}

  void start(AcceptFunction accept) override {
    accept_ = std::move(accept);
    accept_next();
  }

  void close() override {
    accept_waiting();
    error_code ignored;
    acceptor_.close(ignored);
    retry_.cancel();
  }

  std::uint16_t port() const override { return port_of(acceptor_.local_endpoint()); }

 private:
  void accept_next() {
    acceptor_.async_accept(peer_, [this](error_code error, typename Protocol::socket socket) {
      if (error == net::error::operation_aborted || !acceptor_.is_open()) return;
      if (error) return retry_later();
      prepare(socket);
      const std::string peer = peer_name(peer_);
      accept_next();  // first, because accept_ may throw
      accept_(HttpSocket(std::move(socket)), peer);
    });
  }

  /// Accepts the connections that the system has made already: closing would break them off.
  void accept_waiting() {
    error_code error;
    acceptor_.non_blocking(true, error);
    while (!error) {
      typename Protocol::endpoint peer;
      auto socket = acceptor_.accept(peer, error);
      if (error) return;
      prepare(socket);
      accept_(HttpSocket(std::move(socket)), peer_name(peer));
    }
  }

  /// Without a pause, a process at its limit of open files would try in an endless loop.
  void retry_later() {
    retry_.expires_after(kRetryTime);
    retry_.async_wait([this](error_code error) {
      if (!error) accept_next();
    });
  }

  Acceptor acceptor_;
  net::steady_timer retry_;
  typename Protocol::endpoint peer_;
  AcceptFunction accept_;
};

/// Describes what to do if another program has an address, in words after a semicolon.
std::string remedy_of_use(const tcp::endpoint& endpoint) {
  return describe_port_owner(endpoint.port()) + " listens there; end it, or choose another port with --listen";
}
std::string remedy_of_use(const Local::endpoint& endpoint) {
  struct stat status {};
  const bool is_socket = ::lstat(endpoint.path().c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
  return is_socket ? "a program listens there; end it, or choose another path with --listen"
                   : "a file that is no socket is there; choose another path with --listen";
}

bool is_of_system(const tcp::endpoint& endpoint) { return endpoint.port() > 0 && endpoint.port() < 1024; }
bool is_of_system(const Local::endpoint&) { return false; }

template <class Endpoint>
std::string remedy_of(const error_code& error, const Endpoint& endpoint) {
  namespace errc = boost::system::errc;
  if (error == errc::address_in_use) return remedy_of_use(endpoint);
  if (error == errc::address_not_available) {
    return "no network interface of this machine has the address; choose 127.0.0.1, or 0.0.0.0 for all of them";
  }
  if (error == errc::permission_denied && is_of_system(endpoint)) {
    return "ports below 1024 need the capability CAP_NET_BIND_SERVICE; choose another port with --listen";
  }
  if (error == errc::permission_denied) return "this user may not write there; choose another address with --listen";
  if (error == errc::no_such_file_or_directory) return "the folder does not exist; create it";
  if (error == errc::too_many_files_open) return "raise the limit of open files (ulimit -n)";
  return "choose another address with --listen";
}

template <class Protocol>
std::unique_ptr<HttpListener> listen_on(net::io_context& io, const typename Protocol::endpoint& endpoint,
                                        const std::string& address) {
  error_code error;
  typename Protocol::acceptor acceptor(io);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  check(!error, "server: cannot listen on {}: {}; {}", address, error.message(), remedy_of(error, endpoint));
  return std::make_unique<Listener<Protocol>>(std::move(acceptor));
}

/// Removes the socket file of a server that has ended.
void remove_dead_socket(net::io_context& io, const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  error_code error;
  Local::socket probe(io);
  probe.connect(Local::endpoint(path), error);
  if (error == net::error::connection_refused) ::unlink(path.c_str());
}

std::unique_ptr<HttpListener> listen_on_unix(net::io_context& io, const std::string& address) {
  const std::string path = address.substr(kUnixPrefix.size());
  const std::size_t longest = Local::endpoint().capacity() - sizeof(sa_family_t) - 1;
  check(!path.empty() && path.size() <= longest, "server: listen is {}, needs a path of 1 to {} bytes", quote(address),
        longest);
  remove_dead_socket(io, path);
  return listen_on<Local>(io, Local::endpoint(path), address);
}

std::unique_ptr<HttpListener> listen_on_tcp(net::io_context& io, const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::uint16_t port = 0;
  const bool has_port =
      colon != std::string::npos && parse_number(address.substr(colon + 1), at_least(0).at_most(65535), port);
  std::string host = address.substr(0, has_port ? colon : 0);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  check(has_port && !host.empty(), "server: listen is {}, needs ADDRESS:PORT, [IPV6]:PORT or unix:PATH",
        quote(address));
  error_code error;
  const auto found = tcp::resolver(io).resolve(host, std::to_string(port), error);
  check(!error && !found.empty(),
        "server: listen is {}, whose address is not found: {}; choose 127.0.0.1, or "
        "another address of this machine",
        quote(address), error.message());
  return listen_on<tcp>(io, found.begin()->endpoint(), address);
}

template <class Protocol>
std::unique_ptr<HttpListener> adopt(net::io_context& io, const Protocol& protocol, int socket) {
  typename Protocol::acceptor acceptor(io);
  error_code error;
  acceptor.assign(protocol, socket, error);
  check(!error, "server: socket {} cannot be used: {}", socket, error.message());
  return std::make_unique<Listener<Protocol>>(std::move(acceptor));
}

std::unique_ptr<HttpListener> adopt_socket(net::io_context& io, int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  int is_listening = 0;
  socklen_t option_size = sizeof(is_listening);
  const bool is_known = ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                        ::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &option_size) == 0;
  check(is_known && is_listening != 0, "server: descriptor {} is no listening socket, needs one", socket);
  if (address.ss_family == AF_UNIX) return adopt(io, Local(), socket);
  return adopt(io, address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), socket);
}

}  // namespace

std::unique_ptr<HttpListener> listen(net::io_context& io, const std::string& address, int socket) {
  if (socket != -1) return adopt_socket(io, socket);
  return address.starts_with(kUnixPrefix) ? listen_on_unix(io, address) : listen_on_tcp(io, address);
}

}  // namespace edgewise
