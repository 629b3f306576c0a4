#!/bin/sh
# Succeed when the machine has a C compiler of its own, where tapeflow looks for one.
for compiler in $CC cc gcc clang; do
    command -v "$compiler" >/dev/null && exit 0
done
exit 1
