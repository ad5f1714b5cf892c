#include "config/print.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "config/fields.hpp"
#include "config/json_text.hpp"
#include "config/yaml_scalar.hpp"

namespace plimsoll::config {
namespace {

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
  return Value::string(format_duration(value));
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

Value plugin_set(const std::vector<EffectivePlugin>& plugins, bool with_weight) {
  Value enabled = Value::sequence();
  for (const EffectivePlugin& plugin : plugins) {
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

// Sorted by name, so that the text does not depend on the order in the profile.
Value plugin_config(std::vector<PluginArgs> all) {
  std::sort(all.begin(), all.end(),
            [](const PluginArgs& a, const PluginArgs& b) { return a.name < b.name; });
  Value out = Value::sequence();
  for (const PluginArgs& args : all) {
    Problem problem;
    std::optional<Value> value = parse_json(args.json, problem);
    if (!value || value->members.empty()) continue;
    out.add(Value::mapping().set("name", Value::string(args.name)).set("args", std::move(*value)));
  }
  return out;
}

// Plugins that exist but run at no extension point.
std::vector<EffectivePlugin> at_no_point(const EffectiveProfile& profile) {
  std::vector<EffectivePlugin> out;
  for (const std::string& name : profile.plugins) {
    const bool runs = std::any_of(
        profile.points.values.begin(), profile.points.values.end(), [&](const auto& plugins) {
          return std::any_of(plugins.begin(), plugins.end(),
                             [&](const EffectivePlugin& plugin) { return plugin.name == name; });
        });
    if (!runs && !is_in_every_profile(name)) out.push_back({name});
  }
  std::sort(out.begin(), out.end(),
            [](const EffectivePlugin& a, const EffectivePlugin& b) { return a.name < b.name; });
  return out;
}

Value effective_profile(const EffectiveProfile& profile, std::optional<std::int32_t> percentage) {
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
  Value args = plugin_config(profile.args);
  if (!args.items.empty()) out.set("pluginConfig", std::move(args));
  return out;
}

Value effective_value(const SchedulerConfig& config,
                      const std::vector<EffectiveProfile>& profiles) {
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
    list.add(effective_profile(profiles[i], percentage));
  }
  out.set("profiles", std::move(list));
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

std::string print_effective(const SchedulerConfig& config,
                            const std::vector<EffectiveProfile>& profiles) {
  return to_yaml(effective_value(config, profiles));
}

std::string effective_json(const SchedulerConfig& config,
                           const std::vector<EffectiveProfile>& profiles) {
  return to_json(effective_value(config, profiles));
}

}  // namespace plimsoll::config
