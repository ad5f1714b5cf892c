#include "node/hook/nri_messages.hpp"

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace plimsoll::node::nri {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
constexpr const char* kVersion = "v0.12.5";
constexpr std::int32_t kCreateContainer = 1 << 3;  // CREATE_CONTAINER is event 4
constexpr std::int32_t kRefused = 9;               // FAILED_PRECONDITION

std::string text(pbf_reader& in) {
  const auto view = in.get_view();
  return {view.data(), view.size()};
}

// An entry of a map of texts.
std::pair<std::string, std::string> entry(pbf_reader in) {
  std::pair<std::string, std::string> entry;
  while (in.next()) {
    if (in.tag() == 1) {
      entry.first = text(in);
    } else if (in.tag() == 2) {
      entry.second = text(in);
    } else {
      in.skip();
    }
  }
  return entry;
}

// PodSandbox{id=1, name=2, uid=3, namespace=4, annotations=6}
Pod pod(pbf_reader in) {
  Pod pod;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        pod.id = text(in);
        break;
      case 2:
        pod.name = text(in);
        break;
      case 3:
        pod.uid = text(in);
        break;
      case 4:
        pod.ns = text(in);
        break;
      case 6:
        if (auto [key, value] = entry(in.get_message()); key == kAllocated) pod.allocated = value;
        break;
      default:
        in.skip();
    }
  }
  return pod;
}

// Container{id=1, pod_sandbox_id=2, name=3, annotations=6}
Container container(pbf_reader in) {
  Container container;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        container.id = text(in);
        break;
      case 2:
        container.pod_id = text(in);
        break;
      case 3:
        container.name = text(in);
        break;
      case 6:
        container.marked = entry(in.get_message()).first == kMark || container.marked;
        break;
      default:
        in.skip();
    }
  }
  return container;
}

template <typename T, typename Read>
Result<T> decode(std::string_view message, const Read& read) {
  try {
    T value;
    pbf_reader in(message.data(), message.size());
    read(in, value);
    return value;
  } catch (const protozero::exception& error) {
    return fail(ErrorCode::kInvalid, std::string("not a message of NRI: ") + error.what());
  }
}

void add_entry(pbf_writer& out, std::uint32_t field, const std::string& key,
               const std::string& value) {
  pbf_writer entry(out, field);
  entry.add_string(1, key);
  entry.add_string(2, value);
}

}  // namespace

std::string encode(const Request& request) {
  std::string out;
  pbf_writer writer(out);
  writer.add_string(1, request.service);
  writer.add_string(2, request.method);
  writer.add_bytes(3, request.payload);
  return out;
}

Result<Request> decode_request(std::string_view message) {
  return decode<Request>(message, [](pbf_reader& in, Request& request) {
    while (in.next()) {
      switch (in.tag()) {
        case 1:
          request.service = text(in);
          break;
        case 2:
          request.method = text(in);
          break;
        case 3:
          request.payload = text(in);
          break;
        default:
          in.skip();
      }
    }
  });
}

std::string encode_response(std::string_view payload) {
  std::string out;
  pbf_writer(out).add_bytes(2, payload.data(), payload.size());
  return out;
}

std::string encode_error(const std::string& text) {
  std::string out;
  {
    pbf_writer writer(out);
    pbf_writer status(writer, 1);
    status.add_int32(1, kRefused);
    status.add_string(2, text);
  }
  return out;
}

Result<void> check_response(std::string_view message) {
  const auto problem = decode<std::string>(message, [](pbf_reader& in, std::string& into) {
    while (in.next(1)) {
      pbf_reader status = in.get_message();
      std::int32_t code = 0;
      std::string said;
      while (status.next()) {
        if (status.tag() == 1) {
          code = status.get_int32();
        } else if (status.tag() == 2) {
          said = text(status);
        } else {
          status.skip();
        }
      }
      if (code != 0) into = said.empty() ? "error " + std::to_string(code) : said;
    }
  });
  if (!problem) return fail(problem.error());
  if (!problem->empty()) return fail(ErrorCode::kUnavailable, *problem);
  return {};
}

std::string encode_registration(const std::string& name, const std::string& index) {
  std::string out;
  pbf_writer writer(out);
  writer.add_string(1, name);
  writer.add_string(2, index);
  writer.add_string(3, kVersion);
  return out;
}

// ConfigureResponse{events=2, failure_policy=3{fail_request=1}}
std::string encode_subscription() {
  std::string out;
  pbf_writer writer(out);
  writer.add_int32(2, kCreateContainer);
  pbf_writer(writer, 3).add_bool(1, true);
  return out;
}

// ConfigureRequest{runtime_name=2, runtime_version=3}
Result<Runtime> decode_runtime(std::string_view message) {
  return decode<Runtime>(message, [](pbf_reader& in, Runtime& runtime) {
    while (in.next()) {
      if (in.tag() == 2) {
        runtime.name = text(in);
      } else if (in.tag() == 3) {
        runtime.version = text(in);
      } else {
        in.skip();
      }
    }
  });
}

Result<NewContainer> decode_new_container(std::string_view message) {
  return decode<NewContainer>(message, [](pbf_reader& in, NewContainer& made) {
    while (in.next()) {
      if (in.tag() == 1) {
        made.pod = pod(in.get_message());
      } else if (in.tag() == 2) {
        made.container = container(in.get_message());
      } else {
        in.skip();
      }
    }
  });
}

// CreateContainerResponse{adjust=1 ContainerAdjustment{annotations=2, mounts=3, env=4,
// linux=6{devices=1}, CDI_devices=8{name=1}}}
std::string encode_adjustment(const PodDevices& devices) {
  std::string out;
  {
    pbf_writer answer(out);
    pbf_writer adjust(answer, 1);
    add_entry(adjust, 2, kMark, "true");
    for (const Mount& each : devices.mounts) {
      pbf_writer mount(adjust, 3);
      mount.add_string(1, each.path);
      mount.add_string(2, "bind");
      mount.add_string(3, each.path);
      mount.add_string(4, "rbind");
      mount.add_string(4, each.writable ? "rw" : "ro");
    }
    for (const auto& [name, value] : devices.variables) add_entry(adjust, 4, name, value);
    for (const std::string& name : devices.cdi) pbf_writer(adjust, 8).add_string(1, name);
    pbf_writer linux_part(adjust, 6);
    for (const DeviceNode& node : devices.nodes) {
      pbf_writer device(linux_part, 1);
      device.add_string(1, node.path);
      device.add_string(2, "c");
      device.add_int64(3, node.major);
      device.add_int64(4, node.minor);
      pbf_writer mode(device, 5);
      mode.add_uint32(1, 0666);
    }
  }
  return out;
}

// SynchronizeRequest{pods=1, containers=2, more=3}
Result<Inventory> decode_inventory(std::string_view message) {
  return decode<Inventory>(message, [](pbf_reader& in, Inventory& all) {
    while (in.next()) {
      switch (in.tag()) {
        case 1:
          all.pods.push_back(pod(in.get_message()));
          break;
        case 2:
          all.containers.push_back(container(in.get_message()));
          break;
        case 3:
          all.more = in.get_bool();
          break;
        default:
          in.skip();
      }
    }
  });
}

std::string encode_inventory_answer(bool more) {
  std::string out;
  if (more) pbf_writer(out).add_bool(2, true);
  return out;
}

}  // namespace plimsoll::node::nri
