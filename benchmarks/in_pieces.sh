#!/bin/sh
# in_pieces.sh BEFORE COMMAND...: runs COMMAND (one that exits with 3 where more is left) behind BEFORE until it is done.
# BEFORE is a program that waits until the machine is quiet; `env` where it is.
before=$1
shift
while :; do
    "$before" "$@"
    status=$?
    [ "$status" -eq 3 ] || exit "$status"
done
