"""Charges cards: python3 payment.py PORT DATABASE_FILE"""

from participant import Refused, serve

SCHEMA = "CREATE TABLE IF NOT EXISTS ledger (orderId TEXT NOT NULL, kind TEXT NOT NULL, amount INTEGER NOT NULL);"


def entries(database, order):
    return database.execute("SELECT kind, amount FROM ledger WHERE orderId = ? ORDER BY rowid", (order,)).fetchall()


def charge(database, body):
    order, amount, token = body["orderId"], body["amount"], body["paymentToken"]
    if token == "tok_declined":
        raise Refused("the card was declined", 422)
    if entries(database, order):
        raise Refused("the order was charged or refunded before")
    database.execute("INSERT INTO ledger VALUES (?, 'charge', ?)", (order, amount))
    return {"paymentId": f"p-{order}", "crash": token == "tok_crash"}


def refund(database, body):
    """A refund before its charge, which may still be on its way, refuses the latter."""
    order = body["orderId"]
    amount = sum(amount for _, amount in entries(database, order))
    database.execute("INSERT INTO ledger VALUES (?, 'refund', ?)", (order, -amount))
    return {"refunded": amount}


def ledger(database, _, order):
    return [{"kind": kind, "amount": amount} for kind, amount in entries(database, order)]


serve(
    SCHEMA,
    [("POST", "/charges", charge), ("POST", "/refunds", refund), ("GET", "/ledger/([^/]+)", ledger)],
)
