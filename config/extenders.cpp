#include "config/extenders.hpp"

#include <algorithm>
#include <set>

#include "config/field_rules.hpp"

namespace plimsoll::config {
namespace {

void read_managed_resources(Fields& extender, std::set<std::string>& managed, Problems& errors) {
  extender.each("managedResources", [&](const Value& item, const std::string& path) {
    Fields resource(&item, path, errors);
    std::string name;
    bool ignored = false;
    resource.read("name", name);
    resource.read("ignoredByScheduler", ignored);
    resource.finish();
    if (!resource.present()) return;
    const std::vector<std::string> broken = qualified_name_errors(name);
    for (const std::string& error : broken) {
      resource.problem("name", invalid_value(go_quoted(name), error));
    }
    if (broken.empty() && !is_extended_resource_name(name)) {
      resource.problem("name",
                       invalid_value(go_quoted(name), "is an invalid extended resource name"));
    }
    if (!managed.insert(name).second) {
      resource.problem("name",
                       invalid_value(go_quoted(name), "duplicate extender managed resource name"));
    }
  });
}

bool is_base64(std::string_view text) {
  const auto digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  };
  const std::size_t padding = text.size() - std::min(text.find('='), text.size());
  return text.size() % 4 == 0 && padding <= 2 &&
         std::all_of(text.begin(), text.end() - static_cast<std::ptrdiff_t>(padding), digit) &&
         std::all_of(text.end() - static_cast<std::ptrdiff_t>(padding), text.end(),
                     [](char c) { return c == '='; });
}

void read_tls(const Value* value, const std::string& path, Problems& errors) {
  Fields tls(value, path, errors);
  std::string text;
  bool insecure = false;
  tls.read("insecure", insecure);
  for (const char* name : {"serverName", "certFile", "keyFile", "caFile"}) tls.read(name, text);
  for (const char* name : {"certData", "keyData", "caData"}) {
    if (tls.read(name, text) && !is_base64(text)) {
      tls.problem(name, "expected bytes in base64");
    }
  }
  tls.finish();
}

}  // namespace

void read_extenders(Fields& root, Problems& errors) {
  std::set<std::string> managed;
  int binders = 0;
  root.each("extenders", [&](const Value& item, const std::string& path) {
    Fields extender(&item, path, errors);
    std::string text, prioritize, bind;
    std::int64_t weight = 0;
    bool flag = false;
    std::chrono::nanoseconds timeout{};
    for (const char* name : {"urlPrefix", "filterVerb", "preemptVerb"}) extender.read(name, text);
    for (const char* name : {"enableHTTPS", "nodeCacheCapable", "ignorable"}) {
      extender.read(name, flag);
    }
    extender.read("prioritizeVerb", prioritize);
    extender.read("bindVerb", bind);
    extender.read("weight", weight);
    extender.read("httpTimeout", timeout);
    read_tls(extender.get("tlsConfig"), extender.path("tlsConfig"), errors);
    read_managed_resources(extender, managed, errors);
    extender.finish();
    if (!prioritize.empty() && weight <= 0) {
      extender.problem("weight", invalid_value(std::to_string(weight),
                                               "must have a positive weight applied to it"));
    }
    if (!bind.empty()) ++binders;
    errors.push_back({path, item.at,
                      forbidden("HTTP extenders are not supported: write what it does as a plugin, "
                                "or remove it")});
  });
  if (binders > 1) {
    root.problem("extenders", invalid_value(go_quoted("found " + std::to_string(binders) +
                                                      " extenders implementing bind"),
                                            "only one extender can implement bind"));
  }
}

}  // namespace plimsoll::config
