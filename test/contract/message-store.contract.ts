import type { EntityManager } from 'typeorm';
import type { Settlement, TakenLanes } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import type { MessageSubject, MessageSubjects } from './message-subject.contract.js';

const LEASE = 30_000;
const ALL = { messages: 100, lanes: 64 };
const PAGE = { messages: 2, lanes: 64 };
const NOTHING: Settlement = { sent: [], failed: [], behind: [], unfinished: new Set() };

export const message = (key: string, payload: string, id = newId()) => ({
  ...{ id, topic: 't', key, type: 'note', payload: JSON.stringify(payload) },
  headers: { by: 'test' },
});
export const payloadsOf = ({ messages }: TakenLanes): unknown[] =>
  messages.map(({ payload }) => JSON.parse(payload) as unknown);

/** What relays and handlers rely on, of PostgreSQL and of the model by which the simulation goes. */
export function describeMessageStore(name: string, create: () => Promise<MessageSubjects>): void {
  describe(`${name} is an outbox and an inbox`, () => {
    let subjects: MessageSubjects;
    let subject: MessageSubject;
    beforeAll(async () => (subjects = await create()));
    beforeEach(async () => (subject = await subjects.fresh()));
    afterAll(() => subjects.close());

    const publishIn = (manager: EntityManager, key: string, ...payloads: string[]) =>
      subject.outbox.publish(
        subject.join(manager),
        payloads.map((payload) => message(key, payload)),
      );
    const publish = async (key: string, ...payloads: string[]) => {
      const { manager, commit } = await subject.begin();
      await publishIn(manager, key, ...payloads);
      await commit();
    };
    const take = (most = ALL, relay = 'relay-1') => subject.outbox.take(relay, LEASE, most);
    const settleAs = (taken: TakenLanes, settlement: Partial<Settlement>) =>
      subject.outbox.settle(taken.lanes, { ...NOTHING, ...settlement });
    const sent = (taken: TakenLanes) => settleAs(taken, { sent: taken.messages.map(({ id }) => id) });
    const failedAt = (taken: TakenLanes, n: number, retryIn?: number) => ({
      ...{ id: taken.messages[n]!.id, error: 'no', attempts: taken.messages[n]!.attempts + 1, retryIn },
    });
    /** Takes and sends until nothing is left. */
    const drain = async (most = ALL) => {
      const payloads: unknown[] = [];
      for (let taken = await take(most); taken.found; taken = await take(most)) {
        payloads.push(...payloadsOf(taken));
        await sent(taken);
      }
      return payloads;
    };

    describe('a message', () => {
      test('is there when its transaction has committed, as it was published', async () => {
        const [key] = subject.keys as [string];
        const { manager, commit } = await subject.begin();
        const published = message(key, 'a');
        await subject.outbox.publish(subject.join(manager), [published]);
        expect((await take()).found).toBe(false);
        await commit();
        const taken = await take();
        expect(taken.messages).toMatchObject([{ ...published, lane: taken.lanes[0]!.lane, attempts: 0 }]);
      });

      test('was never there if its transaction, or the savepoint before it, is rolled back', async () => {
        const [key] = subject.keys as [string];
        const { manager, rollback } = await subject.begin();
        await publishIn(manager, key, 'no');
        await rollback();
        const outer = await subject.begin();
        await publishIn(outer.manager, key, 'before');
        const nested = outer.manager.transaction(async (inner) => {
          await publishIn(inner, key, 'within');
          throw new Error('back');
        });
        await expect(nested).rejects.toThrow('back');
        await publishIn(outer.manager, key, 'after');
        await outer.commit();
        expect(await drain()).toEqual(['before', 'after']);
      });

      test('is stored once, however often it is published under its id', async () => {
        const [key] = subject.keys as [string];
        for (const payload of ['first', 'again']) {
          const { manager, commit } = await subject.begin();
          await subject.outbox.publish(subject.join(manager), [
            message(key, payload, '01900000-0000-7000-8000-000000000001'),
          ]);
          await commit();
        }
        expect(await drain()).toEqual(['first']);
      });

      test('is refused in a transaction that is aborted, whose commit stores nothing', async () => {
        const [key] = subject.keys as [string];
        const transaction = await subject.begin();
        await publishIn(transaction.manager, key, 'before');
        await subject.fail(transaction);
        const refused = publishIn(transaction.manager, key, 'after');
        await expect(refused).rejects.toMatchObject({ code: 'SAGA_TRANSACTION' });
        await transaction.commit();
        expect(await drain()).toEqual([]);
      });
    });

    describe('a lane', () => {
      test('is one relay’s at a time, until its lease runs out', async () => {
        await publish(subject.keys[0]!, 'a', 'b');
        const first = await take();
        expect((await take(ALL, 'relay-2')).found).toBe(false);
        await subject.advance(LEASE + 1_000);
        const second = await take(ALL, 'relay-2');
        expect(payloadsOf(second)).toEqual(['a', 'b']);
        expect(Number(second.lanes[0]!.epoch)).toBeGreaterThan(Number(first.lanes[0]!.epoch));
      });

      test('that was lost is deleted from, and otherwise left to its new holder', async () => {
        await publish(subject.keys[0]!, 'a', 'b', 'c');
        const first = await take();
        await subject.advance(LEASE + 1_000);
        const second = await take();
        const behind = [first.messages[2]!.id];
        await settleAs(first, { sent: [first.messages[0]!.id], failed: [failedAt(first, 1)], behind });
        expect(await subject.outbox.renew(first.lanes, LEASE)).toEqual([]);
        expect((await take()).found).toBe(false);
        await sent(second);
        expect(await subject.outbox.dead(10)).toEqual([]);
        expect(await drain()).toEqual([]);
      });

      test('is kept by a relay that renews its lease in time', async () => {
        await publish(subject.keys[0]!, 'a');
        const taken = await take();
        for (let n = 0; n < 3; n += 1) {
          await subject.advance(LEASE / 2);
          expect(await subject.outbox.renew(taken.lanes, LEASE)).toEqual([taken.lanes[0]!.lane]);
        }
        expect((await take()).found).toBe(false);
      });

      test('is named to its relay, which gives it back without its messages', async () => {
        await publish(subject.keys[0]!, 'a', 'b');
        const { lanes } = await take();
        expect(await subject.outbox.lanesOf('relay-2')).toEqual([]);
        expect(await subject.outbox.lanesOf('relay-1')).toEqual(lanes);
        const unfinished = new Set(lanes.map(({ lane }) => lane));
        await subject.outbox.settle(lanes, { ...NOTHING, unfinished });
        expect(await subject.outbox.lanesOf('relay-1')).toEqual([]);
        expect(await drain()).toEqual(['a', 'b']);
      });

      test('that was released with unsent messages is read again from the first of them', async () => {
        await publish(subject.keys[0]!, 'a', 'b', 'c', 'd');
        const taken = await take(PAGE);
        await settleAs(taken, { sent: [taken.messages[0]!.id], unfinished: new Set([taken.lanes[0]!.lane]) });
        expect(await drain(PAGE)).toEqual(['b', 'c', 'd']);
      });

      test('is taken with others, up to the number asked for, the one that waited longest first', async () => {
        await publish(subject.keys[0]!, 'a', 'b');
        await publish(subject.otherKeys[0]!, 'c');
        const one = await take({ messages: 1, lanes: 1 });
        await sent(one);
        const other = await take({ messages: 1, lanes: 1 });
        await sent(other);
        expect([...payloadsOf(one), ...payloadsOf(other)].sort()).toEqual(['a', 'c']);
        expect(await drain()).toEqual(['b']);
      });
    });

    describe('what failed', () => {
      test('is held until it is due again, with what comes behind it, and no other key', async () => {
        const [key, other] = subject.keys as [string, string];
        await publish(key, 'a', 'b');
        await publish(other, 'x');
        const taken = await take();
        const sentIds = taken.messages.filter((one) => one.key === other).map(({ id }) => id);
        const [a, b] = taken.messages.filter((one) => one.key === key) as [
          TakenLanes['messages'][0],
          TakenLanes['messages'][0],
        ];
        await settleAs(taken, {
          sent: sentIds,
          failed: [{ id: a.id, error: 'no', attempts: 1, retryIn: 60_000 }],
          behind: [b.id],
        });
        await publish(key, 'c');
        await publish(other, 'y');
        expect(await drain()).toEqual(['y']);
        await subject.advance(61_000);
        const again = await take();
        expect([payloadsOf(again), again.messages[0]!.attempts]).toEqual([['a'], 1]);
        await sent(again);
        expect(await drain()).toEqual(['b', 'c']);
      });

      test('holds what comes behind it in a lane in which nothing was held before', async () => {
        const [key] = subject.keys as [string];
        await publish(key, 'sent');
        expect(await drain()).toEqual(['sent']);
        await publish(key, 'a');
        const taken = await take();
        await settleAs(taken, { failed: [failedAt(taken, 0, 60_000)] });
        await publish(key, 'b');
        expect(await drain()).toEqual([]);
        await subject.advance(61_000);
        expect(await drain()).toEqual(['a', 'b']);
      });

      test('permanently holds what comes behind it, however often its lane is read from the beginning', async () => {
        const [key, other] = subject.keys as [string, string];
        await publish(key, 'a');
        const taken = await take();
        await settleAs(taken, { failed: [failedAt(taken, 0)] });
        for (const [n, payload] of ['b', 'c', 'd'].entries()) {
          await subject.advance(120_000);
          await publish(other, `x${n}`);
          expect(await drain()).toEqual([`x${n}`]);
          await publish(key, payload);
          expect(await drain()).toEqual([]);
        }
        expect(await subject.outbox.requeue([taken.messages[0]!.id])).toBe(1);
        expect(await drain()).toEqual(['a', 'b', 'c', 'd']);
      });

      test('is dead without a time to be tried again, and goes on when it is requeued', async () => {
        const [key] = subject.keys as [string];
        await publish(key, 'a', 'b');
        const taken = await take();
        await settleAs(taken, { failed: [failedAt(taken, 0)], behind: [taken.messages[1]!.id] });
        await subject.advance(3_600_000);
        expect(await drain()).toEqual([]);
        const [dead] = await subject.outbox.dead(10);
        expect(dead).toMatchObject({ payload: '"a"', error: 'no', attempts: 1 });
        expect(await subject.outbox.dead(10, { deadAt: dead!.deadAtText, id: dead!.id })).toEqual([]);
        expect([await subject.outbox.requeue([dead!.id]), await subject.outbox.requeue([dead!.id])]).toEqual([
          1, 0,
        ]);
        expect(await drain()).toEqual(['a', 'b']);
      });

      test.each(
        (['before', 'after'] as const).flatMap((when) => [0, 1].map((attempts) => ({ when, attempts }))),
      )(
        'and was sent by a relay that had lost its lane and settles $when its holder lets those behind it go (attempts: $attempts)',
        async ({ when, attempts }) => {
          await publish(subject.keys[0]!, 'a', 'b', 'c');
          const late = await take(ALL, 'relay-1');
          await subject.advance(LEASE + 1_000);
          const holds = await take(ALL, 'relay-2');
          const [a, b, c] = holds.messages.map(({ id }) => id) as [string, string, string];
          if (when === 'before') await settleAs(late, { sent: [a] });
          await settleAs(holds, {
            failed: [{ ...failedAt(holds, 0, 600_000), attempts }],
            behind: [b, c],
          });
          if (when === 'after') await settleAs(late, { sent: [a] });
          expect(await drain()).toEqual(['b', 'c']);
        },
      );

      test('and is discarded lets those behind it go', async () => {
        const [key] = subject.keys as [string];
        await publish(key, 'a', 'b');
        const taken = await take();
        await settleAs(taken, { failed: [failedAt(taken, 0)], behind: [taken.messages[1]!.id] });
        const ids = taken.messages.map(({ id }) => id);
        expect(await subject.outbox.discard(ids)).toBe(1);
        expect(await drain()).toEqual(['b']);
      });
    });

    describe('transactions that followed each other', () => {
      test.each(['publisher', 'stranger'])(
        'are in order past a page that was read while a %s was open',
        async (who) => {
          const [key, other] = subject.keys as [string, string];
          const stranger = await subject.begin();
          if (who === 'stranger') await publishIn(stranger.manager, other, 'z');
          const first = await subject.begin();
          await publishIn(first.manager, key, 'K:0');
          await publish(other, 'a', 'b', 'c', 'd', 'e');
          await sent(await take(PAGE));
          const page = await take(PAGE);
          await first.commit();
          await publish(key, 'K:1');
          await sent(page);
          if (who === 'stranger') await stranger.rollback();
          const rest = await drain(PAGE);
          expect(rest.filter((payload) => String(payload).startsWith('K'))).toEqual(['K:0', 'K:1']);
          if (who === 'publisher') await stranger.rollback();
        },
      );

      test('are in order with what was held while the first one was open', async () => {
        const [key] = subject.keys as [string];
        await publish(key, 'a');
        const taken = await take();
        const late = await subject.begin();
        await publishIn(late.manager, key, 'b');
        await settleAs(taken, { failed: [failedAt(taken, 0, 60_000)] });
        await late.commit();
        await publish(key, 'c');
        expect(await drain()).toEqual([]);
        await subject.advance(61_000);
        expect(await drain()).toEqual(['a', 'b', 'c']);
      });
    });

    describe('the inbox', () => {
      test('notes a message once, for each consumer', async () => {
        const { manager, commit } = await subject.begin();
        const noted: boolean[] = [];
        for (const consumer of ['one', 'two', 'one'])
          noted.push(await subject.inbox.isNew(subject.join(manager), consumer, 'm'));
        await commit();
        expect(noted).toEqual([true, true, false]);
        const later = await subject.begin();
        expect(await subject.inbox.isNew(subject.join(later.manager), 'one', 'm')).toBe(false);
        await later.rollback();
      });

      test.each(['commit', 'rollback', 'abort'] as const)(
        'makes the second of two transactions wait for the end of the first: %s',
        async (how) => {
          const [first, second] = [await subject.begin(), await subject.begin()];
          expect(await subject.inbox.isNew(subject.join(first.manager), 'one', 'm')).toBe(true);
          const waiting = subject.inbox.isNew(subject.join(second.manager), 'one', 'm');
          let isOver = false;
          void waiting.then(() => (isOver = true));
          await take();
          expect(isOver).toBe(false);
          if (how === 'abort') await subject.fail(first);
          await (how === 'rollback' ? first.rollback() : first.commit());
          expect(await waiting).toBe(how !== 'commit');
          await second.commit();
        },
      );
    });
  });
}
