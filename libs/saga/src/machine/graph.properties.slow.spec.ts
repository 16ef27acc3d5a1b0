import { describePromises } from '../../../../test/oracle/describe-promises.js';
import type { Play } from '../../../../test/oracle/model-entries.js';
import type { RandomGraph } from '../../../../test/oracle/random-graph.js';
import {
  Counts,
  endsOf,
  waysOfChildren,
  waysOfSlots,
  waysOfTurns,
  waysOfWaits,
} from '../../../../test/oracle/ways-of-plays.js';

/** More of them: GRAPH_RUNS=100000; others: GRAPH_SEED, with the seed of a message the same again. */
const RUNS = Number(process.env.GRAPH_RUNS ?? 3_000);
const SEED = Number(process.env.GRAPH_SEED ?? 1);

// What was counted of a play is all that is kept of it: together they would fill the memory.
const ends = new Counts();
const children = new Counts();
const waits = new Counts();
const turns = new Counts();
const slots = new Counts();

describePromises({ runs: RUNS, seed: SEED, onPlay: count });

// With a few of them, as when a seed is played again, not every way is found.
(RUNS < 3_000 ? describe.skip : describe)('the sagas of the promises', () => {
  it('come to every end, by every way', () => {
    const wanted = [
      ...['completed', 'compensated', 'aborted', 'stuck', 'suspended', 'returned', 'raced'],
      ...['went on without an optional step', 'undid an optional step, and went on', 'undone after all'],
    ];
    expect(ends.rarerThan(10, wanted)).toEqual([]);
  });

  it('start others, which come to every end, asked or not', () => {
    const wanted = [
      ...['began: completed', 'began: compensated', 'began: aborted'],
      ...['was cancelled: completed', 'was cancelled: compensated', 'was cancelled: aborted'],
      ...['was to be undone: compensated', 'was to be undone: aborted', 'refused to be undone'],
    ];
    expect(children.rarerThan(5, wanted)).toEqual([]);
  });

  it('wait for signals that come early, in time, twice, without a waiter, or not at all', () => {
    const wanted = [
      ...[
        'wait-started',
        'signalled',
        'refused',
        'wait-expired',
        'a refusal is sent',
        'nobody',
        'sent again',
      ],
      ...['a wait is cut', 'a wait is rolled back', 'called again'],
      ...['compensation-requested', 'reply-received', 'a reply is missed'],
    ];
    expect(waits.rarerThan(10, wanted)).toEqual([]);
  });

  it('begin when a rate limit lets them, or ask again, and wait for approvals of several operators', () => {
    const wanted = [
      ...['has to wait', 'begins', 'asks again', 'has no key', 'is over before its turn'],
      ...['approve: sent', 'approve: counted', 'approve: refused', 'reject: sent', 'reject: refused'],
    ];
    expect(turns.rarerThan(10, wanted)).toEqual([]);
  });

  it('wait for slots, ask again, have them later, or are not to begin any more', () => {
    const wanted = [
      ...['waits', 'waits as an item', 'waits as an optional step', 'waits though it runs at most once'],
      ...[
        'waits though it has a probe',
        'waits in a join any',
        'waits after a delay',
        'waits for its next attempt',
      ],
      ...['has a slot at once', 'has a slot later', 'asks again, and waits on', 'asks again after a crash'],
      ...['something begins beside what waits', 'may have begun with a lost worker'],
      ...['is cut while it waits', 'is cancelled while it waits', 'is rolled back while it waits'],
    ];
    expect(slots.rarerThan(10, wanted)).toEqual([]);
  });
});

function count({ graph }: RandomGraph, play: Play): void {
  ends.add(...endsOf(play));
  children.add(...waysOfChildren(play.entries));
  waits.add(...waysOfWaits(play.entries));
  turns.add(...waysOfTurns(play.entries));
  slots.add(...waysOfSlots(graph, play.entries));
}
