#!/bin/sh
# Install with apt-get what the tests need beyond Python; where that cannot be done, say what is missing.
# The tests that need a missing program skip themselves and name it.

missing=""
command -v gcc >/dev/null && [ -e /usr/include/math.h ] || missing="$missing gcc libc6-dev"
command -v clang >/dev/null || missing="$missing clang"
command -v valgrind >/dev/null || missing="$missing valgrind"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of packages
    apt-get update -qq && apt-get install -y -qq $missing >/dev/null && exit 0
fi
echo "NOTE: not installed and not to be had here:$missing. The tests that need them are SKIPPED." >&2
