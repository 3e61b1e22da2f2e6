#!/bin/bash
# The protoset holds every service and message that a caller meets, and their comments.
set -euo pipefail

text=$(protoc --decode=google.protobuf.FileDescriptorSet -I/usr/include google/protobuf/descriptor.proto <"$1")
failed=0
for wanted in \
  'name: "CounterService"' \
  'name: "AdminService"' \
  'name: "ErrorReason"' \
  'name: "ErrorInfo"' \
  'name: "BadRequest"' \
  'name: "Health"' \
  'leading_comments: " Makes the pair (user, item) liked.'; do
  if ! grep -qF -- "$wanted" <<<"$text"; then
    echo "not in the protoset: $wanted"
    failed=1
  fi
done
exit $failed
