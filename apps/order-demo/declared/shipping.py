"""Books parcels: python3 shipping.py PORT DATABASE_FILE"""

from participant import Refused, serve

SCHEMA = "CREATE TABLE IF NOT EXISTS shipment (orderId TEXT PRIMARY KEY, status TEXT NOT NULL);"


def status_of(database, order):
    found = database.execute("SELECT status FROM shipment WHERE orderId = ?", (order,)).fetchone()
    return found[0] if found else "none"


def ship(database, body):
    order, country = body["orderId"], body["address"]["country"]
    if country == "AQ":
        raise Refused("the carrier does not deliver to Antarctica", 422)
    if status_of(database, order) != "none":
        raise Refused("the order was shipped or cancelled before")
    database.execute("INSERT INTO shipment VALUES (?, 'booked')", (order,))
    return {"trackingNumber": f"t-{order}"}


def cancel(database, _, order):
    """A cancellation before its booking, which may still be on its way, refuses the latter."""
    database.execute("INSERT OR REPLACE INTO shipment VALUES (?, 'cancelled')", (order,))
    return {"cancelled": True}


def shipment(database, _, order):
    return {"status": status_of(database, order)}


serve(
    SCHEMA,
    [("POST", "/shipments", ship), ("DELETE", "/shipments/([^/]+)", cancel), ("GET", "/shipments/([^/]+)", shipment)],
)
