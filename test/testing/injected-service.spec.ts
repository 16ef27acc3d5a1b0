import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import {
  type CompensationContext,
  Saga,
  SagaConfigurationError,
  SagaNotFoundError,
  SagaService,
  Step,
  type StepContext,
  SubSaga,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

interface Letter {
  to: string;
}

@Saga({ name: 'letter' })
class LetterSaga {
  @WaitFor({ signal: 'stamp' }) stamp(_ctx: StepContext<Letter>, payload: string) {
    return payload;
  }
}

@Injectable()
class Post {
  constructor(private readonly sagas: SagaService) {}

  send(to: string) {
    return this.sagas.start(LetterSaga, { to }, { correlationId: to });
  }
}

@Module({ providers: [Post], exports: [Post] })
class PostModule {}

@Saga({ name: 'mailing' })
class MailingSaga {
  constructor(
    private readonly sagas: SagaService,
    private readonly post: Post,
  ) {}

  @Step({ compensate: 'recall' }) async send(ctx: StepContext<Letter>) {
    const { id } = await this.post.send(ctx.input.to);
    return id;
  }
  async recall(ctx: CompensationContext<Letter, string>) {
    await this.sagas.cancel({ saga: LetterSaga, correlationId: ctx.input.to });
  }

  @Step() async stamp(ctx: StepContext<Letter>) {
    const { items } = await this.sagas.find({ saga: LetterSaga });
    for (const { id } of items) await this.sagas.signal(id, 'stamp', `for ${ctx.input.to}`);
    return items.length;
  }
}

const mailing = SagaTest.of(MailingSaga, LetterSaga).imports(PostModule);

describe('SagaService, injected into a saga and into the providers of an imported module,', () => {
  test('acts on the sagas of the run', async () => {
    const run = await mailing.run({ to: 'ada' });
    expect(run.outcome).toMatchObject({ status: 'completed', results: { stamp: 1 } });
    const letter = await run.sagas.get({ saga: LetterSaga, correlationId: 'ada' });
    expect(letter.steps).toMatchObject([{ name: 'stamp', status: 'completed', result: 'for ada' }]);
  });

  test('belongs to one run each, also of runs that share their providers and go side by side', async () => {
    const runs = await Promise.all(['ada', 'bob', 'cid'].map((to) => mailing.run({ to })));
    expect(runs.map(({ outcome }) => outcome.results.stamp)).toEqual([1, 1, 1]);
  });

  test('is there in compensations', async () => {
    const run = await mailing.failing('stamp').run({ to: 'ada' });
    expect(run.outcome.status).toBe('compensated');
    await run.advance('1s');
    const letter = await run.sagas.get({ saga: LetterSaga, correlationId: 'ada' });
    expect(letter.status).toBe('compensated');
  });

  test('is there after a crash of the process, and the same start again is the same saga', async () => {
    const run = await mailing.crashing('send').run({ to: 'ada' });
    expect(run.outcome.status).toBe('completed');
    expect((await run.sagas.find({ saga: LetterSaga })).items).toHaveLength(1);
  });

  test('may be walked by everyFailure()', async () => {
    const report = await mailing.everyFailure({ to: 'ada' }, async (run) => {
      const { items } = await run.sagas.find({ saga: LetterSaga });
      expect(items.length).toBeLessThanOrEqual(1);
    });
    expect(report.points.length).toBeGreaterThan(5);
  });

  test('may be replaced by a fake', async () => {
    const find = async () => ({ items: [] });
    const start = async () => ({ id: 'of the fake' });
    const run = await SagaTest.of(MailingSaga)
      .providers(Post)
      .provide(SagaService, { find, start })
      .run({ to: 'ada' });
    expect(run.outcome.results).toEqual({ send: 'of the fake', stamp: 0 });
  });

  test('refuses to start a saga that the test does not have, and says how to add it', async () => {
    const run = await SagaTest.of(MailingSaga).providers(Post).run({ to: 'ada' });
    const { message } = run.outcome.failure!.error!;
    expect(message).toMatch(/^LetterSaga is not a saga of this application.*SagaTest\.of\(…, LetterSaga\)/);
  });

  test('deletes sagas that have ended, by the time that has passed in the test', async () => {
    const run = await mailing.run({ to: 'ada' });
    expect(await run.operations.cleanup({ olderThan: '30d' })).toEqual({ deleted: 0, more: false });
    await run.advance('31d');
    const { deleted } = await run.operations.cleanup({ olderThan: '30d' });
    expect(deleted).toBeGreaterThan(0);
    await expect(run.sagas.get(run.id)).rejects.toThrow(SagaNotFoundError);
  });

  test('refuses calls outside of a run', async () => {
    @Injectable()
    class Eager implements OnModuleInit {
      constructor(private readonly sagas: SagaService) {}
      async onModuleInit() {
        await this.sagas.find();
      }
    }
    const run = SagaTest.of(LetterSaga).providers(Eager).run({ to: 'ada' });
    await expect(run).rejects.toThrow(/outside of a saga's method.*run\.sagas/);
  });

  test('reaches a saga whose lock the run holds: the run ends where both wait', async () => {
    @Saga({ name: 'locked', lockKey: () => 'one' })
    class Locked {
      @WaitFor({ signal: 'never' }) wait() {}
    }
    @Saga({ name: 'outer' })
    class Outer {
      constructor(private readonly sagas: SagaService) {}
      @Step() async begin() {
        await this.sagas.start(Locked, {});
      }
      @SubSaga(() => Locked) locked() {
        return {};
      }
    }
    const run = await SagaTest.of(Outer).run({});
    expect(run.waitingFor).toMatchObject({ kind: 'sub-saga' });
    const child = await run.sagas.get(run.snapshot.steps[1]!.child!);
    expect(child.waitingFor).toMatchObject({ kind: 'lock', key: 'one' });
  });
});

describe('a test without a manager', () => {
  @Saga({ name: 'ledger' })
  class Ledger {
    @Step({ compensate: 'unbook' }) book() {}
    async unbook(_ctx: CompensationContext<object, void>) {}
    @Step({ transactional: true }) async close({ manager }: TransactionalStepContext<object>) {
      await manager.query('UPDATE accounts');
    }
  }

  @Saga({ name: 'reversal' })
  class Reversal {
    @Step({ transactional: true, compensate: 'reverse' }) book() {}
    async reverse({ manager }: TransactionalCompensationContext<object, void>) {
      await manager.query('DELETE');
    }
    @Step() ship() {}
  }

  test('refuses a transactional step that uses ctx.manager, and says how to give one', async () => {
    const run = SagaTest.of(Ledger).run({});
    await expect(run).rejects.toThrow(SagaConfigurationError);
    await expect(SagaTest.of(Ledger).run({})).rejects.toThrow(
      "'close' of ledger uses ctx.manager.query, but this SagaTest has no manager. Call .manager(fake) on the builder",
    );
  });

  test('refuses a transactional compensation that uses it', async () => {
    await expect(SagaTest.of(Reversal).run({})).resolves.toMatchObject({ outcome: { status: 'completed' } });
    await expect(SagaTest.of(Reversal).failing('ship').run({})).rejects.toThrow(
      "'reverse' of reversal uses ctx.manager.query, but this SagaTest has no manager. Call .manager(fake)",
    );
  });

  test('gives a fake of another database layer as ctx.transaction', async () => {
    interface Client {
      query(text: string): Promise<string>;
    }
    @Saga({ name: 'pg-ledger' })
    class PgLedger {
      @Step({ transactional: true }) close({
        transaction,
      }: TransactionalStepContext<object, PgLedger, Client>) {
        return transaction.query('SELECT');
      }
    }
    const fake: Client = { query: async (text) => `${text} 1` };
    const { outcome } = await SagaTest.of(PgLedger).transaction(fake).run({});
    expect(outcome.results).toEqual({ close: 'SELECT 1' });
    await expect(SagaTest.of(PgLedger).run({})).rejects.toThrow(
      'With another database layer than TypeORM, call .transaction(fake).',
    );
  });

  test('refuses a start within ctx.manager', async () => {
    @Saga({ name: 'chain' })
    class Chain {
      constructor(private readonly sagas: SagaService) {}
      @Step({ transactional: true }) async next({ manager }: TransactionalStepContext<object>) {
        await this.sagas.start(LetterSaga, { to: 'ada' }, { manager });
      }
    }
    const chain = SagaTest.of(Chain, LetterSaga);
    await expect(chain.run({})).rejects.toThrow(/'next' of chain uses ctx\.manager.*\.manager\(fake\)/);
    const run = await chain.manager({ query: async () => [] }).run({});
    expect((await run.sagas.find({ saga: LetterSaga })).items).toHaveLength(1);
  });

  test('is found by everyFailure(), too', async () => {
    await expect(SagaTest.of(Reversal).everyFailure({}, () => undefined)).rejects.toThrow(
      /Call \.manager\(fake\)/,
    );
  });
});

test('everyFailure() times out only steps that have a timeout', async () => {
  @Saga({ name: 'mixed' })
  class Mixed {
    @Step() quick() {}
    @Step({ timeout: '10s' }) slow() {}
    @WaitFor({ signal: 'go', timeout: '1h' }) go() {}
  }
  const { points } = await SagaTest.of(Mixed)
    .signal('go')
    .everyFailure({}, () => undefined);
  const timedOut = points.filter(({ kind }) => kind === 'timed-out').map(({ name }) => name);
  expect(timedOut).toEqual(['slow times out after its side effect']);
});
