#pragma once
// What an API server sends in protobuf, made by hand.

#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace plimsoll::informer::protobuf_bytes {

inline std::string pod(const std::string& name, const std::string& version,
                       bool end_of_list = false) {
  std::string meta;
  protozero::pbf_writer meta_writer(meta);
  if (!name.empty()) meta_writer.add_string(1, name);
  meta_writer.add_string(3, "shop");
  meta_writer.add_string(5, "u-" + name);
  meta_writer.add_string(6, version);
  if (end_of_list) {
    std::string entry;
    protozero::pbf_writer entry_writer(entry);
    entry_writer.add_string(1, "k8s.io/initial-events-end");
    entry_writer.add_string(2, "true");
    meta_writer.add_message(12, entry);
  }
  std::string message;
  protozero::pbf_writer(message).add_message(1, meta);
  return message;
}

inline std::string envelope(const std::string& raw) {
  std::string type;
  protozero::pbf_writer type_writer(type);
  type_writer.add_string(1, "v1");
  type_writer.add_string(2, "PodList");
  std::string unknown;
  protozero::pbf_writer writer(unknown);
  writer.add_message(1, type);
  writer.add_bytes(2, raw);
  writer.add_string(3, "");
  writer.add_string(4, "");
  return std::string("k8s\0", 4) + unknown;
}

inline std::string list(const std::vector<std::string>& items, const std::string& version = "7",
                        const std::string& more = {}) {
  std::string meta;
  protozero::pbf_writer meta_writer(meta);
  meta_writer.add_string(1, "");
  meta_writer.add_string(2, version);
  meta_writer.add_string(3, more);
  std::string raw;
  protozero::pbf_writer writer(raw);
  writer.add_message(1, meta);
  for (const std::string& item : items) writer.add_message(2, item);
  return envelope(raw);
}

inline std::string frame(const std::string& type, const std::string& object) {
  std::string extension;
  protozero::pbf_writer(extension).add_bytes(1, envelope(object));
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_string(1, type);
  writer.add_message(2, extension);
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(event.size() >> shift & 0xff);
  }
  return bytes + event;
}

}  // namespace plimsoll::informer::protobuf_bytes
