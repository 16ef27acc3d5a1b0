/** How the files of an application are written that a first saga is put into. */
export interface Manner {
  /** Behind the path of a relative import: `.js` in ES modules, nothing elsewhere. */
  readonly extension: '.js' | '';
  /** `private readonly stock: StockService` has to name what it injects: the compiler leaves no types. */
  readonly namesInjected: boolean;
  readonly runner?: 'jest' | 'vitest';
  readonly hasHttp: boolean;
}

/** What the files of a first saga are called, and what is in them. */
export interface SagaNames {
  /** The class of the saga without its end, and the interface of its input. */
  readonly saga: string;
  readonly input: string;
  /** The file of the saga, without an ending. */
  readonly sagaFile: string;
  /** The class of the module and of the controller without their ends. */
  readonly module: string;
  /** The files of both without their ends, and the route. */
  readonly route: string;
}

/** Returns the names of a first saga by its folder, so that sagas in two folders do not have the same ones. */
export function namesOf(folder: string): SagaNames {
  const words = folder
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[/_-]+/)
    .filter((word) => word !== '');
  const [route, module] = [words.join('-'), pascalCase(words)];
  if (route === 'orders')
    return { saga: 'PlaceOrder', input: 'PlaceOrder', sagaFile: 'place-order.saga', module, route };
  // The folder may be called as a class of the package is: saga.
  return { saga: module, input: `${module}Input`, sagaFile: `${route}.saga`, module, route };
}

function pascalCase(words: readonly string[]): string {
  return words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join('');
}

/** A file of a first saga. */
export interface SagaFile {
  readonly name: string;
  readonly text: string;
  readonly about: string;
}

/** The files of a first saga: two participants, the saga, its module, its test, and a way in by HTTP. */
export function firstSaga(manner: Manner, names: SagaNames): SagaFile[] {
  const { sagaFile, route } = names;
  const files: SagaFile[] = [
    { name: 'stock.service.ts', text: STOCK, about: 'a participant' },
    { name: 'payment.service.ts', text: PAYMENT, about: 'a second participant, which takes 5 s' },
    { name: `${sagaFile}.ts`, text: saga(manner, names), about: 'a saga of two steps with compensations' },
  ];
  if (manner.runner)
    files.push({
      name: `${sagaFile}.spec.ts`,
      text: spec(manner, names),
      about: 'a test of every failure case of the saga',
    });
  if (manner.hasHttp)
    files.push({
      name: `${route}.controller.ts`,
      text: controller(manner, names),
      about: `POST /${route} and GET /${route}/:orderId`,
    });
  return [
    ...files,
    { name: `${route}.module.ts`, text: module(manner, names), about: 'the module with these providers' },
  ];
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

function saga({ extension, namesInjected }: Manner, { saga, input }: SagaNames): string {
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

export interface ${input} {
  orderId: string;
  sku: string;
  amount: number;
}

/** The steps run in this order. Each result is stored before the next step. A failure compensates them in reverse. */
@Saga()
export class ${saga}Saga {
  constructor(
${parameter('stock', 'StockService')}${parameter('payments', 'PaymentService')}  ) {}

  @Step({ compensate: 'releaseStock' })
  reserveStock(ctx: StepContext<${input}>) {
    return this.stock.reserve(ctx.input.sku, ctx.idempotencyKey);
  }

  /** If the outcome of the step is unknown, there is no result: release by the key that the step used. */
  async releaseStock(
    ctx: CompensationContext<${input}, { reservation: string }>,
  ) {
    const key = \`\${ctx.sagaId}:reserveStock\`;
    await this.stock.release(ctx.result?.reservation ?? key);
  }

  /** Retried up to five attempts. A \`StepRejectedError\` is not retried: the saga compensates. */
  @Step({ compensate: 'refund', retry: { attempts: 5 }, timeout: '10s' })
  chargeCard(ctx: StepContext<${input}>) {
    return this.payments.charge(ctx.input.amount, ctx.idempotencyKey);
  }

  async refund(ctx: CompensationContext<${input}, { payment: string }>) {
    const key = \`\${ctx.sagaId}:chargeCard\`;
    await this.payments.refund(ctx.result?.payment ?? key);
  }
}
`;
}

function spec({ extension, runner }: Manner, { saga, sagaFile }: SagaNames): string {
  const imports = runner === 'vitest' ? `import { beforeEach, describe, expect, it } from 'vitest';\n` : '';
  return `import { StepRejectedError } from 'nestjs-durable-saga';
import { SagaTest } from 'nestjs-durable-saga/testing';
${imports}import { PaymentService } from './payment.service${extension}';
import { ${saga}Saga } from './${sagaFile}${extension}';
import { StockService } from './stock.service${extension}';

const reserved = new Set<string>();
const charged = new Set<string>();
const forget = () => [reserved, charged].forEach((set) => set.clear());

/** Runs without a database. Retries and timeouts take no real time. */
const placeOrder = SagaTest.of(${saga}Saga)
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

describe('${saga}Saga', () => {
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

function controller(
  { extension, namesInjected }: Manner,
  { saga, input, sagaFile, module, route }: SagaNames,
): string {
  const inject = namesInjected ? '@Inject(SagaService) ' : '';
  return `import {
  BadRequestException,
  Body,
  Controller,
  Get,
${namesInjected ? '  Inject,\n' : ''}  Param,
  Post,
  UseFilters,
} from '@nestjs/common';
import { SagaErrorFilter, SagaService } from 'nestjs-durable-saga';
import { type ${input}, ${saga}Saga } from './${sagaFile}${extension}';

/** Returns 404 for an unknown order, and 409 for an order id that exists with other contents. */
@Controller('${route}')
@UseFilters(SagaErrorFilter)
export class ${module}Controller {
  constructor(${inject}private readonly sagas: SagaService) {}

  /** A second request with the same order returns the same saga. */
  @Post()
  async place(@Body() order?: Partial<${input}>) {
    if (!isOrder(order)) {
      throw new BadRequestException(
        'Give an order: { orderId: string, sku: string, amount: number }',
      );
    }
    const { id } = await this.sagas.start(${saga}Saga, order, {
      correlationId: order.orderId,
    });
    return { saga: id };
  }

  @Get(':orderId')
  async look(@Param('orderId') orderId: string) {
    const { status, steps } = await this.sagas.get({
      saga: ${saga}Saga,
      correlationId: orderId,
    });
    const lines = steps.map((step) => \`\${step.name}: \${step.status}\`);
    return { status, steps: lines };
  }
}

/** With class-validator or zod, \`@Saga({ input })\` checks what starts the saga. */
function isOrder(given?: Partial<${input}>): given is ${input} {
  const { orderId, sku, amount } = given ?? {};
  const texts = [orderId, sku];
  return (
    texts.every((text) => typeof text === 'string' && text !== '') &&
    typeof amount === 'number'
  );
}
`;
}

function module({ extension, hasHttp }: Manner, { saga, sagaFile, module, route }: SagaNames): string {
  return `import { Module } from '@nestjs/common';
${hasHttp ? `import { ${module}Controller } from './${route}.controller${extension}';\n` : ''}import { PaymentService } from './payment.service${extension}';
import { ${saga}Saga } from './${sagaFile}${extension}';
import { StockService } from './stock.service${extension}';

@Module({
${hasHttp ? `  controllers: [${module}Controller],\n` : ''}  providers: [${saga}Saga, StockService, PaymentService],
})
export class ${module}Module {}
`;
}
