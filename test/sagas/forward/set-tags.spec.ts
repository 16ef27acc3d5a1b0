import {
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  type TransactionalStepContext,
} from '../../../libs/saga/src/index.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const repeated = new Set<string>();

@Saga({ name: 'parcel' })
class ParcelSaga {
  @Step() choose(ctx: StepContext<{ carrier: string; fails?: boolean }>) {
    ctx.setTags({ carrier: ctx.input.carrier });
  }
  @Step({ transactional: true }) async book(
    ctx: TransactionalStepContext<{ carrier: string; fails?: boolean }>,
  ) {
    // The transaction fails to serialize, and is repeated: what it set does not count.
    if (repeated.has(ctx.sagaId)) ctx.setTags({ booked: 'yes' });
    else {
      repeated.add(ctx.sagaId);
      ctx.setTags({ conflicts: 'yes' });
      await ctx.manager.query(`DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`);
    }
    if (ctx.input.fails) throw new StepRejectedError('no');
  }
  @Step() look(ctx: StepContext) {
    return ctx.tags;
  }
}

test('tags that steps have set are found, in steps with a transaction and without, and of a lost transaction are not', async () => {
  const { sagas } = await apps.start({ sagas: [ParcelSaga] });
  const parcels = await Promise.all(
    ['dhl', 'dhl', 'ups'].map((carrier, n) =>
      sagas.start(ParcelSaga, { carrier, fails: n === 1 }, { tags: { tenant: 'acme', carrier: 'none' } }),
    ),
  );
  const ends = await Promise.all(parcels.map((saga) => saga.outcome()));
  expect(ends.map(({ status }) => status)).toEqual(['completed', 'compensated', 'completed']);
  const tags = { tenant: 'acme', carrier: 'dhl', booked: 'yes' };
  expect(ends[0]!.results.look).toEqual(tags);
  expect((await sagas.get(parcels[0]!.id)).tags).toEqual(tags);
  expect((await sagas.get(parcels[1]!.id)).tags).toEqual({ tenant: 'acme', carrier: 'dhl' });
  const found = async (tags: Record<string, string>) =>
    (await sagas.find({ tags })).items.map(({ id }) => id).sort();
  expect(await found({ carrier: 'dhl' })).toEqual([parcels[0]!.id, parcels[1]!.id].sort());
  expect(await found({ carrier: 'dhl', booked: 'yes' })).toEqual([parcels[0]!.id]);
  expect(await found({ carrier: 'none' })).toEqual([]);
});
