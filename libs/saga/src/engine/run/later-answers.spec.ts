import { graphOf, sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { gate, portsTo, runOf, SAGA } from '../../../../../test/fixtures/run-of.js';
import { Later } from '../../shared/later.js';
import type { Checkpoint } from '../ports/checkpoint.js';

const answering = (answer: () => Promise<unknown>) => () => new Later(answer()) as never;

describe('an answer of when or forEach that arrives later', () => {
  test('holds back its own step, and no other one', async () => {
    const [paid, known] = [gate(), gate()];
    const calls: string[] = [];
    const graph = graphOf(
      stepOf('gift', { when: answering(() => known.passed.then(() => true)) }),
      stepOf('pay'),
    );
    const written: Checkpoint[] = [];
    const ended = runOf(
      SAGA,
      graph,
      (method) => {
        calls.push(method);
        paid.open();
        return method;
      },
      portsTo(written),
    ).advance();
    await paid.passed;
    await new Promise((resolve) => setImmediate(resolve));
    expect(written.at(-1)?.state.steps.get('pay')?.status).toBe('completed');
    expect(calls).toEqual(['pay']);
    known.open();
    await ended;
    expect(calls).toEqual(['pay', 'gift']);
    expect(written.at(-1)?.state.status).toBe('completed');
  });

  test.each([
    ['false', () => Promise.resolve<unknown>(false), 'completed', 'skipped'],
    ['no boolean', () => Promise.resolve<unknown>('yes'), 'compensated', 'failed'],
    ['an error', () => Promise.reject<unknown>(new Error('it took too long')), 'compensated', 'failed'],
  ])('counts as one that is there at once: %s', async (_, answer, saga, step) => {
    const written: Checkpoint[] = [];
    const graph = sequenceOf(stepOf('gift', { when: answering(answer) }));
    await runOf(SAGA, graph, () => 1, portsTo(written)).advance();
    expect(written.at(-1)?.state.status).toBe(saga);
    expect(written.at(-1)?.state.steps.get('gift')).toMatchObject({ status: step });
  });

  test('gives the items of a fan-out', async () => {
    const written: Checkpoint[] = [];
    const graph = sequenceOf(stepOf('ship', { forEach: answering(() => Promise.resolve(['a', 'b'])) }));
    await runOf(SAGA, graph, (_, context) => (context as { item?: string }).item, portsTo(written)).advance();
    expect(written.at(-1)?.state).toMatchObject({ status: 'completed' });
    expect(written.at(-1)?.state.steps.get('ship[1]')?.result).toBe('"b"');
  });

  test('is taken once: a step that waits if it is true runs when its signal has come', async () => {
    const written: Checkpoint[] = [];
    const paid = {
      kind: 'signal',
      wait: { signal: 'paid' },
      when: answering(() => Promise.resolve(true)),
    } as const;
    const signals = [{ number: 1, name: 'paid', messageId: 'm-1', payload: '7', at: 0 }];
    // Asked for again and again, an answer would leave no turn to a time limit of the test.
    const when = { asked: 0 };
    const counted = () => {
      if ((when.asked += 1) > 100) throw new Error('it is decided again and again');
      return 0;
    };
    const ports = { ...portsTo(written), now: counted };
    const run = runOf({ ...SAGA, signals }, sequenceOf(stepOf('pay', paid)), () => 'paid', ports);
    await run.advance();
    expect(written.at(-1)?.state).toMatchObject({ status: 'completed' });
    expect(written.at(-1)?.state.steps.get('pay')?.result).toBe('"paid"');
  });

  test('starts nothing in a saga that was cancelled meanwhile', async () => {
    const known = gate();
    const calls: string[] = [];
    const written: Checkpoint[] = [];
    const graph = sequenceOf(
      stepOf('pay'),
      stepOf('gift', { when: answering(() => known.passed.then(() => true)) }),
    );
    const asked = gate();
    const run = runOf(
      SAGA,
      graph,
      (method) => {
        calls.push(method);
        asked.open();
        return 1;
      },
      portsTo(written),
    );
    const ended = run.advance();
    await asked.passed;
    await new Promise((resolve) => setImmediate(resolve));
    run.cancel('too late');
    await ended;
    known.open();
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toEqual(['pay', 'undo pay']);
    expect(written.at(-1)?.state.status).toBe('compensated');
  });
});
