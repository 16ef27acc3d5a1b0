#!/bin/sh
# Starts an order, waits until it needs an approval, approves it, and waits for its end. Requires curl.
set -eu
api=${SAGA_URL:-http://127.0.0.1:8080}/sagas/api/sagas
order=${1:-order-1}

call() {
  curl --silent --show-error --fail-with-body \
    -H "authorization: Bearer ${SAGA_TOKEN:-}" -H 'content-type: application/json' -H 'x-saga-admin: 1' "$@"
}

# The same correlation id again returns the same saga, so that this call can be repeated.
input='{"sku":"sofa","amount":1200}'
id=$(call "$api" -d "{\"saga\":\"place-order\",\"input\":$input,\"correlationId\":\"$order\"}" |
  sed 's/.*"id":"\([^"]*\)".*/\1/')
echo "started $id"

until call "$api/$id" | grep -q '"waitingFor":{"kind":"approval"'; do sleep 1; done
call "$api/$id/approve" -d '{"step":"approve","comment":"a good customer"}' > /dev/null
echo approved

# Each request is answered once the saga has ended, or after 30 seconds.
status=running
while [ "$status" = running ]; do
  status=$(call "$api/$id?wait=30s" | grep -o '"status":"[a-z]*"' | head -n 1 | cut -d '"' -f 4)
done
echo "$status"
