#include "fuzz/seeds.hpp"

#include <elf.h>
#include <plimsoll/note.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "config/manifest.hpp"
#include "config/text/value.hpp"
#include "config/text/yaml_document.hpp"
#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/requests/device_hints.hpp"
#include "tests/api/protobuf_encode.hpp"
#include "tests/conformance/vector_file.hpp"
#include "tests/informer/protobuf_bytes.hpp"

namespace plimsoll::fuzz {
namespace {

using nlohmann::json;
using Seeds = std::map<std::string, std::set<std::string>>;

// Limits for the seeds: enough to start with, and no text so long that mutating it is slow.
constexpr std::size_t kMostOfTarget = 150;
constexpr std::size_t kLongest = 8000;

void add(Seeds& out, const std::string& target, std::string input) {
  std::set<std::string>& inputs = out[target];
  if (inputs.size() < kMostOfTarget && input.size() <= kLongest) inputs.insert(std::move(input));
}

std::vector<std::string> files(const std::string& folder) {
  std::vector<std::string> paths;
  if (!std::filesystem::exists(folder)) return paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string text_of(const std::string& path) {
  auto text = config::read_text_file(path);
  if (!text) throw std::runtime_error(text.error().message);
  return *std::move(text);
}

void from_tree(Seeds& out) {
  for (const std::string folder : {"fuzz/seeds", "fuzz/found"}) {
    for (const std::string& path : files(folder)) {
      const std::string target = std::filesystem::path(path).parent_path().filename();
      out[target].insert(text_of(path));
    }
  }
}

void protobuf_of(Seeds& out, const std::string& target, const json& object,
                 const ProtoMessage& message) {
  try {
    add(out, target, plimsoll::test::encode_protobuf(object, message));
  } catch (const std::exception&) {
    // Some JSON fields accept a number as a text; protobuf cannot.
  }
}

void annotations_of(Seeds& out, const json& pod) {
  const json annotations = pod.value("/metadata/annotations"_json_pointer, json::object());
  const auto text = [&](std::string_view name) {
    return annotations.value(std::string(name), std::string());
  };
  const std::string hints = text(devices::kHintAnnotation) + '~' + text(devices::kJointAnnotation) +
                            '~' + text(devices::kPartitionAnnotation);
  if (hints.size() > 2) add(out, "device_hints", hints);
  if (const std::string given = text(devices::kAllocatedAnnotation); !given.empty()) {
    add(out, "allocation", given);
  }
}

// Finds every Kubernetes object in a test vector.
void objects_of(Seeds& out, const json& value) {
  if (value.is_object() && value.contains("metadata")) {
    const json kind = value.value("kind", json());
    if (kind == "Pod") {
      add(out, "pod_json", value.dump());
      protobuf_of(out, "pod_protobuf", value, kPodMessage);
      annotations_of(out, value);
    } else if (kind == "Node") {
      add(out, "node_json", value.dump());
      protobuf_of(out, "node_protobuf", value, kNodeMessage);
    } else if (kind == "NodeResourceTopology") {
      add(out, "nrt", value.dump());
    } else if (kind == "Device") {
      add(out, "device_object", value.dump());
    }
    return;
  }
  if (!value.is_structured()) return;
  for (const auto& [key, child] : value.items()) {
    if (key == "args" || key == "fitArgs" || key == "balancedArgs") {
      add(out, "plugin_args", child.dump());
    } else if (key == "selector" || key == "nodeSelector") {
      add(out, "selectors", child.dump());
    } else {
      objects_of(out, child);
    }
  }
}

void from_vectors(Seeds& out) {
  const auto each = [](const std::string& kind, std::size_t step, const auto& use) {
    std::size_t line_number = 0;
    const auto read = conformance::for_each_line(
        std::string(PLIMSOLL_VECTORS) + '/' + kind + ".jsonl.gz", [&](std::string_view line) {
          if (line_number++ % step == 0) use(json::parse(line));
          return true;
        });
    if (!read) throw std::runtime_error(read.error().message);
  };
  for (const char* kind : {"device", "qos_requests", "selectors", "queue", "nrt_filter", "fit"}) {
    each(kind, 47, [&](const json& vector) {
      objects_of(out, vector);
      if (vector.value("kind", "") == "string") add(out, "selectors", vector["in"]);
    });
  }
  each("volumes", 29, [&](const json& vector) {
    for (const char* kind : {"pvs", "pvcs", "storageClasses", "csiNodes", "csiDrivers",
                             "csiStorageCapacities", "volumeAttachments"}) {
      if (!vector.contains(kind) || vector[kind].empty()) continue;
      add(out, "storage_object", vector[kind].front().dump());
    }
    if (vector.contains("translate") && vector["translate"].contains("pv")) {
      add(out, "storage_object", vector["translate"]["pv"].dump());
    }
  });
  for (const char* kind : {"spread_affinity", "preempt"}) {
    each(kind, 31, [&](const json& vector) {
      for (const char* list : {"namespaces", "services", "replicaSets", "pdbs"}) {
        if (!vector.contains(list) || vector[list].empty()) continue;
        add(out, "decoded_kind", vector[list].front().dump());
      }
    });
  }
  each("cel", 13, [&](const json& vector) { add(out, "claim_selector", vector["expression"]); });
  each("quantity", 11, [&](const json& vector) {
    if (vector.contains("in")) add(out, "quantity", vector["in"]);
    if (vector.contains("json")) add(out, "quantity", vector["json"]);
    if (vector.contains("a")) {
      add(out, "quantity", vector["a"].get<std::string>() + '~' + vector["b"].get<std::string>());
    }
  });
}

void args_in(Seeds& out, const config::Value& value) {
  for (const config::Member& member : value.members) {
    if (member.key == "args") add(out, "plugin_args", to_json(member.value));
    args_in(out, member.value);
  }
  for (const config::Value& item : value.items) args_in(out, item);
}

void from_fixtures(Seeds& out) {
  for (const std::string folder : {"examples/profiles", "tests/config/broken"}) {
    for (const std::string& path : files(folder)) {
      if (path.ends_with(".expected")) continue;
      const std::string text = text_of(path);
      add(out, "profile", text);
      for (const config::Value& value : config::parse_documents(text).documents) {
        args_in(out, value);
        add(out, "profile", to_json(value));
      }
    }
  }
  for (const std::string folder : {"examples/clusters", "tests/cli/explain", "deploy"}) {
    for (const std::string& path : files(folder)) {
      if (!path.ends_with(".yaml")) continue;
      const std::string text = text_of(path);
      add(out, "manifest", text);
      for (const config::Value& value : config::parse_documents(text).documents) {
        objects_of(out, json::parse(to_json(value)));
      }
    }
  }
}

void streams(Seeds& out) {
  using namespace informer::protobuf_bytes;
  const std::string whole =
      plimsoll::test::encode_protobuf(plimsoll::test::whole_pod(), kPodMessage);
  add(out, "pod_json", plimsoll::test::whole_pod().dump());
  add(out, "pod_protobuf", whole);
  for (const char first : {'\0', '\5', '\77'}) {
    const std::string byte(1, first);
    add(out, "wire_protobuf", byte + list({pod("a", "1"), pod("b", "2"), whole}, "7", "more"));
    add(out, "wire_protobuf", byte + list({}));
    add(out, "wire_protobuf", byte + frame("ADDED", whole) + frame("MODIFIED", pod("b", "2")));
    add(out, "wire_protobuf", byte + frame("BOOKMARK", pod("", "9", true)));
    add(out, "wire_protobuf", byte + frame("ERROR", envelope(std::string("\x1a\4gone", 6))));
    for (const std::string& item :
         {plimsoll::test::whole_pod().dump(), std::string(R"({"metadata":{}})")}) {
      const std::string meta = R"("metadata":{"resourceVersion":"7","continue":"more"})";
      add(out, "wire_json",
          byte + R"({"kind":"PodList",)" + meta + R"(,"items":[)" + item + ", " + item + "]}");
      add(out, "wire_json",
          byte + R"({"type":"ADDED","object":)" + item + "}\n" + R"({"object":)" + item +
              R"(,"type":"DELETED"})" + "\r\n");
    }
  }
}

// The smallest valid plugin file.
void plugin_file(Seeds& out) {
  static constexpr auto kNote =
      sdk::detail::elf_note("Example", "1.0.0", "Apache-2.0", 0, PLIMSOLL_CAPABILITY_STATED);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr note{};
  note.p_type = PT_NOTE;
  note.p_offset = sizeof header + 2 * sizeof note;
  note.p_filesz = sizeof kNote;
  note.p_align = 4;
  Elf64_Phdr load = note;
  load.p_type = PT_LOAD;
  const auto bytes = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const std::string file = bytes(header) + bytes(note) + bytes(load) + bytes(kNote);
  add(out, "elf_note", file);
  add(out, "elf_note", file.substr(0, file.size() - 1));
}

}  // namespace

std::map<std::string, std::set<std::string>> seeds() {
  Seeds out;
  from_tree(out);
  streams(out);
  plugin_file(out);
  from_fixtures(out);
  from_vectors(out);
  return out;
}

}  // namespace plimsoll::fuzz
