#!/bin/bash
# Writes C++ that holds files as text: pages/page_files.h says under which names.
#
#   embed.sh NAME FILE [NAME FILE]...
set -euo pipefail

echo '#include "server/pages/page_files.h"'
echo 'namespace counter::pages {'
while [[ $# -ge 2 ]]; do
  printf 'const char %s[] = R"EMBEDDED_FILE(' "$1"
  cat "$2"
  printf ')EMBEDDED_FILE";\n'
  shift 2
done
echo '}  // namespace counter::pages'
