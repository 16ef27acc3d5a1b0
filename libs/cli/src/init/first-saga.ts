/** How the files of an application are written that a first saga is put into. */
export interface Manner {
  /** Behind the path of a relative import: `.js` in ES modules, nothing elsewhere. */
  readonly extension: '.js' | '';
  /** `private readonly stock: StockService` has to name what it injects: the compiler leaves no types. */
  readonly namesInjected: boolean;
  readonly runner?: 'jest' | 'vitest';
  readonly hasHttp: boolean;
}

/** The files of a first saga, by name: two participants, the saga, its module, its test, and a way in by HTTP. */
export function firstSaga(manner: Manner): Readonly<Record<string, string>> {
  return {
    'stock.service.ts': STOCK,
    'payment.service.ts': PAYMENT,
    'place-order.saga.ts': saga(manner),
    ...(manner.runner && { 'place-order.saga.spec.ts': spec(manner) }),
    ...(manner.hasHttp && { 'orders.controller.ts': controller(manner) }),
    'orders.module.ts': module(manner),
  };
}

const STOCK = `import { Injectable, Logger } from '@nestjs/common';

/** A placeholder for the warehouse. Replace the method bodies with calls to your own. */
@Injectable()
export class StockService {
  private readonly log = new Logger('StockService');

  /** Calls with the same key make one reservation, because an interrupted step runs again. */
  reserve(sku: string, key: string): Promise<{ reservation: string }> {
    this.log.log(\`reserve \${sku} as \${key}\`);
    return Promise.resolve({ reservation: key });
  }

  release(reservation: string): Promise<void> {
    this.log.log(\`release \${reservation}\`);
    return Promise.resolve();
  }
}
`;

const PAYMENT = `import { setTimeout } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { StepRejectedError } from 'nestjs-durable-saga';

/** A placeholder for the bank. Replace the method bodies with calls to your own. */
@Injectable()
export class PaymentService {
  private readonly log = new Logger('PaymentService');

  async charge(amount: number, key: string): Promise<{ payment: string }> {
    if (amount > 1_000) throw new StepRejectedError('card declined');
    this.log.log(\`charge \${amount} as \${key}: the bank answers in 5 s\`);
    // Long enough to kill the process during the step, restart it and see the saga continue.
    await setTimeout(5_000);
    return { payment: key };
  }

  refund(payment: string): Promise<void> {
    this.log.log(\`refund \${payment}\`);
    return Promise.resolve();
  }
}
`;

function saga({ extension, namesInjected }: Manner): string {
  const parameter = (name: string, type: string) =>
    `    ${namesInjected ? `@Inject(${type}) ` : ''}private readonly ${name}: ${type},\n`;
  return `${namesInjected ? `import { Inject } from '@nestjs/common';\n` : ''}import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';
import { PaymentService } from './payment.service${extension}';
import { StockService } from './stock.service${extension}';

export interface PlaceOrder {
  orderId: string;
  sku: string;
  amount: number;
}

/** The steps run in this order. Each result is stored before the next step. A failure compensates them in reverse. */
@Saga()
export class PlaceOrderSaga {
  constructor(
${parameter('stock', 'StockService')}${parameter('payments', 'PaymentService')}  ) {}

  @Step({ compensate: 'releaseStock' })
  reserveStock(ctx: StepContext<PlaceOrder>) {
    return this.stock.reserve(ctx.input.sku, ctx.idempotencyKey);
  }

  /** If the outcome of the step is unknown, there is no result: release by the key that the step used. */
  async releaseStock(
    ctx: CompensationContext<PlaceOrder, { reservation: string }>,
  ) {
    const key = \`\${ctx.sagaId}:reserveStock\`;
    await this.stock.release(ctx.result?.reservation ?? key);
  }

  /** Retried up to five attempts. A \`StepRejectedError\` is not retried: the saga compensates. */
  @Step({ compensate: 'refund', retry: { attempts: 5 }, timeout: '10s' })
  chargeCard(ctx: StepContext<PlaceOrder>) {
    return this.payments.charge(ctx.input.amount, ctx.idempotencyKey);
  }

  async refund(ctx: CompensationContext<PlaceOrder, { payment: string }>) {
    const key = \`\${ctx.sagaId}:chargeCard\`;
    await this.payments.refund(ctx.result?.payment ?? key);
  }
}
`;
}

function spec({ extension, runner }: Manner): string {
  const imports = runner === 'vitest' ? `import { beforeEach, describe, expect, it } from 'vitest';\n` : '';
  return `import { StepRejectedError } from 'nestjs-durable-saga';
import { SagaTest } from 'nestjs-durable-saga/testing';
${imports}import { PaymentService } from './payment.service${extension}';
import { PlaceOrderSaga } from './place-order.saga${extension}';
import { StockService } from './stock.service${extension}';

const reserved = new Set<string>();
const charged = new Set<string>();
const forget = () => [reserved, charged].forEach((set) => set.clear());

/** Runs without a database. Retries and timeouts take no real time. */
const placeOrder = SagaTest.of(PlaceOrderSaga)
  .provide(StockService, {
    reserve: (_sku: string, key: string) => {
      reserved.add(key);
      return Promise.resolve({ reservation: key });
    },
    release: (reservation: string) => {
      reserved.delete(reservation);
      return Promise.resolve();
    },
  })
  .provide(PaymentService, {
    charge: (_amount: number, key: string) => {
      charged.add(key);
      return Promise.resolve({ payment: key });
    },
    refund: (payment: string) => {
      charged.delete(payment);
      return Promise.resolve();
    },
  });
const order = { orderId: 'order-1', sku: 'cup', amount: 20 };

describe('PlaceOrderSaga', () => {
  beforeEach(forget);

  it('reserves the stock, then charges the card', async () => {
    const run = await placeOrder.run(order);
    expect(run.outcome.status).toBe('completed');
    expect(run.trace).toEqual(['reserveStock', 'chargeCard']);
  });

  it('releases the stock when the card is declined', async () => {
    const declined = new StepRejectedError('card declined');
    const run = await placeOrder.failing('chargeCard', declined).run(order);
    expect(run.outcome.status).toBe('compensated');
    expect(run.trace).toEqual(['reserveStock', 'chargeCard', 'releaseStock']);
  });

  it('completes both steps or compensates both, in every failure case', async () => {
    await placeOrder.everyFailure(
      order,
      (run) => {
        const expected = run.outcome.status === 'completed' ? 1 : 0;
        expect([reserved.size, charged.size]).toEqual([expected, expected]);
      },
      { beforeEach: forget },
    );
  });
});
`;
}

function controller({ extension, namesInjected }: Manner): string {
  const inject = namesInjected ? '@Inject(SagaService) ' : '';
  const common = namesInjected
    ? `{
  Body,
  Controller,
  Get,
  Inject,
  Param,
  Post,
  UseFilters,
}`
    : '{ Body, Controller, Get, Param, Post, UseFilters }';
  return `import ${common} from '@nestjs/common';
import { SagaErrorFilter, SagaService } from 'nestjs-durable-saga';
import { type PlaceOrder, PlaceOrderSaga } from './place-order.saga${extension}';

/** Returns 404 for an unknown order, and 409 for an order id that exists with other contents. */
@Controller('orders')
@UseFilters(SagaErrorFilter)
export class OrdersController {
  constructor(${inject}private readonly sagas: SagaService) {}

  /** A second request with the same order returns the same saga. */
  @Post()
  async place(@Body() order: PlaceOrder) {
    const { id } = await this.sagas.start(PlaceOrderSaga, order, {
      correlationId: order.orderId,
    });
    return { saga: id };
  }

  @Get(':orderId')
  async look(@Param('orderId') orderId: string) {
    const { status, steps } = await this.sagas.get({
      saga: PlaceOrderSaga,
      correlationId: orderId,
    });
    const lines = steps.map((step) => \`\${step.name}: \${step.status}\`);
    return { status, steps: lines };
  }
}
`;
}

function module({ extension, hasHttp }: Manner): string {
  return `import { Module } from '@nestjs/common';
${hasHttp ? `import { OrdersController } from './orders.controller${extension}';\n` : ''}import { PaymentService } from './payment.service${extension}';
import { PlaceOrderSaga } from './place-order.saga${extension}';
import { StockService } from './stock.service${extension}';

@Module({
${hasHttp ? '  controllers: [OrdersController],\n' : ''}  providers: [PlaceOrderSaga, StockService, PaymentService],
})
export class OrdersModule {}
`;
}
