import 'reflect-metadata';
import { once } from 'node:events';
import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  Saga,
  SagaModule,
  Step,
  type StepContext,
  StepRejectedError,
  UnknownOutcomeError,
  WaitFor,
} from 'nestjs-durable-saga';
import { Participants } from './participants.js';
import { type CallKind, plannedSaga, type SagaPlan } from './planned-saga.js';
import { report } from './report.js';

/** What the test tells this process to do with a call that it holds. */
export type CallCommand =
  /** Applies the call's effect, and goes on holding it. */
  | { readonly type: 'apply'; readonly call: number }
  | { readonly type: 'return'; readonly call: number; readonly value?: unknown; readonly effect: boolean }
  | {
      readonly type: 'throw';
      readonly call: number;
      readonly what: 'error' | 'rejected' | 'unknown';
      readonly effect: boolean;
    };

interface HeldCall {
  readonly kind: CallKind;
  readonly ctx: StepContext;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const participants = new Participants();
const held: HeldCall[] = [];

/** Reports a call to the test, and holds it until the test sets its result. */
function perform(kind: CallKind, ctx: StepContext, payload?: unknown): Promise<unknown> {
  const { sagaId, step, index, round, attempt, idempotencyKey, results } = ctx;
  const { result } = ctx as StepContext & { result?: unknown };
  const call = held.length;
  report({
    ...{ type: 'call', call, kind, sagaId, step, index },
    ...{ round, attempt, idempotencyKey, results, result, payload },
  });
  const aborted = () => report({ type: 'aborted', call });
  // A transactional step may have waited for its connection for so long that it is not wanted any more.
  if (ctx.signal.aborted) aborted();
  else ctx.signal.addEventListener('abort', aborted);
  return new Promise((resolve, reject) => held.push({ kind, ctx, resolve, reject }));
}

async function carryOut(command: CallCommand): Promise<void> {
  const call = held[command.call]!;
  if (command.type === 'apply') {
    await applyEffect(call);
    return report({ type: 'applied', call: command.call });
  }
  if (command.effect) await applyEffect(call);
  if (command.type === 'return') return call.resolve(command.value);
  if (command.what === 'rejected') return call.reject(new StepRejectedError('no'));
  call.reject(command.what === 'unknown' ? new UnknownOutcomeError('no answer') : new Error('not now'));
}

/** Elsewhere, once for each key; of a transactional step in its own transaction, each time. */
async function applyEffect({ kind, ctx }: HeldCall): Promise<void> {
  const { idempotencyKey, sagaId, step, manager } = ctx;
  if (manager) {
    await manager.query('INSERT INTO ledger (saga_id, entry) VALUES ($1, $2)', [sagaId, idempotencyKey]);
  } else {
    await participants.apply({ idempotencyKey, sagaId, step, compensation: kind === 'compensate' });
  }
}

@Module({})
class GraphWorkerModule {
  static of(plans: readonly SagaPlan[]): DynamicModule {
    return {
      module: GraphWorkerModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, poolSize: 60 }),
        // The test says when a lease has run out.
        SagaModule.forRoot({ worker: { lease: '10m', pollInterval: 20 } }),
      ],
      providers: plans.map((plan) => plannedSaga(plan, perform, { Saga, Step, WaitFor })),
    };
  }
}

/** One of several processes that run the sagas of these plans. Each acts only on commands of the test. */
async function main(): Promise<void> {
  process.on('disconnect', () => process.exit(1));
  const [plans] = (await once(process, 'message')) as [SagaPlan[]];
  process.on('message', (command: CallCommand) => void carryOut(command));
  await NestFactory.createApplicationContext(GraphWorkerModule.of(plans), { logger: false });
  report({ type: 'ready' });
}

await main();
