import {
  type CompensationContext,
  Saga,
  type SagaModuleOptions,
  type SagaService,
  Step,
  type StepContext,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { Gate } from '../../support/gate.js';
import type { TestApps } from '../../support/test-app.js';

const ONCE = { retry: { attempts: 1 }, compensationRetry: { attempts: 1 } } as const;

export interface Order {
  sku: string;
  /** Steps, and compensations, that fail. */
  failing?: string[];
}

/** What ran, in order; of each test anew. */
export const ran: string[] = [];
/** What charging waits for. */
export const bank = { open: new Gate() };
beforeEach(() => {
  ran.length = 0;
  bank.open = new Gate();
  bank.open.open();
});

function did(what: string, { input }: { input: Order }): void {
  ran.push(what);
  if (input.failing?.includes(what)) throw new Error(`${what}: 503`);
}

/** Rolls back when a step fails, and gets stuck when a compensation fails too. */
@Saga({ name: 'place-order', ...ONCE })
export class PlaceOrder {
  @Step({ compensate: 'release' }) reserve(ctx: StepContext<Order>) {
    did('reserve', ctx);
    return { reservation: 7 };
  }
  release(ctx: CompensationContext<Order>) {
    did('release', ctx);
  }
  @Step({ compensate: 'refund' }) async charge(ctx: StepContext<Order>) {
    did('charge', ctx);
    await bank.open.opened;
    return { payment: 8 };
  }
  refund(ctx: CompensationContext<Order>) {
    did('refund', ctx);
  }
  @Step() ship(ctx: StepContext<Order>) {
    did('ship', ctx);
    return 'shipped';
  }
}

/** Waits for an operator instead of rolling back. Then it waits for a signal, for an hour at most. */
@Saga({ name: 'transfer', onFailure: 'suspend', ...ONCE })
export class Transfer {
  @Step({ compensate: 'giveBack' }) take(ctx: StepContext<Order>) {
    did('take', ctx);
  }
  giveBack() {}
  @Step() tell(ctx: StepContext<Order>) {
    did('tell', ctx);
    return ctx.input.sku;
  }
  @WaitFor({ signal: 'confirmed', timeout: '1h', delay: '1ms' }) confirm() {}
}

/** Cannot be undone once it is sent. */
@Saga({ name: 'letter', ...ONCE })
export class Letter {
  @Step({ compensate: 'tear' }) write() {}
  tear() {}
  @Step({ pivot: true }) send() {}
  @WaitFor({ signal: 'answered' }) wait() {}
}

/** The shop's application, whose workers look for work all the time. */
export function shop(apps: TestApps, options: SagaModuleOptions = {}) {
  return apps.start({
    sagas: [PlaceOrder, Transfer, Letter],
    options: { worker: { pollInterval: '20ms' }, ...options },
  });
}

/** An order that has come to rest: completed, or wherever its failures lead. */
export async function order(
  sagas: SagaService,
  correlationId: string,
  ...failing: string[]
): Promise<string> {
  const { id, outcome } = await sagas.start(PlaceOrder, { sku: 'cup', failing }, { correlationId });
  await outcome();
  return id;
}
