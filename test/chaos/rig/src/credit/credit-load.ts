import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PlaceOrderDto, someOrder, type DemoEnvironment } from 'credit-demo/demo';
import { HttpError } from 'demo-support';
import type { Chance } from '../chance.js';

const LANES = 10;
const CUSTOMERS = 40;
/** The maximum of unfinished orders: services are killed under load, not behind a backlog. */
const IN_PROGRESS = 200;
/** Milliseconds between two looks at how many there are. */
const LOOK = 500;
/** Milliseconds until an order that was not acknowledged is placed again. */
const AGAIN = 200;
/** An order service that is down is up again within so many tries. */
const TRIES = 300;

/**
 * Orders that come in at a steady pace, as long as the services keep up, each again until it is acknowledged.
 */
export class CreditLoad {
  readonly acknowledged = new Map<string, PlaceOrderDto>();
  /** Answers that no service should have given. */
  readonly surprises: string[] = [];
  private placed = 0;
  private inProgress = 0;

  /** @param perSecond orders */
  constructor(
    private readonly stage: DemoEnvironment,
    private readonly chance: Chance,
    private readonly orders: number,
    private readonly perSecond: number,
  ) {}

  /** Customers with limits that some of their orders exceed. */
  async prepare(): Promise<void> {
    const limit = Math.round((this.orders / CUSTOMERS) * 5_000 * 0.75);
    for (let n = 0; n < CUSTOMERS; n += 1) await this.stage.customers.put(`customer-${n}`, limit);
  }

  /** Resolves once the last order is acknowledged. */
  async run(): Promise<void> {
    const looking = setInterval(() => void this.look(), LOOK);
    await Promise.all(Array.from({ length: LANES }, () => this.lane()));
    clearInterval(looking);
  }

  private async look(): Promise<void> {
    const unfinished = 'SELECT count(*)::int AS count FROM saga.instance WHERE finished_at IS NULL';
    const [row] = await this.stage.database('order').query<{ count: number }>(unfinished);
    this.inProgress = row!.count;
  }

  private async lane(): Promise<void> {
    const pace = (LANES * 1_000) / this.perSecond;
    while (this.placed < this.orders) {
      const began = performance.now();
      if (this.inProgress >= IN_PROGRESS) {
        await sleep(LOOK);
        continue;
      }
      this.placed += 1;
      await this.place({ ...this.someOrder(), id: randomUUID() });
      await sleep(Math.max(0, began + pace * (0.5 + this.chance.next()) - performance.now()));
    }
  }

  /** One in ten has an expired card, one in twenty an unknown customer. */
  private someOrder(): PlaceOrderDto {
    const stranger = this.chance.next() < 0.05;
    const customer = stranger ? 'nobody' : `customer-${Math.floor(this.chance.between(0, CUSTOMERS))}`;
    const order = someOrder(customer, Math.round(this.chance.between(100, 9_900)));
    return this.chance.next() < 0.1 ? { ...order, card: { ...order.card, expires: '2020-01' } } : order;
  }

  private async place(order: PlaceOrderDto & { id: string }): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.stage.orders.place(order);
        this.acknowledged.set(order.id, order);
        return;
      } catch (error) {
        // It may or may not have arrived: the same id again finds out.
        const refused = error instanceof HttpError && error.status < 500;
        if (!refused && tries < TRIES) await sleep(AGAIN);
        else return void this.surprises.push(`placing an order: ${(error as Error).message}`);
      }
    }
  }
}
