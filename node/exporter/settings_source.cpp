#include "node/exporter/settings_source.hpp"

#include "config/text/yaml_document.hpp"
#include "informer/http/kubeconfig.hpp"
#include "node/kubelet/json_at.hpp"
#include "node/kubelet/settings.hpp"

namespace plimsoll::node {

namespace {

// Calls `parse` with a file's YAML as JSON.
template <typename Parse>
auto parse_yaml(const std::filesystem::path& file, const std::string& text, const Parse& parse)
    -> decltype(parse("")) {
  const config::ParsedText parsed = config::parse_single_document(text);
  if (!parsed.problems.empty()) {
    return fail(ErrorCode::kInvalid, config::to_string(parsed.problems.front(), file.string()));
  }
  auto read = parse(parsed.documents.empty() ? "{}" : config::to_json(parsed.documents.front()));
  if (!read) return fail(read.error().within(file.string()));
  return read;
}

}  // namespace

Result<KubeletSettings> settings_from_file(const std::filesystem::path& file) {
  auto text = informer::read_file(file, "the kubelet's configuration");
  if (!text) {
    return fail(
        text.error().code,
        text.error().message + "; name the file, or ask the kubelet itself, by --kubelet-config");
  }
  return parse_yaml(file, *text, parse_settings);
}

Result<std::vector<TypeRule>> type_rules_from_file(const std::filesystem::path& file) {
  auto text = informer::read_file(file, "--device-types");
  if (!text) return fail(text.error());
  return parse_yaml(file, *text, parse_type_rules);
}

Result<std::set<std::string>> cdi_names_from_file(const std::filesystem::path& file) {
  using Names = std::set<std::string>;
  auto text = informer::read_file(file, "a CDI file");
  if (!text) return fail(text.error());
  return parse_yaml(file, *text, [](std::string_view json) {
    return read_json<Names>(json, [](const At& at, Names& names) {
      const std::string kind = at["kind"].text();
      at["devices"].elements(
          [&](const At& device) { names.insert(kind + "=" + device["name"].text()); });
    });
  });
}

Result<KubeletSettings> settings_from_server(informer::HttpClient& client, const std::string& path,
                                             const std::stop_token& stop) {
  informer::HttpRequest request;
  request.path = path;
  const std::string what =
      "asking the kubelet for its settings (" + client.access().server + path + ")";
  const auto answer = informer::call(client, std::move(request), stop);
  if (!answer) return fail(answer.error().within(what));
  if (!answer->ok()) return fail(informer::response_error(what, *answer));
  auto settings = parse_settings(answer->body);
  if (!settings) return fail(settings.error().within(what));
  return settings;
}

}  // namespace plimsoll::node
