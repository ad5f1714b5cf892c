#include "tests/e2e/audit_log.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

// Writes to pods, and everything that the users do whose rights tests look at, one line each when
// it is done or, of a watch, begun.
constexpr const char* kPolicy = R"(apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: Metadata
  userGroups: ["system:authenticated"]
  verbs: [create, update, patch, delete, deletecollection]
  resources: [{group: "", resources: [pods, "pods/*"]}]
- level: Metadata
  users: [plimsoll-limited]
- level: Metadata
  userGroups: ["system:serviceaccounts"]
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

std::string right_of(const json& record) {
  const json object = record.value("objectRef", json::object());
  const std::string group = object.value("apiGroup", "");
  const std::string part = object.value("subresource", "");
  return record["verb"].get<std::string>() + " " + object.value("resource", "") +
         (group.empty() ? "" : "." + group) + (part.empty() ? "" : "/" + part);
}

PodTimes::Time time_of(const json& record, const char* field) {
  return utc_time(record.value(field, ""));
}

}  // namespace

PodTimes::Time utc_time(const std::string& text) {
  std::tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || *rest != '.') throw std::runtime_error("no time: " + text);
  std::string digits(rest + 1);
  digits.resize(std::min(digits.size(), digits.find_first_not_of("0123456789")));
  digits.resize(6, '0');
  return std::chrono::system_clock::from_time_t(timegm(&parts)) +
         std::chrono::microseconds(std::stoi(digits));
}

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

std::vector<BindingRecord> AuditLog::binding_records() const {
  std::vector<BindingRecord> records;
  for_records(log_, 0, [&](const std::string& line) {
    if (line.find("\"subresource\":\"binding\"") == std::string::npos) return;
    const json record = json::parse(line);
    const json& object = record["objectRef"];
    records.push_back({object.value("namespace", "") + "/" + object.value("name", ""),
                       time_of(record, "requestReceivedTimestamp"),
                       time_of(record, "stageTimestamp"),
                       succeeded(record) ? BindingRecord::End::kDone
                       : lost(record)    ? BindingRecord::End::kLost
                                         : BindingRecord::End::kRefused});
  });
  std::ranges::stable_sort(records, {}, &BindingRecord::received);
  return records;
}

std::set<std::string> AuditLog::forbidden(const std::string& user, std::size_t from) const {
  return rights(user, from, false);
}

std::set<std::string> AuditLog::used(const std::string& user, std::size_t from) const {
  return rights(user, from, true);
}

std::size_t AuditLog::size() const {
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(log_, missing);
  return missing ? 0 : bytes;
}

std::set<std::string> AuditLog::rights(const std::string& user, std::size_t from,
                                       bool granted) const {
  std::set<std::string> all;
  for_records(log_, from, [&](const std::string& line) {
    if (line.find(user) == line.npos) return;
    const json record = json::parse(line, nullptr, false);
    if (record.is_discarded() || record["user"]["username"] != user) return;
    if ((code_of(record) != 403) == granted) all.insert(right_of(record));
  });
  return all;
}

}  // namespace plimsoll::test
