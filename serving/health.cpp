#include "serving/health.hpp"

#include <set>

#include "framework/base/log.hpp"

namespace plimsoll::serving {

HealthCheck ping() {
  return {"ping", [] { return std::nullopt; }};
}

std::optional<Response> HealthEndpoint::answer(const Request& request) const {
  const std::string path = "/" + name_;
  const bool whole = request.path == path || request.path == path + "/";
  if (!whole && !request.path.starts_with(path + "/")) return std::nullopt;
  if (request.method != "GET") return Response{405, "only GET\n"};
  if (whole) return all(request);
  const std::string name = request.path.substr(path.size() + 1);
  for (const HealthCheck& check : checks_) {
    if (check.name != name) continue;
    if (const auto wrong = check.check()) {
      return Response{500, "internal server error: " + *wrong + "\n"};
    }
    return Response{200, "ok"};
  }
  return Response{404, "404 page not found\n"};
}

Response HealthEndpoint::all(const Request& request) const {
  const auto names = request.parameters("exclude");
  std::set<std::string> excluded(names.begin(), names.end());
  std::string list;
  bool failed = false;
  for (const HealthCheck& check : checks_) {
    if (excluded.erase(check.name) != 0) {
      list += "[+]" + check.name + " excluded: ok\n";
    } else if (const auto wrong = check.check()) {
      failed = true;
      list += "[-]" + check.name + " failed: reason withheld\n";
      log_debug("a health check fails",
                {{"endpoint", name_}, {"check", check.name}, {"reason", *wrong}});
    } else {
      list += "[+]" + check.name + " ok\n";
    }
  }
  if (!excluded.empty()) {
    std::string quoted;
    for (const std::string& name : excluded) {
      if (!quoted.empty()) quoted += ',';
      quoted += '"' + name + '"';
    }
    list += "warn: some health checks cannot be excluded: no matches for " + quoted + "\n";
  }
  if (failed) return {500, list + name_ + " check failed\n"};
  if (!request.has("verbose")) return {200, "ok"};
  return {200, list + name_ + " check passed\n"};
}

}  // namespace plimsoll::serving
