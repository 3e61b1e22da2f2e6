// The configuration for people: help, effective values, the page of docs/. All made from the table;
// no secret is ever in them. Pure code.
#ifndef COUNTER_SERVER_CONFIG_PRINT_H_
#define COUNTER_SERVER_CONFIG_PRINT_H_

#include <string>

#include "server/config/load.h"

namespace counter {

// counterd --help.
std::string FormatHelp();

// counterd config: a line `NAME = value  # source` for each setting, which can be pasted into a
// file if no password is in it.
std::string FormatConfig(const LoadedConfig& loaded);

// For the line that the server logs at start: what differs from the default, as NAME=value with
// blanks between; "defaults" if nothing does.
std::string SummarizeConfig(const LoadedConfig& loaded);

// docs/configuration.md.
std::string FormatMarkdown();

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_PRINT_H_
