#!/bin/bash
# Writes the credentials file that xaas reads. The token appears in no program's arguments: printf is a shell builtin.
#
#   REGISTRY=HOST REGISTRY_USER=NAME REGISTRY_TOKEN=... REGISTRY_AUTH_FILE=FILE ci/log-in.sh
set -euo pipefail
: "${REGISTRY:?is not set}" "${REGISTRY_USER:?is not set}" "${REGISTRY_TOKEN:?is not set}" "${REGISTRY_AUTH_FILE:?is not set}"

umask 077
auth=$(printf '%s:%s' "$REGISTRY_USER" "$REGISTRY_TOKEN" | base64 -w0)
printf '{"auths": {"%s": {"auth": "%s"}}}\n' "$REGISTRY" "$auth" >"$REGISTRY_AUTH_FILE"
