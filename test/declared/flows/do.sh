#!/bin/sh
# do.sh NAME [EXIT CODE]: adds the name to the file log, and fails with the code. The result is the name.
echo "$1" >>log
echo "\"$1\""
exit "${2:-0}"
