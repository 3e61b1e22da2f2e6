// Output: rows of answers as an aligned table for people or as JSON for programs.
// A value; one thread.
#ifndef COUNTER_CLIENTS_CLI_OUTPUT_H_
#define COUNTER_CLIENTS_CLI_OUTPUT_H_

#include <boost/json.hpp>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace counter::cli {

// A cell: text, a number, or yes/no.
using Cell = std::variant<std::string, int64_t, bool>;

// One answer: names and cells, in the order of the columns.
using Row = std::vector<std::pair<std::string, Cell>>;

enum class Format { kTable, kJson };

// One answer as an object.
boost::json::object ToJson(const Row& row);

// One answer: a table with a header and one line, or one JSON object on a line.
void PrintRow(const Row& row, Format format, std::ostream& out);

// A list of answers, which all have the same names: a table, or a JSON array of objects with one
// object a line.
void PrintRows(const std::vector<Row>& rows, Format format, std::ostream& out);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_OUTPUT_H_
