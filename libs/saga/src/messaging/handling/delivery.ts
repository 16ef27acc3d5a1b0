/** What became of a delivery; undefined: it is not, or no longer, this one's to say. */
export type DeliveryOutcome = 'done' | 'failed' | undefined;

/** One delivery of a message, which several handlers may be given: the last of them tells the broker, once, for all. */
class Delivery {
  private open = 0;
  private failed = false;
  private told = false;

  begin(): void {
    this.open += 1;
  }

  async end(how: 'done' | 'failed'): Promise<DeliveryOutcome> {
    // Handlers begin together, but for the time that their guards and pipes take.
    await new Promise((resolve) => setImmediate(resolve));
    this.open -= 1;
    this.failed ||= how === 'failed';
    if (this.open > 0 || this.told) return undefined;
    this.told = true;
    return this.failed ? 'failed' : 'done';
  }
}

const deliveries = new WeakMap<object, Delivery>();

export function deliveryOf(message: object): Delivery {
  const delivery = deliveries.get(message) ?? new Delivery();
  deliveries.set(message, delivery);
  return delivery;
}
