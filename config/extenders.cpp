#include "config/extenders.hpp"

#include <algorithm>
#include <optional>
#include <plimsoll/resource_names.hpp>
#include <set>
#include <utility>

#include "config/text/json_text.hpp"
#include "framework/api/selectors.hpp"

namespace plimsoll::config {
namespace {

// IsExtendedResourceName
bool is_extended_resource_name(const std::string& name) {
  return sdk::is_extended_resource(name) && is_label_key("requests." + name);
}

void read_managed_resources(Fields& extender, ExtenderSpec& out, std::set<std::string>& managed,
                            Problems& errors) {
  extender.each("managedResources", [&](const Value& item, const std::string& path) {
    Fields resource(&item, path, errors);
    std::string name;
    bool ignored = false;
    resource.read("name", name);
    resource.read("ignoredByScheduler", ignored);
    resource.finish();
    if (!resource.present()) return;
    if (!is_extended_resource_name(name)) {
      resource.problem("name",
                       invalid_value(go_quoted(name),
                                     "must be an extended resource name, such as example.com/gpu"));
    }
    if (!managed.insert(name).second) {
      resource.problem("name",
                       invalid_value(go_quoted(name), "duplicate extender managed resource name"));
    }
    out.managed_resources.push_back({name, ignored});
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

// Of valid base64.
std::string decoded(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = bits << 6U | static_cast<std::uint32_t>(kDigits.find(digit));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xffU);
  }
  return bytes;
}

void read_tls(const Value* value, const std::string& path, ExtenderTls& out, Problems& errors) {
  Fields tls(value, path, errors);
  out.given = value != nullptr;
  tls.read("insecure", out.insecure);
  tls.read("serverName", out.server_name);
  tls.read("certFile", out.cert_file);
  tls.read("keyFile", out.key_file);
  tls.read("caFile", out.ca_file);
  const std::pair<const char*, std::string*> data[] = {
      {"certData", &out.cert_pem}, {"keyData", &out.key_pem}, {"caData", &out.ca_pem}};
  for (const auto& [name, pem] : data) {
    std::string text;
    if (!tls.read(name, text)) continue;
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });  // as Go's decoder
    if (is_base64(text)) {
      *pem = decoded(text);
    } else {
      tls.problem(name, "expected bytes in base64");
    }
  }
  tls.finish();
}

ExtenderSpec read_extender(const Value& item, const std::string& path,
                           std::set<std::string>& managed, Problems& errors) {
  Fields extender(&item, path, errors);
  ExtenderSpec out;
  std::chrono::nanoseconds timeout{};
  extender.read("urlPrefix", out.url_prefix);
  extender.read("filterVerb", out.filter_verb);
  extender.read("preemptVerb", out.preempt_verb);
  extender.read("prioritizeVerb", out.prioritize_verb);
  extender.read("bindVerb", out.bind_verb);
  extender.read("weight", out.weight);
  extender.read("enableHTTPS", out.enable_https);
  extender.read("nodeCacheCapable", out.node_cache_capable);
  extender.read("ignorable", out.ignorable);
  extender.read("httpTimeout", timeout);
  read_tls(extender.get("tlsConfig"), extender.path("tlsConfig"), out.tls, errors);
  read_managed_resources(extender, out, managed, errors);
  extender.finish();
  if (timeout.count() > 0) {
    out.timeout = std::max(std::chrono::duration_cast<std::chrono::milliseconds>(timeout),
                           std::chrono::milliseconds(1));
  }
  if (!out.prioritize_verb.empty() && out.weight <= 0) {
    extender.problem("weight", invalid_value(std::to_string(out.weight),
                                             "must have a positive weight applied to it"));
  }
  const bool has_scheme =
      out.url_prefix.rfind("http://", 0) == 0 || out.url_prefix.rfind("https://", 0) == 0;
  const std::string wrong =
      invalid_value(go_quoted(out.url_prefix), "must begin with http:// or https://");
  if (extender.present() && !has_scheme) extender.problem("urlPrefix", wrong);
  if (item.is_null()) errors.push_back({child_path(path, "urlPrefix"), item.at, wrong});
  return out;
}

}  // namespace

std::vector<ExtenderSpec> read_extenders(Fields& root, Problems& errors) {
  std::set<std::string> managed;
  std::vector<ExtenderSpec> all;
  root.each("extenders", [&](const Value& item, const std::string& path) {
    all.push_back(read_extender(item, path, managed, errors));
  });
  const auto binders = std::count_if(all.begin(), all.end(),
                                     [](const auto& each) { return !each.bind_verb.empty(); });
  if (binders > 1) {
    root.problem("extenders", invalid_value(go_quoted("found " + std::to_string(binders) +
                                                      " extenders implementing bind"),
                                            "only one extender can implement bind"));
  }
  std::stable_partition(all.begin(), all.end(), [](const auto& each) { return !each.ignorable; });
  return all;
}

std::string with_ignored_resources(const std::string& fit_args_json,
                                   const std::vector<ExtenderSpec>& extenders) {
  Value ignored = Value::sequence();
  for (const ExtenderSpec& extender : extenders) {
    for (const auto& resource : extender.managed_resources) {
      if (resource.ignored_by_scheduler) ignored.add(Value::string(resource.name));
    }
  }
  Problem problem;
  std::optional<Value> args = parse_json(fit_args_json, problem);
  if (ignored.items.empty() || !args) return fit_args_json;
  std::erase_if(args->members,
                [](const Member& member) { return member.key == "ignoredResources"; });
  args->set("ignoredResources", std::move(ignored));
  return to_json(*args);
}

}  // namespace plimsoll::config
