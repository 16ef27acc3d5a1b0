import {
  Approval,
  type CompensationContext,
  Saga,
  type SagaService,
  Step,
  type StepContext,
  StepRejectedError,
  WaitFor,
} from '../../../libs/saga/src/index.js';

const ONCE = { attempts: 1 };

interface Order {
  sku: string;
  quantity: number;
  card: { number: string; holder: string };
  fails?: 'charge' | 'ship';
}

/** The calls that fail right now. */
export const DOWN = new Set<string>();

class ServiceUnavailableError extends Error {
  override readonly name = 'ServiceUnavailableError';
  readonly code = 'HTTP_503';
}

function ask(call: string, service: string): void {
  if (DOWN.has(call)) throw new ServiceUnavailableError(`${service}: 503 Service Unavailable`);
}

/** An order with a fork, as operators may find it. */
@Saga({
  name: 'place-order',
  redact: ['card.number'],
  retry: { attempts: 3, delay: 5 },
  compensationRetry: { attempts: 3, delay: 5 },
})
export class PlaceOrderSaga {
  @Step({ compensate: 'releaseStock' }) reserveStock({ input }: StepContext<Order>) {
    ask('reserveStock', 'inventory');
    return { warehouse: 'Leiden', sku: input.sku, quantity: input.quantity };
  }
  releaseStock() {
    ask('releaseStock', 'inventory');
  }
  @Step({ compensate: 'refund' }) chargeCard({ input }: StepContext<Order>) {
    if (input.fails === 'charge') throw new StepRejectedError('card declined');
    ask('chargeCard', 'bank');
    return { receipt: 'r-20415', card: input.card };
  }
  refund(_: CompensationContext<Order>) {
    ask('refund', 'bank');
  }
  @Step({ after: 'reserveStock', compensate: 'unlabel' }) printLabel() {
    return { label: 'NL-88-1042' };
  }
  unlabel() {}
  @Step({ after: ['chargeCard', 'printLabel'] }) ship({ input }: StepContext<Order>) {
    if (input.fails === 'ship') throw new StepRejectedError('no carrier goes there');
    ask('ship', 'carrier');
    return { trackingNumber: '3SABCD' };
  }
  @Step() confirm() {
    return { mailed: true };
  }
}

/** A loan that waits for others. */
@Saga({ name: 'grant-credit', retry: ONCE })
export class GrantCreditSaga {
  @Step() score() {
    return { score: 712 };
  }
  @WaitFor({ signal: 'bureau-report', timeout: '3d' }) report(_: StepContext, report: unknown) {
    return report;
  }
  @Approval() decide() {}
  @Step() payOut() {}
}

export function order(change: Partial<Order> = {}): Order {
  return {
    sku: 'walnut-desk',
    quantity: 2,
    card: { number: '4111 1111 1111 1111', holder: 'Ada Lovelace' },
    ...change,
  };
}

/**
 * Starts an order that fails to ship and whose stock cannot be released, so it needs an operator. @returns
 * its id
 */
export async function stuckOrder(sagas: SagaService, correlationId = 'order-1234'): Promise<string> {
  DOWN.add('releaseStock');
  const input = order({ fails: 'ship' });
  const handle = await sagas.start(PlaceOrderSaga, input, { correlationId, tags: { tenant: 'acme' } });
  await handle.outcome();
  return handle.id;
}
