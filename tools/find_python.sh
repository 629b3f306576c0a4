#!/bin/sh
# Print the first Python of version 3.11 or newer; nothing when there is none.
for python in python3 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "$python"
        exit
    fi
done
