// The messages that both sides send, and the check that they arrived in order.

export const AGGREGATES = 1_000;

/** The n-th message: its aggregate, and its place among those of the aggregate. */
export function messageOf(n) {
  const key = `order-${n % AGGREGATES}`;
  const payload = {
    orderId: key,
    number: Math.floor(n / AGGREGATES),
    customer: `customer-${(n * 7) % 5_000}`,
    lines: [{ sku: 'book', quantity: 2, price: 19.9 }],
    note: 'to be delivered to the neighbours if no one answers the door',
  };
  return { key, payload };
}

/** Looks at what arrived: everything, and each aggregate in order? Repeats are allowed, and counted. */
export class Arrivals {
  #next = new Map();
  repeats = 0;
  arrived = 0;

  take({ orderId, number }) {
    const next = this.#next.get(orderId) ?? 0;
    if (number > next) throw new Error(`${orderId}: ${number} arrived where ${next} was expected`);
    if (number < next) {
      this.repeats += 1;
      return;
    }
    this.#next.set(orderId, next + 1);
    this.arrived += 1;
  }
}
