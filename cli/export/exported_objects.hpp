#pragma once
// Leaves in objects what a decision reads, and replaces names in them: export_table.hpp says what
// is kept of each kind and how. Nothing blocks; one thread.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace plimsoll::cli {

// All objects of one export.
class ExportedObjects {
 public:
  ExportedObjects();
  ~ExportedObjects();
  ExportedObjects(const ExportedObjects&) = delete;
  ExportedObjects& operator=(const ExportedObjects&) = delete;

  // Takes out of an object of this kind what the table does not have.
  void keep(std::string_view kind, nlohmann::json& object);

  // Replaces names, and labels with their keys, in an array of objects that keep() has been called
  // for: each by the same word wherever it occurs. Words are in the order of what they stand for,
  // so nothing changes places. What else the texts mean to a decision stays: that an image has a
  // tag, which zones a label lists, that a number is larger than another where selectors ask.
  void anonymise(nlohmann::json& objects);

 private:
  class Table;
  class Words;
  class Pass;
  static const Table& table();
  std::unique_ptr<Words> words_;
};

}  // namespace plimsoll::cli
