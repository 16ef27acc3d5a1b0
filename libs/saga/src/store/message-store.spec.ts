import { v5 as uuidOf } from 'uuid';
import { modelSubjects, postgresSubjects } from '../../../../test/contract/message-subject.contract.js';
import type {
  MessageSubject,
  MessageSubjects,
  OpenTransaction,
} from '../../../../test/contract/message-subject.contract.js';
import {
  describeMessageStore,
  message,
  payloadsOf,
} from '../../../../test/contract/message-store.contract.js';
import type { TakenLanes } from './postgres/outbox/postgres-outbox.js';

describeMessageStore('The model', modelSubjects);
describeMessageStore('PostgreSQL', postgresSubjects);

const RUNS = 40;
const STEPS = 60;
const NAMESPACE = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';

/** mulberry32 */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

/** What happens to an outbox: publishers that overlap, relays that send, fail, lose lanes, and operators. */
async function play(subject: MessageSubject, seed: number): Promise<unknown[]> {
  const roll = dice(seed);
  const keys = [...subject.keys.slice(0, 2), ...subject.otherKeys.slice(0, 1)];
  const open: OpenTransaction[] = [];
  const held: TakenLanes[] = [];
  const seen: unknown[] = [];
  let published = 0;
  const publish = async ({ manager }: OpenTransaction) => {
    const count = 1 + roll(4);
    const key = keys[roll(keys.length)]!;
    const messages = Array.from({ length: count }, () => {
      const name = `${key}:${(published += 1)}`;
      return message(key, name, uuidOf(name, NAMESPACE));
    });
    await subject.outbox.publish(subject.join(manager), messages);
  };
  const settle = async ({ lanes, messages }: TakenLanes) => {
    const [sent, behind, lines] = [[] as string[], [] as string[], new Map<string, string>()];
    const failed: { id: string; error: string; attempts: number; retryIn?: number }[] = [];
    const unfinished = new Set<number>();
    for (const { id, key, lane, attempts } of messages) {
      const line = lines.get(key) ?? ['sent', 'sent', 'sent', 'sent', 'failed', 'left'][roll(6)]!;
      if (lines.has(key) && line === 'failed') behind.push(id);
      else if (line === 'sent') sent.push(id);
      else if (line === 'left') unfinished.add(lane);
      else
        failed.push({ id, error: 'no', attempts: attempts + 1, retryIn: roll(4) === 0 ? undefined : 40_000 });
      if (line !== 'sent') lines.set(key, line);
    }
    await subject.outbox.settle(lanes, { sent, failed, behind, unfinished });
  };
  const actions: Record<string, () => Promise<unknown>> = {
    begin: async () => void open.push(await subject.begin()),
    publish: async () => open.length > 0 && publish(open[roll(open.length)]!),
    'publish at once': async () => {
      const transaction = await subject.begin();
      await publish(transaction);
      await transaction.commit();
    },
    commit: () => open.splice(roll(open.length), 1)[0]?.commit() ?? Promise.resolve(),
    rollback: () => open.splice(roll(open.length), 1)[0]?.rollback() ?? Promise.resolve(),
    take: async () => {
      const taken = await subject.outbox.take('relay', 30_000, {
        messages: [2, 4, 100][roll(3)]!,
        lanes: 64,
      });
      held.push(taken);
      seen.push(['take', payloadsOf(taken), taken.messages.map(({ attempts }) => attempts), taken.found]);
    },
    settle: async () => held.length > 0 && settle(held.splice(roll(held.length), 1)[0]!),
    renew: async () => {
      const taken = held[roll(held.length)];
      if (taken) seen.push(['renew', (await subject.outbox.renew(taken.lanes, 30_000)).length]);
    },
    'time passes': () => subject.advance([1_000, 20_000, 45_000, 70_000][roll(4)]!),
    operate: async () => {
      const ids = (await subject.outbox.dead(100)).map(({ id }) => id);
      seen.push(['operate', await subject.outbox[roll(2) === 0 ? 'requeue' : 'discard'](ids.slice(roll(2)))]);
    },
  };
  const weights = [
    ...['begin', 'publish', 'publish', 'publish at once', 'publish at once', 'commit', 'commit', 'rollback'],
    ...['take', 'take', 'take', 'settle', 'settle', 'settle', 'renew', 'time passes', 'operate'],
  ];
  for (let n = 0; n < STEPS; n += 1) {
    const name = weights[roll(weights.length)]!;
    seen.push(name);
    await actions[name]!();
  }
  for (const transaction of open) await transaction.rollback();
  return seen;
}

describe('the model, beside PostgreSQL', () => {
  let [model, postgres]: MessageSubjects[] = [];
  beforeAll(async () => {
    [model, postgres] = await Promise.all([modelSubjects(), postgresSubjects()]);
  });
  afterAll(() => postgres!.close());

  test.each(Array.from({ length: RUNS }, (_, n) => n + 1))(
    'gives the same messages, run %i',
    async (seed) => {
      const of = (subjects: MessageSubjects) => subjects.fresh().then((subject) => play(subject, seed));
      const [modelled, real] = [await of(model!), await of(postgres!)];
      const unnamed = (seen: unknown[], subjectKeys: readonly string[]) =>
        subjectKeys.reduce(
          (text, key, n) => text.replaceAll(`${key}:`, `key ${n}:`),
          JSON.stringify(seen, null, 1),
        );
      const keysOf = async (subjects: MessageSubjects) => {
        const { keys, otherKeys } = await subjects.fresh();
        return [...keys.slice(0, 2), otherKeys[0]!];
      };
      expect(unnamed(modelled, await keysOf(model!))).toEqual(unnamed(real, await keysOf(postgres!)));
    },
  );
});
