"""Starts an order, shows each step, and approves it when it asks. Requires Python 3.8, and no packages."""

import json
import os
import sys
import urllib.request

API = os.environ.get("SAGA_URL", "http://127.0.0.1:8080") + "/sagas/api/sagas"
HEADERS = {
    "authorization": "Bearer " + os.environ.get("SAGA_TOKEN", ""),
    "content-type": "application/json",
    "x-saga-admin": "1",
}


def call(path="", body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, HEADERS)
    with urllib.request.urlopen(request, timeout=90) as answer:
        return json.load(answer)


def main(order):
    # The same correlation id again returns the same saga, so that this call can be repeated.
    started = call(
        body={
            "saga": "place-order",
            "input": {"sku": "sofa", "amount": 1200},
            "correlationId": order,
        }
    )
    path = "/" + started["id"]
    shown = set()
    while True:
        # Answered once the saga has ended, or after one second.
        saga = call(path + "?wait=1s")
        for step in saga["steps"]:
            line = step["name"] + " " + step["status"]
            if line not in shown:
                shown.add(line)
                print(line)
        if saga.get("waitingFor", {}).get("kind") == "approval":
            call(path + "/approve", {"step": saga["waitingFor"]["step"]})
        if saga["status"] not in ("running", "compensating"):
            print(saga["status"])
            return saga["status"] == "completed"


sys.exit(0 if main(sys.argv[1] if len(sys.argv) > 1 else "order-2") else 1)
