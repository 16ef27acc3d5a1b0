import type { PlaceOrderDto } from '../order/place-order.dto.js';
import type { DemoEnvironment } from './demo-environment.js';

export interface Scenario {
  readonly title: string;
  /** Throws when what it sees is not what was promised. */
  play(stage: DemoEnvironment): Promise<void>;
}

/** An order that goes well if the credit limit allows it. */
export function someOrder(customerId: string, amount: number): PlaceOrderDto {
  return { customerId, amount, card: { token: 'tok_visa', expires: '2099-12' } };
}
