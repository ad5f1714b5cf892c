#include "config/print.hpp"

#include <plimsoll/duration.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "config/text/fields.hpp"
#include "config/text/json_text.hpp"
#include "config/text/yaml_scalar.hpp"

namespace plimsoll::config {
namespace {

using Texts = std::map<std::string, std::string>;

// Whether a word without quotes is read as the same string.
bool is_plain(std::string_view text) {
  Problems problems;
  if (text.empty() || !type_plain_scalar(text, {}, problems).is_string() || !problems.empty()) {
    return false;
  }
  const auto safe = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
           c == '/';
  };
  return std::all_of(text.begin(), text.end(), safe) && text.front() != '-' && text.front() != '.';
}

std::string scalar(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_string() && !is_plain(value.text)) return to_json(value);  // JSON strings are YAML
  if (value.is_sequence()) return "[]";
  if (value.is_mapping()) return "{}";
  return value.text;
}

std::string key_text(const std::string& key) {
  return is_plain(key) ? key : to_json(Value::string(key));
}

bool is_block(const Value& value) {
  return !value.items.empty() || !value.members.empty();
}

void append_yaml(const Value& value, const std::string& indent, std::string& out) {
  for (const Member& member : value.members) {
    out += indent + key_text(member.key) + ':';
    if (is_block(member.value)) {
      out += '\n';
      append_yaml(member.value, indent + (member.value.is_mapping() ? "  " : ""), out);
    } else {
      out += ' ' + scalar(member.value) + '\n';
    }
  }
  for (const Value& item : value.items) {
    if (!is_block(item)) {
      out += indent + "- " + scalar(item) + '\n';
      continue;
    }
    const std::size_t begin = out.size();
    append_yaml(item, indent + "  ", out);
    out[begin + indent.size()] = '-';  // the dash goes into the first line's indentation
  }
}

Value number(double value) {
  if (value == static_cast<double>(static_cast<std::int64_t>(value))) {
    return Value::integer(static_cast<std::int64_t>(value));
  }
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value);
  Value out;
  out.kind = Value::Kind::kFloat;
  out.text.assign(text, end.ptr);
  return out;
}

Value duration(std::chrono::nanoseconds value) {
  return Value::string(sdk::format_duration(value));
}

Value client_connection(const ClientConnection& client) {
  Value out = Value::mapping();
  out.set("acceptContentTypes", Value::string(client.accept_content_types));
  out.set("burst", Value::integer(client.burst));
  out.set("contentType", Value::string(client.content_type));
  out.set("kubeconfig", Value::string(client.kubeconfig));
  out.set("qps", number(client.qps));
  return out;
}

Value leader_election(const LeaderElection& election) {
  Value out = Value::mapping();
  out.set("leaderElect", Value::boolean(election.leader_elect));
  out.set("leaseDuration", duration(election.lease_duration));
  out.set("renewDeadline", duration(election.renew_deadline));
  out.set("resourceLock", Value::string(election.resource_lock));
  out.set("resourceName", Value::string(election.resource_name));
  out.set("resourceNamespace", Value::string(election.resource_namespace));
  out.set("retryPeriod", duration(election.retry_period));
  return out;
}

Value all_disabled() {
  return Value::sequence().add(Value::mapping().set("name", Value::string("*")));
}

Value plugin_set(const std::vector<PluginEntry>& plugins, bool with_weight) {
  Value enabled = Value::sequence();
  for (const PluginEntry& plugin : plugins) {
    Value entry = Value::mapping();
    entry.set("name", Value::string(plugin.name));
    if (with_weight) entry.set("weight", Value::integer(plugin.weight));
    enabled.add(std::move(entry));
  }
  Value out = Value::mapping();
  out.set("disabled", all_disabled());
  if (!enabled.items.empty()) out.set("enabled", std::move(enabled));
  return out;
}

// What is given over the defaults. An empty list, like null, says nothing in Kubernetes.
Value over(Value defaults, const Value& given) {
  if (given.is_null() || (given.is_sequence() && given.items.empty() && defaults.is_sequence())) {
    return defaults;
  }
  if (!given.is_mapping() || !defaults.is_mapping()) return given;
  for (Member& usual : defaults.members) {
    if (const Value* said = given.find(usual.key)) usual.value = over(usual.value, *said);
  }
  for (const Member& said : given.members) {
    if (defaults.find(said.key) == nullptr) defaults.members.push_back(said);
  }
  return defaults;
}

Value plugin_config(const Texts& args, const Texts& default_args) {
  Value out = Value::sequence();
  for (const auto& [name, json] : args) {
    Problem problem;
    std::optional<Value> value = parse_json(json, problem);
    if (!value) continue;
    const auto defaults = default_args.find(name);
    if (defaults != default_args.end()) {
      value = over(parse_json(defaults->second, problem).value_or(Value::mapping()), *value);
    }
    if (value->members.empty()) continue;
    out.add(Value::mapping().set("name", Value::string(name)).set("args", std::move(*value)));
  }
  return out;
}

// Plugins that exist but run at no extension point.
std::vector<PluginEntry> at_no_point(const ProfileSpec& profile) {
  std::vector<PluginEntry> out;
  for (const std::string& name : profile.plugins) {
    const bool runs = std::any_of(
        profile.points.values.begin(), profile.points.values.end(), [&](const auto& plugins) {
          return std::any_of(plugins.begin(), plugins.end(),
                             [&](const PluginEntry& plugin) { return plugin.name == name; });
        });
    if (!runs && !is_in_every_profile(name)) out.push_back({name});
  }
  std::sort(out.begin(), out.end(),
            [](const PluginEntry& a, const PluginEntry& b) { return a.name < b.name; });
  return out;
}

Value effective_profile(const ProfileSpec& profile, std::optional<std::int32_t> percentage,
                        const Texts& default_args) {
  Value plugins = Value::mapping();
  plugins.set("multiPoint", plugin_set(at_no_point(profile), false));
  for (const ExtensionPoint point : all_extension_points()) {
    plugins.set(std::string(field_name(point)),
                plugin_set(profile.points[point], point == ExtensionPoint::kScore));
  }
  Value out = Value::mapping();
  out.set("schedulerName", Value::string(profile.scheduler_name));
  if (percentage) out.set("percentageOfNodesToScore", Value::integer(*percentage));
  out.set("plugins", std::move(plugins));
  Value args = plugin_config(profile.args, default_args);
  if (!args.items.empty()) out.set("pluginConfig", std::move(args));
  return out;
}

// Without the texts of certificates and keys.
Value extender(const ExtenderSpec& spec) {
  Value out = Value::mapping();
  const auto text = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out.set(name, Value::string(value));
  };
  text("urlPrefix", spec.url_prefix);
  text("filterVerb", spec.filter_verb);
  text("preemptVerb", spec.preempt_verb);
  text("prioritizeVerb", spec.prioritize_verb);
  out.set("weight", Value::integer(spec.weight));
  text("bindVerb", spec.bind_verb);
  out.set("enableHTTPS", Value::boolean(spec.enable_https));
  if (spec.tls.given) {
    Value tls = Value::mapping();
    tls.set("insecure", Value::boolean(spec.tls.insecure));
    tls.set("serverName", Value::string(spec.tls.server_name));
    tls.set("certFile", Value::string(spec.tls.cert_file));
    tls.set("keyFile", Value::string(spec.tls.key_file));
    tls.set("caFile", Value::string(spec.tls.ca_file));
    out.set("tlsConfig", std::move(tls));
  }
  text("httpTimeout", sdk::format_duration(spec.timeout));
  out.set("nodeCacheCapable", Value::boolean(spec.node_cache_capable));
  out.set("ignorable", Value::boolean(spec.ignorable));
  Value managed = Value::sequence();
  for (const auto& resource : spec.managed_resources) {
    managed.add(Value::mapping()
                    .set("name", Value::string(resource.name))
                    .set("ignoredByScheduler", Value::boolean(resource.ignored_by_scheduler)));
  }
  if (!managed.items.empty()) out.set("managedResources", std::move(managed));
  return out;
}

Value effective_value(const SchedulerConfig& config, const std::vector<ProfileSpec>& profiles,
                      const Texts& default_args) {
  Value out = Value::mapping();
  out.set("apiVersion", Value::string(std::string(kConfigApiVersion)));
  out.set("kind", Value::string(std::string(kConfigKind)));
  out.set("parallelism", Value::integer(config.parallelism));
  out.set("percentageOfNodesToScore", Value::integer(config.percentage_of_nodes_to_score));
  out.set("podInitialBackoffSeconds", Value::integer(config.pod_initial_backoff_seconds));
  out.set("podMaxBackoffSeconds", Value::integer(config.pod_max_backoff_seconds));
  out.set("enableProfiling", Value::boolean(config.enable_profiling));
  out.set("enableContentionProfiling", Value::boolean(config.enable_contention_profiling));
  out.set("delayCacheUntilActive", Value::boolean(config.delay_cache_until_active));
  out.set("clientConnection", client_connection(config.client_connection));
  out.set("leaderElection", leader_election(config.leader_election));
  Value list = Value::sequence();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    std::optional<std::int32_t> percentage;
    if (i < config.profiles.size()) percentage = config.profiles[i].percentage_of_nodes_to_score;
    list.add(effective_profile(profiles[i], percentage, default_args));
  }
  out.set("profiles", std::move(list));
  if (config.extenders.empty()) return out;
  Value extenders = Value::sequence();
  for (const ExtenderSpec& each : config.extenders) extenders.add(extender(each));
  out.set("extenders", std::move(extenders));
  return out;
}

}  // namespace

std::string to_yaml(const Value& value, int indent) {
  std::string out;
  const std::string spaces(static_cast<std::size_t>(indent), ' ');
  if (is_block(value)) {
    append_yaml(value, spaces, out);
  } else {
    out = spaces + scalar(value) + '\n';
  }
  return out;
}

std::string print_effective(const SchedulerConfig& config, const std::vector<ProfileSpec>& profiles,
                            const Texts& default_args) {
  return to_yaml(effective_value(config, profiles, default_args));
}

std::string effective_json(const SchedulerConfig& config, const std::vector<ProfileSpec>& profiles,
                           const Texts& default_args) {
  return to_json(effective_value(config, profiles, default_args));
}

}  // namespace plimsoll::config
