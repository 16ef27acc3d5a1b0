import {
  type CompensationContext,
  Saga,
  type SagaError,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  UnknownOutcomeError,
} from '../../index.js';
import { SagaTest } from '../../testing/index.js';

let seen: object[];
beforeEach(() => (seen = []));

@Saga({ name: 'tagged' })
class TaggedSaga {
  @Step({ compensate: 'undo' }) act({ tags }: StepContext) {
    seen.push({ ...tags });
    (tags as Record<string, string>).tenant = 'another';
  }
  undo({ tags }: CompensationContext) {
    seen.push(tags);
  }
  @Step() fail() {
    throw new StepRejectedError('no');
  }
}

test('methods see the tags of their saga, each a copy of its own', async () => {
  const run = await SagaTest.of(TaggedSaga).run({}, { tags: { tenant: 'acme' } });
  expect(run.outcome.status).toBe('compensated');
  expect(seen).toEqual([{ tenant: 'acme' }, { tenant: 'acme' }]);
  expect(run.snapshot.tags).toEqual({ tenant: 'acme' });
});

test('a saga without tags has none', async () => {
  await SagaTest.of(TaggedSaga).run({});
  expect(seen).toEqual([{}, {}]);
});

describe('setTags()', () => {
  @Saga({ name: 'setting' })
  class SettingSaga {
    private attempts = 0;
    @Step({ retry: { attempts: 2, delay: 1 }, compensate: 'undo' }) choose(
      ctx: StepContext<{ ends?: string }>,
    ) {
      this.attempts += 1;
      if (this.attempts === 1) {
        ctx.setTags({ failed: 'yes', carrier: 'none' });
        throw new Error('not now');
      }
      ctx.setTags({ carrier: 'dhl', draft: null });
      ctx.setTags({ region: 'eu' });
      seen.push(ctx.tags);
    }
    undo(ctx: CompensationContext) {
      ctx.setTags({ carrier: null, refunded: 'yes' });
    }
    @Step() look(ctx: StepContext<{ ends?: string }>) {
      seen.push(ctx.tags);
      if (ctx.input.ends === 'rejected') throw new StepRejectedError('no');
    }
  }

  test('changes the tags with the result of the step, and null removes one; an attempt that fails changes none', async () => {
    const run = await SagaTest.of(SettingSaga).run({}, { tags: { tenant: 'acme', draft: 'yes' } });
    const tags = { tenant: 'acme', carrier: 'dhl', region: 'eu' };
    expect(run.outcome.status).toBe('completed');
    expect(seen).toEqual([tags, tags]);
    expect(run.snapshot.tags).toEqual(tags);
  });

  test('in a compensation changes them as well', async () => {
    const run = await SagaTest.of(SettingSaga).run({ ends: 'rejected' });
    expect(run.outcome.status).toBe('compensated');
    expect(run.snapshot.tags).toEqual({ region: 'eu', refunded: 'yes' });
  });

  test('of steps side by side adds up, and a sub-saga begins with the tags of its parent as they are then', async () => {
    @Saga({ name: 'inner' })
    class InnerSaga {
      @Step() look({ tags }: StepContext) {
        seen.push(tags);
      }
    }
    @Saga({ name: 'outer' })
    class OuterSaga {
      @Step({ after: [] }) one(ctx: StepContext) {
        ctx.setTags({ one: '1' });
      }
      @Step({ after: [] }) two(ctx: StepContext) {
        ctx.setTags({ two: '2' });
      }
      @SubSaga(() => InnerSaga, { after: ['one', 'two'] }) inner() {
        return {};
      }
    }
    const run = await SagaTest.of(OuterSaga).run({});
    expect(run.snapshot.tags).toEqual({ one: '1', two: '2' });
    expect(seen).toEqual([{ one: '1', two: '2' }]);
  });

  test('is refused outside of a method, and what are no tags is refused with the reason', async () => {
    const errors: unknown[] = [];
    const attempt = (call: () => void) => {
      try {
        call();
      } catch (error) {
        errors.push(error);
      }
    };
    let kept: StepContext;
    @Saga({ name: 'refused' })
    class RefusedSaga {
      @Step() wrong(ctx: StepContext) {
        kept = ctx;
        attempt(() => ctx.setTags({ region: 7 as unknown as string }));
      }
      @Step({
        when: (ctx) => {
          attempt(() => ctx.setTags({ region: 'eu' }));
          return true;
        },
      })
      after() {
        attempt(() => kept.setTags({ region: 'eu' }));
      }
    }
    const run = await SagaTest.of(RefusedSaga).run({});
    expect(run.snapshot.tags).toEqual({});
    expect(errors.map((error) => (error as SagaError).code)).toEqual([
      'SAGA_VALIDATION',
      'SAGA_STATE',
      'SAGA_STATE',
    ]);
  });

  test('of a probe that finds the step done counts, and that of the attempt it asks about does not', async () => {
    @Saga({ name: 'probed' })
    class ProbedSaga {
      @Step({ probe: 'ask' }) pay(ctx: StepContext): number {
        ctx.setTags({ paid: 'perhaps' });
        throw new UnknownOutcomeError('no answer');
      }
      ask(ctx: StepContext) {
        ctx.setTags({ asked: 'yes' });
        return { done: 1 };
      }
    }
    const run = await SagaTest.of(ProbedSaga).run({});
    expect(run.snapshot.tags).toEqual({ asked: 'yes' });
  });
});
