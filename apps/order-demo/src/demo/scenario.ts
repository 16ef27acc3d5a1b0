import type { PlaceOrderDto } from '../orders/place-order.dto.js';
import type { DemoEnvironment } from './demo-environment.js';

export interface Scenario {
  readonly title: string;
  /** Throws when what it sees is not what was promised. */
  play(stage: DemoEnvironment): Promise<Ending>;
}

/** What the customer was promised: either all of it, or nothing. */
export interface Ending {
  readonly orderId: string;
  readonly sku: string;
  readonly quantity: number;
  /** In cents. */
  readonly amount: number;
  readonly status: 'confirmed' | 'cancelled';
}

/** An order that goes well if nothing is in its way. */
export function someOrder(change: Partial<PlaceOrderDto> = {}): PlaceOrderDto {
  return {
    sku: 'walnut-desk',
    quantity: 2,
    paymentToken: 'tok_visa',
    address: { name: 'Ada Lovelace', street: '1 Engine Lane', city: 'Leiden', country: 'NL' },
    ...change,
  };
}
