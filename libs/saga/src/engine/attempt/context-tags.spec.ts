import { type CompensationContext, Saga, Step, type StepContext, StepRejectedError } from '../../index.js';
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
