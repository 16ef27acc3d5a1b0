import type { EntityManager } from 'typeorm';
import {
  Approval,
  type ApprovalDecision,
  type CompensationContext,
  type ForEachContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  type SubSagaInput,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
  WaitFor,
} from '../../libs/saga/src/index.js';

/** The program's own table, in which transactional steps write: what is doubled or missing is seen. */
export const LEDGER =
  'CREATE TABLE IF NOT EXISTS public.ledger (n serial PRIMARY KEY, saga text, entry text)';

export const book = (manager: EntityManager, saga: string, entry: string) =>
  manager.query('INSERT INTO public.ledger (saga, entry) VALUES ($1, $2)', [saga, entry]);

/** How many of them are inside a step at this moment, and how many there were at most. */
class Crowd {
  most = 0;
  private inside = 0;
  async visit(ms: number): Promise<void> {
    this.inside += 1;
    this.most = Math.max(this.most, this.inside);
    await new Promise((resolve) => setTimeout(resolve, ms));
    this.inside -= 1;
  }
  reset(): void {
    this.most = 0;
  }
}
export const lockCrowd = new Crowd();
export const limitCrowd = new Crowd();

@Saga({ name: 'plain' })
export class PlainSaga {
  @Step() first({ input }: StepContext<unknown>) {
    return input;
  }
  @Step() second({ results }: StepContext<unknown, PlainSaga>): unknown {
    return results.first;
  }
}

@Saga({ name: 'failing', retry: { attempts: 2, delay: 1 }, compensationRetry: { attempts: 2, delay: 1 } })
export class FailingSaga {
  @Step({ compensate: 'unbook', transactional: true })
  async book({ manager, sagaId }: TransactionalStepContext) {
    await book(manager, sagaId, 'book');
    return { reference: 'B-1' };
  }
  async unbook({
    manager,
    sagaId,
    result,
  }: TransactionalCompensationContext<unknown, { reference: string }>) {
    await book(manager, sagaId, `unbook ${result?.reference}`);
  }
  @Step({ compensate: 'refund' }) charge({ input }: StepContext<{ refund: 'works' | 'fails' }>) {
    return { amount: 12.5, refund: input.refund };
  }
  refund({ result }: CompensationContext<unknown, { refund: string }>) {
    if (result?.refund === 'fails') throw new Error('the bank is closed');
  }
  @Step() ship() {
    throw new StepRejectedError('no such address: "Straße 7\\b"');
  }
}

@Saga({ name: 'stuck', retry: { attempts: 1 } })
export class StuckSaga {
  @Step({ pivot: true }) pay() {
    return 'paid';
  }
  @Step() deliver({ input }: StepContext<{ broken: boolean }>) {
    if (input.broken) throw new Error('out of order');
    return 'delivered';
  }
}

/** Each of its transactions, and each that it is made again in, is at the level that the input names. */
@Saga({ name: 'booking', lockKey: ({ input }: { input: { account: string } }) => input.account })
export class BookingSaga {
  @Step() async look({ input }: StepContext<{ account: string }>) {
    if (input.account === 'a') await lockCrowd.visit(5);
  }
  @Step({ transactional: true })
  async write({ manager, sagaId, input }: TransactionalStepContext<{ account: string; level?: string }>) {
    if (input.level) await manager.query(`SET TRANSACTION ISOLATION LEVEL ${input.level}`);
    await book(manager, sagaId, 'write');
    return (
      await manager.query<[{ level: string }]>(`SELECT current_setting('transaction_isolation') AS level`)
    )[0].level;
  }
}

@Saga({ name: 'limited', limit: 2 })
export class LimitedSaga {
  @Step() async work() {
    await limitCrowd.visit(10);
  }
}

@Saga({ name: 'question' })
export class QuestionSaga {
  @WaitFor({ signal: 'answer' }) ask(_ctx: StepContext, answer: { text: string }) {
    return answer.text;
  }
  @WaitFor({ signal: 'answer' }) askAgain(_ctx: StepContext, answer: { text: string }) {
    return answer.text;
  }
}

@Saga({ name: 'request' })
export class RequestSaga {
  @Approval() decide(_ctx: StepContext, { by, comment }: ApprovalDecision) {
    return { by, comment };
  }
}

@Saga({ name: 'parcel', lockKey: () => 'the only van' })
export class ParcelSaga {
  @Step({ transactional: true })
  async load({ manager, sagaId, input }: TransactionalStepContext<{ to: string }>) {
    await manager.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await book(manager, sagaId, `load for ${input.to}`);
    return `loaded for ${input.to}`;
  }
}

@Saga({ name: 'delivery' })
export class DeliverySaga {
  @SubSaga(() => ParcelSaga) left({ input }: StepContext<{ to: string }>): SubSagaInput<ParcelSaga> {
    return { to: `${input.to} left` };
  }
  @SubSaga(() => ParcelSaga, { after: [] })
  right({ input }: StepContext<{ to: string }>): SubSagaInput<ParcelSaga> {
    return { to: `${input.to} right` };
  }
  @Step({ after: ['left', 'right'] })
  sum({ results }: StepContext<{ to: string }, DeliverySaga>): string[] {
    return [results.left.load, results.right.load];
  }
}

@Saga({ name: 'fan-out' })
export class FanOutSaga {
  @Step({ forEach: (ctx: StepContext<{ numbers: number[] }>) => ctx.input.numbers, itemsAtOnce: 2 })
  double({ item }: ForEachContext<{ numbers: number[] }, number>): number {
    return 2 * item;
  }
  @Step({ delay: 100 }) sum({ results }: StepContext<unknown, FanOutSaga>): number {
    return results.double.reduce((a, b) => a + b, 0);
  }
}

@Saga({ name: 'announcing' })
export class AnnouncingSaga {
  @Step() announce(ctx: StepContext<{ key: string; texts: string[] }>) {
    for (const text of ctx.input.texts) ctx.publish({ topic: 'news', key: ctx.input.key, payload: { text } });
  }
}

@Saga({ name: 'short-lived', retention: '1s' })
export class ShortLivedSaga {
  @Step() do() {}
}

export const SAGAS = [
  ...[PlainSaga, FailingSaga, StuckSaga, BookingSaga, LimitedSaga, QuestionSaga, RequestSaga],
  ...[ParcelSaga, DeliverySaga, FanOutSaga, AnnouncingSaga, ShortLivedSaga],
];
