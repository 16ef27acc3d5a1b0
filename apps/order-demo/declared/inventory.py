"""Reserves stock: python3 inventory.py PORT DATABASE_FILE"""

from participant import Refused, serve

SCHEMA = """
CREATE TABLE IF NOT EXISTS stock (sku TEXT PRIMARY KEY, available INTEGER NOT NULL);
INSERT OR IGNORE INTO stock VALUES ('tea', 1000), ('office-chair', 10), ('sold-out', 0);
CREATE TABLE IF NOT EXISTS reservation (orderId TEXT PRIMARY KEY, sku TEXT, quantity INTEGER NOT NULL);
"""


def reserve(database, body):
    order, sku, quantity = body["orderId"], body["sku"], body["quantity"]
    if database.execute("SELECT 1 FROM reservation WHERE orderId = ?", (order,)).fetchone():
        raise Refused("the order was reserved or released before")
    changed = database.execute(
        "UPDATE stock SET available = available - ? WHERE sku = ? AND available >= ?", (quantity, sku, quantity)
    )
    if changed.rowcount == 0:
        raise Refused(f"{sku} is out of stock")
    database.execute("INSERT INTO reservation VALUES (?, ?, ?)", (order, sku, quantity))
    return {"reservationId": f"r-{order}"}


def release(database, _, order):
    """A release before its reservation, which may still be on its way, refuses the latter."""
    found = database.execute("SELECT sku, quantity FROM reservation WHERE orderId = ?", (order,)).fetchone()
    if found:
        database.execute("UPDATE stock SET available = available + ? WHERE sku = ?", (found[1], found[0]))
    database.execute("INSERT OR REPLACE INTO reservation VALUES (?, NULL, 0)", (order,))
    return {"released": bool(found)}


def stock(database, _, sku):
    return {"available": database.execute("SELECT available FROM stock WHERE sku = ?", (sku,)).fetchone()[0]}


serve(
    SCHEMA,
    [
        ("POST", "/reservations", reserve),
        ("DELETE", "/reservations/([^/]+)", release),
        ("GET", "/stock/([^/]+)", stock),
    ],
)
