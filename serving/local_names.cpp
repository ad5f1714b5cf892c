#include "serving/local_names.hpp"

#include <unistd.h>

#include <algorithm>

#include "framework/base/quote.hpp"
#include "serving/http_session.hpp"

namespace plimsoll::serving {

bool is_local_name(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    const bool whole =
        end != std::string_view::npos && (end + 1 == host.size() || host[end + 1] == ':');
    return whole && is_loopback(std::string(host.substr(1, end - 1)));
  }
  const std::string name = in_small_letters(host.substr(0, host.find(':')));
  return name == "localhost" || is_loopback(name);
}

void require_local_name(const Request& request, const Reply& done) {
  const bool guarded = request.path == "/configz" || request.path.starts_with("/debug");
  if (!guarded || is_local_name(request.host)) return done({});
  done(
      ready({403, "forbidden: this server is asked as localhost or by a loopback address, not as " +
                      go_quoted(request.host) + "\n"}));
}

void require_own_user(const Request& request, const Reply& done) {
  const bool ours =
      request.local_user && (*request.local_user == geteuid() || *request.local_user == 0);
  if (ours) return done({});
  done(ready(
      {403, "forbidden: only the user whom the scheduler runs as, and root, are answered\n"}));
}

}  // namespace plimsoll::serving
