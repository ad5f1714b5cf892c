#include "bench/workloads/objects.hpp"

#include <cstdio>
#include <functional>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/objects/kinds.hpp"

namespace plimsoll::bench {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

uint64_t mixed(uint64_t value) {  // splitmix64
  value += kGolden;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Like an API server's: 36 characters in random order.
std::string uid_of(const std::string& name) {
  const uint64_t high = mixed(std::hash<std::string>()(name));
  const uint64_t low = mixed(high);
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-a%03x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xfff), static_cast<unsigned>(low >> 48 & 0xfff),
                static_cast<unsigned long long>(low & 0xffffffffffff));
  return text;
}

std::string with_number(std::string text, size_t number) {
  constexpr std::string_view kNumber = "$number";
  for (size_t at = text.find(kNumber); at != text.npos; at = text.find(kNumber, at)) {
    text.replace(at, kNumber.size(), std::to_string(number));
  }
  return text;
}

// Joins {"a":1} and {"b":2} into one object. The keys must differ.
std::string joined(const std::string& object, const std::string& with) {
  if (object == "{}") return with;
  if (with == "{}") return object;
  return object.substr(0, object.size() - 1) + "," + with.substr(1);
}

}  // namespace

ObjectMaker::Made ObjectMaker::next(const std::string& from, const std::string& labels,
                                    const std::string& ns) {
  const ObjectTemplate& of = file_.templates.at(from);
  const bool pod = of.kind == "Pod";
  Made made;
  size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = numbers_[from]++;
  }
  made.name = with_number(of.name.empty() ? from + "-$number" : of.name, number);
  std::string spec = with_number(of.spec, number);
  if (pod) spec = joined(spec, std::string(R"({"schedulerName":")") + kSchedulerName + "\"}");
  const std::string status = pod ? joined(of.status, R"({"phase":"Pending"})") : of.status;
  made.json = R"({"metadata":{"name":")" + made.name + R"(",)" +
              (ns.empty() ? "" : R"("namespace":")" + ns + R"(",)") + R"("uid":")" +
              uid_of(made.name) + R"(","resourceVersion":"1","annotations":)" + of.annotations +
              R"(,"labels":)" +
              joined(with_number(of.labels, number), with_number(labels, number)) + R"(},"spec":)" +
              spec + R"(,"status":)" + status + "}";
  return made;
}

Result<NodeRef> ObjectMaker::node(const std::string& from, const std::string& labels) {
  const Made made = next(from, labels, "");
  auto decoded = decode_node(made.json, symbols_);
  if (!decoded) return fail(decoded.error().within(made.name));
  return std::move(*decoded);
}

RawRef ObjectMaker::object(const std::string& from, const std::string& ns) {
  const ObjectKind* kind = object_kind(file_.templates.at(from).kind);
  const std::string of = kind->in_namespace ? ns : "";
  const Made made = next(from, "{}", of);
  return decoded({std::string(kind->resource), of, made.name, uid_of(made.name), "1", made.json});
}

Result<NewPod> ObjectMaker::pod(const std::string& from, size_t group, const std::string& ns) {
  Made made = next(from, "{}", ns);
  auto decoded = decode_pod(made.json, symbols_);
  if (!decoded) return fail(decoded.error().within(made.name));
  return NewPod{std::move(*decoded), std::move(made.json), group};
}

}  // namespace plimsoll::bench
