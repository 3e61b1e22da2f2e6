#!/bin/sh
# Writes the migrations, named NNNN_name.sql and given in order, as C++ to stdout.
set -eu
echo '#include "storage/postgres/migrate.h"'
echo 'namespace counter::postgres {'
echo 'const std::vector<Migration>& Migrations() {'
echo '  static const std::vector<Migration> migrations = {'
for file in "$@"; do
  base=${file##*/}
  name=${base%.sql}
  number=$(printf '%s' "${name%%_*}" | sed 's/^0*//')
  printf '{%s, "%s", R"sql(' "$number" "$name"
  cat "$file"
  echo ')sql"},'
done
echo '  };'
echo '  return migrations;'
echo '}'
echo '}  // namespace counter::postgres'
