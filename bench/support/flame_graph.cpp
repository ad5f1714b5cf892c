#include "bench/support/flame_graph.hpp"

#include <algorithm>
#include <cstdio>
#include <istream>
#include <string_view>

namespace plimsoll::bench {
namespace {

constexpr double kImageWidth = 1200;
constexpr double kRow = 17;
constexpr double kHead = 32;
constexpr double kLetter = 6.2;  // width of a letter in the graph's font
constexpr double kLeastShare = 0.001;

// "a::f<int>(char const*) const" becomes "a::f"; operators keep their brackets.
std::string short_name(std::string_view name) {
  std::string kept;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_operator = kept.ends_with("operator");
    if (depth == 0 && is_operator && (name[i] == '<' || name[i] == '(' || name[i] == '-')) {
      while (i < name.size() && (name[i] == '<' || name[i] == '(' || name[i] == ')' ||
                                 name[i] == '-' || name[i] == '>' || name[i] == '=')) {
        kept += name[i++];
        if (kept.ends_with("()")) break;
      }
      --i;
      continue;
    }
    if (name[i] == '<' || name[i] == '(') {
      if (name.substr(i).starts_with("(anonymous namespace)::")) {
        i += std::string_view("(anonymous namespace)::").size() - 1;
        continue;
      }
      ++depth;
    } else if (name[i] == '>' || name[i] == ')') {
      --depth;
    } else if (depth == 0) {
      kept += name[i];
    }
  }
  for (const std::string_view end : {" const", " [clone .isra.0]", " [clone .part.0]"}) {
    if (kept.ends_with(end)) kept.resize(kept.size() - end.size());
  }
  // Removes the return type, which the names of templates contain.
  if (const size_t space = kept.rfind(' ');
      space != std::string::npos && kept.find("operator") == std::string::npos) {
    kept.erase(0, space + 1);
  }
  return kept;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

// Adds a stack, the innermost function first.
void add(Frame& all, const std::vector<std::string>& stack, const std::string& root) {
  size_t depth = stack.size();
  while (depth > 0 && stack[depth - 1].find(root) == std::string::npos) --depth;
  if (depth == 0) return;
  ++all.samples;
  Frame* frame = &all;
  while (depth > 0) {
    frame = &frame->called[stack[--depth]];
    ++frame->samples;
  }
}

size_t height_of(const Frame& frame, double least) {
  size_t height = 0;
  for (const auto& [name, called] : frame.called) {
    if (static_cast<double>(called.samples) >= least) {
      height = std::max(height, 1 + height_of(called, least));
    }
  }
  return height;
}

void draw(const Frame& frame, double left, double per_sample, double bottom, double least,
          uint64_t total, std::string& svg) {
  for (const auto& [name, called] : frame.called) {
    const double width = static_cast<double>(called.samples) * per_sample;
    if (static_cast<double>(called.samples) >= least) {
      // Warm colours that distinguish neighbours. A function has the same colour everywhere.
      uint32_t hash = 2166136261U;
      for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
      char text[400];
      std::snprintf(text, sizeof text,
                    "<g><title>%s, %.1f %%</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                    "height=\"%.0f\" fill=\"rgb(%u,%u,%u)\"/>",
                    escaped(name).substr(0, 200).c_str(),
                    100.0 * static_cast<double>(called.samples) / static_cast<double>(total), left,
                    bottom - kRow, width, kRow - 1, 225 + hash % 30, 120 + hash / 31 % 100,
                    40 + hash / 3001 % 50);
      svg += text;
      const auto letters = static_cast<size_t>(width / kLetter);
      if (letters >= 4) {
        std::string_view shown = name;
        if (shown.size() > letters) shown = shown.substr(shown.size() - letters);  // keeps the end
        std::snprintf(text, sizeof text, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", left + 2,
                      bottom - 5, escaped(shown).c_str());
        svg += text;
      }
      svg += "</g>\n";
      draw(called, left, per_sample, bottom - kRow, least, total, svg);
    }
    left += width;
  }
}

void add_self(const Frame& frame, std::map<std::string, uint64_t>& self) {
  for (const auto& [name, called] : frame.called) {
    uint64_t own = called.samples;
    for (const auto& [unused, inner] : called.called) own -= inner.samples;
    self[name] += own;
    add_self(called, self);
  }
}

}  // namespace

Frame read_samples(std::istream& perf_script, const std::string& root) {
  Frame all;
  std::vector<std::string> stack;
  std::string line;
  while (std::getline(perf_script, line)) {
    const size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos || at == 0) {  // a stack ends, or begins
      add(all, stack, root);
      stack.clear();
      continue;
    }
    const size_t space = line.find(' ', at);  // after the address
    if (space != std::string::npos) stack.push_back(short_name(line.substr(space + 1)));
  }
  add(all, stack, root);
  return all;
}

std::string svg_of(const Frame& all, const std::string& title) {
  const double least = kLeastShare * static_cast<double>(all.samples);
  const double height = kHead + kRow * static_cast<double>(height_of(all, least)) + 8;
  char head[400];
  std::snprintf(head, sizeof head,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                "font-family=\"monospace\" font-size=\"10\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                "<text x=\"8\" y=\"20\" font-family=\"sans-serif\" font-size=\"14\">%s</text>\n",
                kImageWidth, height, escaped(title).substr(0, 150).c_str());
  std::string svg = head;
  if (all.samples > 0) {
    draw(all, 0, kImageWidth / static_cast<double>(all.samples), height - 4, least, all.samples,
         svg);
  }
  return svg + "</svg>\n";
}

std::vector<std::pair<std::string, double>> self_shares(const Frame& all) {
  std::map<std::string, uint64_t> self;
  add_self(all, self);
  std::vector<std::pair<std::string, double>> shares;
  for (const auto& [name, samples] : self) {
    if (samples > 0) {
      shares.emplace_back(name, static_cast<double>(samples) / static_cast<double>(all.samples));
    }
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return shares;
}

}  // namespace plimsoll::bench
