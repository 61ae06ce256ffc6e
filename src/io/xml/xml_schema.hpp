// Which elements and attributes a format knows in which place, to warn of all others: they are often misspelt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/io/notes.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone {

// One kind of element.
struct SchemaRow {
  std::string_view place;  // what it stands in, by a name of the schema's own
  std::string_view tag;
  std::string_view attributes;     // separated by blanks; "*" stands for any
  std::string_view children = "";  // the place of its children, empty: it has none; "*" stands for any
};

class XmlSchema {
 public:
  explicit XmlSchema(std::span<const SchemaRow> rows) : rows_(rows) {}
  virtual ~XmlSchema() = default;

  // Warns of every element and attribute below `root`, which stands in `place`, that the schema does not know. Works
  // without recursion.
  void check(const XmlElement& root, std::string_view place, WarningList& warnings) const;

  const SchemaRow* row(std::string_view place, std::string_view tag) const;

 protected:
  // The same, where some elements are described in other places.
  virtual const SchemaRow* find(std::string_view place, std::string_view tag) const { return row(place, tag); }
  // Attributes that an element has besides those of its row.
  virtual std::string_view common_attributes(const SchemaRow& /*row*/) const { return {}; }
  // All tags that may stand in a place.
  virtual std::vector<std::string> tags(std::string_view place) const;
  // Something to say about an element that is known not to be honoured there; empty: it is just unknown.
  virtual std::string ignored(std::string_view /*place*/, const XmlElement& /*element*/) const { return {}; }

  std::span<const SchemaRow> rows() const { return rows_; }

 private:
  bool knows(const SchemaRow& row, std::string_view attribute) const;

  std::span<const SchemaRow> rows_;
};

}  // namespace touchstone
