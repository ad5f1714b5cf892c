#include "tests/e2e/audit_log.hpp"

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

// Writes to pods, and everything that is forbidden, one line each when it is done.
constexpr const char* kPolicy = R"(apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- level: Metadata
  userGroups: ["system:authenticated"]
  verbs: [create, update, patch, delete, deletecollection]
  resources: [{group: "", resources: [pods, "pods/*"]}]
- level: Metadata
  users: [plimsoll-limited]
- level: None
)";

template <typename Each>
void for_records(const std::filesystem::path& file, std::size_t from, const Each& each) {
  std::ifstream log(file);
  log.seekg(static_cast<std::streamoff>(from));
  for (std::string line; std::getline(log, line);) {
    if (log.eof()) return;  // still being written
    each(line);
  }
}

int code_of(const json& record) {
  return record.value(json::json_pointer("/responseStatus/code"), 0);
}
bool succeeded(const json& record) {
  return code_of(record) >= 200 && code_of(record) < 300;
}
// The client went away, or the server did.
bool lost(const json& record) {
  return code_of(record) == 0 || code_of(record) == 499 || code_of(record) >= 500;
}

// "2026-01-31T12:00:00.123456Z", as the API server writes it.
std::chrono::system_clock::time_point time_of(const json& record, const char* field) {
  const std::string text = record.value(field, "");
  std::tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || *rest != '.') throw std::runtime_error("no time in " + record.dump());
  return std::chrono::system_clock::from_time_t(timegm(&parts)) +
         std::chrono::microseconds(std::stoi(std::string(rest + 1, 6)));
}

}  // namespace

AuditLog::AuditLog(const std::filesystem::path& folder)
    : policy_(folder / "audit-policy.yaml"), log_(folder / "audit.log") {
  if (const auto written = write_file(policy_, kPolicy); !written) {
    throw std::runtime_error(written.error().message);
  }
}

std::vector<std::string> AuditLog::flags() const {
  // In MiB: the usual 100 would begin a new file in a long run, and what is read is one.
  return {"--audit-policy-file=" + policy_.string(), "--audit-log-path=" + log_.string(),
          "--audit-log-maxsize=10000"};
}

std::map<std::string, PodWrites> AuditLog::pod_writes(const std::string& user) const {
  std::map<std::string, PodWrites> pods;
  for_records(log_, 0, [&](const std::string& line) {
    const json record = json::parse(line);
    const json& object = record["objectRef"];
    if (record["user"]["username"] != user || object.value("resource", "") != "pods") return;
    static const std::set<std::string> kReads{"get", "list", "watch"};
    if (kReads.contains(record["verb"].get<std::string>())) return;
    PodWrites& writes = pods[object.value("namespace", "") + "/" + object.value("name", "")];
    const std::string part = object.value("subresource", "");
    if (part == "binding") {
      ++(succeeded(record) ? writes.bound
         : lost(record)    ? writes.lost_binds
                           : writes.refused_binds);
    } else if (part == "status" && record["verb"] == "patch") {
      ++writes.status_patches;
    } else {
      ++writes.others;
    }
  });
  return pods;
}

int AuditLog::bindings() {
  for_records(log_, counted_bytes_, [&](const std::string& line) {
    counted_bytes_ += line.size() + 1;
    if (line.find("\"subresource\":\"binding\"") == std::string::npos) return;
    if (succeeded(json::parse(line))) ++bindings_;
  });
  return bindings_;
}

std::map<std::string, PodTimes> AuditLog::pod_times() const {
  std::map<std::string, PodTimes> times;
  for_records(log_, 0, [&](const std::string& line) {
    const json record = json::parse(line);
    const json& object = record["objectRef"];
    const std::string part = object.value("subresource", "");
    const bool about_one = object.value("resource", "") == "pods" && record["verb"] == "create";
    if (!about_one || !succeeded(record)) return;
    PodTimes& of = times[object.value("namespace", "") + "/" + object.value("name", "")];
    if (part.empty()) of.create = time_of(record, "requestReceivedTimestamp");
    if (part != "binding") return;
    of.binding = time_of(record, "requestReceivedTimestamp");
    of.bound = time_of(record, "stageTimestamp");
  });
  return times;
}

std::vector<std::string> AuditLog::forbidden(const std::string& user) const {
  std::set<std::string> all;
  for_records(log_, 0, [&](const std::string& line) {
    const json record = json::parse(line);
    if (record["user"]["username"] != user) return;
    if (code_of(record) != 403) return;
    all.insert(record["verb"].get<std::string>() + " " + record["requestURI"].get<std::string>());
  });
  return {all.begin(), all.end()};
}

}  // namespace plimsoll::test
