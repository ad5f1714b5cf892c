#pragma once
// Which requests a server answers that asks nobody who he is.
//
// A web page can let a name of its own stand for 127.0.0.1 ("DNS rebinding"). The browser on this
// machine then asks us in the page's stead, and the page reads the answer. The header Host gives it
// away: it has the page's name.

#include <string>
#include <string_view>

#include "serving/http_server.hpp"

namespace plimsoll::serving {

// Whether the header Host names this machine's loopback: localhost, 127.0.0.0/8, ::1; with a port
// or without.
[[nodiscard]] bool is_local_name(std::string_view host);

// As a Gate: /configz and what lies below /debug/ are 403 under any other name. Probes and metrics
// are answered under all: proxies ask for them with the names that they were asked with.
void require_local_name(const Request& request, const Reply& done);

// As a Gate of a server on a local socket: only the user whom this process runs as, and root, are
// answered.
void require_own_user(const Request& request, const Reply& done);

}  // namespace plimsoll::serving
