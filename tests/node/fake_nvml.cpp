// A libnvidia-ml.so.1 whose cards are in a file: PLIMSOLL_FAKE_NVML, read when the library starts
// and whenever cards are counted. A line for each card, in the library's order:
//
//   address=0000:3b:00.0 uuid=GPU-1 minor=3 memory=85899345920 name=NVIDIA_H100_80GB_HBM3 module=2
//     version=4 links=0000:86:00.0*2,0000:05:00.0*18 fail=nvmlDeviceGetMemoryInfo
//     mig=MIG-1/1g.10gb/10737418240,MIG-2/2g.20gb/21474836480 most=7
//
// fail=lost: no handle of it can be had. A file beside it with the ending .xid ("ADDRESS XID") is
// an event; it is taken away. While there is one with the ending .stuck, asking for a card's memory
// does not return. PLIMSOLL_FAKE_NVML_IS_QUIET: there are no events, and waiting for one
// costs as little as with the real library.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <list>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kNotFound = 6, kTimeout = 10, kLost = 15;

struct Card {
  std::map<std::string, std::string> fields;
  std::vector<Card*> parts;
  std::vector<std::string> links;  // the other ends
};

struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char text[32];
};

std::mutex mutex;
std::list<Card> all;  // never freed: handles stay valid
std::vector<Card*> cards;

std::string file() {
  const char* path = std::getenv("PLIMSOLL_FAKE_NVML");
  return path == nullptr ? "" : path;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

bool load() {
  std::ifstream in(file());
  if (!in) return false;
  std::vector<Card*> now;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    Card card;
    for (std::string word; words >> word;) {
      const auto at = word.find('=');
      card.fields[word.substr(0, at)] = word.substr(at + 1);
    }
    if (card.fields.empty()) continue;
    const std::string address = card.fields["address"];
    const auto old = std::find_if(all.begin(), all.end(), [&](const Card& each) {
      return each.fields.at("address") == address;
    });
    Card& kept = old == all.end() ? all.emplace_back() : *old;
    kept = card;
    for (const std::string& link : split(card.fields["links"], ',')) {
      const auto star = link.find('*');
      kept.links.insert(kept.links.end(), std::stoul(link.substr(star + 1)), link.substr(0, star));
    }
    for (const std::string& part : split(card.fields["mig"], ',')) {
      const auto words_of = split(part, '/');
      Card& piece = all.emplace_back();
      piece.fields = {{"address", ""},
                      {"uuid", words_of[0]},
                      {"name", "NVIDIA_H100_MIG_" + words_of[1]},
                      {"memory", words_of[2]}};
      kept.parts.push_back(&piece);
    }
    now.push_back(&kept);
  }
  cards = now;
  return true;
}

bool fails(Card* card, const char* call) {
  const auto found = card->fields.find("fail");
  return found != card->fields.end() && found->second == call;
}

int text(Card* card, const char* call, const char* field, char* out, unsigned size) {
  const std::lock_guard lock(mutex);
  if (fails(card, call)) return kLost;
  std::string value = card->fields[field];
  std::replace(value.begin(), value.end(), '_', ' ');
  std::strncpy(out, value.c_str(), size);
  return kSuccess;
}

int number(Card* card, const char* call, const char* field, unsigned* out) {
  const std::lock_guard lock(mutex);
  if (fails(card, call)) return kLost;
  if (!card->fields.contains(field)) return kNotSupported;
  *out = static_cast<unsigned>(std::stoul(card->fields[field]));
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const std::lock_guard lock(mutex);
  return load() ? kSuccess : 9;
}
int nvmlShutdown() {
  return kSuccess;
}
const char* nvmlErrorString(int error) {
  return error == kLost ? "GPU is lost \xb7" : error == 9 ? "Driver Not Loaded" : "an error";
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  std::strncpy(out, "570.86.15", size);
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* out) {
  const std::lock_guard lock(mutex);
  load();
  *out = static_cast<unsigned>(cards.size());
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Card** out) {
  const std::lock_guard lock(mutex);
  if (index >= cards.size()) return kNotFound;
  *out = cards[index];
  return fails(*out, "lost") ? kLost : kSuccess;
}
int nvmlDeviceGetPciInfo_v3(Card* card, PciInfo* out) {
  const std::lock_guard lock(mutex);
  std::string address = "0000" + card->fields["address"];
  std::transform(address.begin(), address.end(), address.begin(),
                 [](char c) { return static_cast<char>(std::toupper(c)); });
  std::strncpy(out->text, address.c_str(), sizeof out->text);
  return kSuccess;
}
int nvmlDeviceGetUUID(Card* card, char* out, unsigned size) {
  return text(card, "nvmlDeviceGetUUID", "uuid", out, size);
}
int nvmlDeviceGetName(Card* card, char* out, unsigned size) {
  return text(card, "nvmlDeviceGetName", "name", out, size);
}
int nvmlDeviceGetMinorNumber(Card* card, unsigned* out) {
  return number(card, "nvmlDeviceGetMinorNumber", "minor", out);
}
int nvmlDeviceGetModuleId(Card* card, unsigned* out) {
  return number(card, "nvmlDeviceGetModuleId", "module", out);
}
int nvmlDeviceGetMemoryInfo(Card* card, unsigned long long* out) {
  while (!file().empty() && access((file() + ".stuck").c_str(), F_OK) == 0) usleep(1000);
  const std::lock_guard lock(mutex);
  if (fails(card, "nvmlDeviceGetMemoryInfo")) return kLost;
  out[0] = std::stoull(card->fields["memory"]);
  return kSuccess;
}
int nvmlDeviceGetMigMode(Card* card, unsigned* now, unsigned* pending) {
  const std::lock_guard lock(mutex);
  if (fails(card, "nvmlDeviceGetMigMode")) return kLost;
  *now = *pending = card->fields.contains("mig") ? 1 : 0;
  return kSuccess;
}
int nvmlDeviceGetMaxMigDeviceCount(Card* card, unsigned* out) {
  const int result = number(card, "nvmlDeviceGetMaxMigDeviceCount", "most", out);
  if (result != kNotSupported) return result;
  *out = 7;
  return kSuccess;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Card* card, unsigned index, Card** out) {
  const std::lock_guard lock(mutex);
  if (index >= card->parts.size()) return kNotFound;
  *out = card->parts[index];
  return kSuccess;
}
int nvmlDeviceGetNvLinkState(Card* card, unsigned link, unsigned* active) {
  const std::lock_guard lock(mutex);
  if (link >= card->links.size()) return kNotSupported;
  *active = 1;
  return kSuccess;
}
int nvmlDeviceGetNvLinkVersion(Card* card, unsigned, unsigned* out) {
  return number(card, "nvmlDeviceGetNvLinkVersion", "version", out);
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Card* card, unsigned link, PciInfo* out) {
  const std::lock_guard lock(mutex);
  std::strncpy(out->text, ("0000" + card->links.at(link)).c_str(), sizeof out->text);
  return kSuccess;
}
using EventSet = std::vector<Card*>;
int nvmlEventSetCreate(EventSet** out) {
  *out = new EventSet;
  return kSuccess;
}
int nvmlEventSetFree(EventSet* set) {
  delete set;
  return kSuccess;
}
int nvmlDeviceRegisterEvents(Card* card, unsigned long long, EventSet* set) {
  const std::lock_guard lock(mutex);
  if (fails(card, "lost") || fails(card, "nvmlDeviceRegisterEvents")) return kLost;
  set->push_back(card);
  return kSuccess;
}
struct Event {
  Card* card;
  unsigned long long type, data;
  unsigned gpu, compute;
};
int nvmlEventSetWait_v2(EventSet* set, Event* event, unsigned milliseconds) {
  {
    const std::lock_guard lock(mutex);
    for (Card* card : *set) {
      if (fails(card, "lost")) return kLost;
    }
  }
  if (std::getenv("PLIMSOLL_FAKE_NVML_IS_QUIET") != nullptr) {
    usleep(milliseconds * 1'000);
    return kTimeout;
  }
  for (unsigned waited = 0; waited < std::min(milliseconds, 20U); waited += 5) {
    std::ifstream in(file() + ".xid");
    std::string address;
    unsigned long long xid = 0;
    if (in >> address >> xid) {
      unlink((file() + ".xid").c_str());
      const std::lock_guard lock(mutex);
      for (Card* card : cards) {
        if (card->fields["address"] == address) *event = {card, 8, xid, ~0U, ~0U};
      }
      return kSuccess;
    }
    usleep(5'000);
  }
  return kTimeout;
}

}  // extern "C"
