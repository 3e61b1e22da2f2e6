// Item types that joined, split, formatted or quoted carelessly become something else; none is
// configured.
#ifndef COUNTER_TESTS_INTEGRATION_HOSTILE_TYPES_H_
#define COUNTER_TESTS_INTEGRATION_HOSTILE_TYPES_H_

#include <string>
#include <vector>

namespace counter::testing {

inline std::vector<std::string> HostileTypes() {
  return {"a:b",
          "a",  // Of the allowed characters, but not configured.
          "x y",
          "%s%n%b",
          "post\r\nFLUSHALL\r\n",
          "post\r\n*1\r\n$8\r\nFLUSHALL\r\n",
          "{a}",
          "",
          "POST",
          "post ",
          " post",
          std::string("post\0", 5),
          "p\xc3\xb6st",
          "../post",
          "post'; DROP TABLE user_likes; --",
          "1post",
          "_post",
          std::string(32, 'a'),
          std::string(33, 'a'),
          std::string(64, 'a'),
          std::string(65, 'a')};
}

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_HOSTILE_TYPES_H_
