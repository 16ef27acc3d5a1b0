import { problemsIn, testOf, withSteps } from '../../../../test/fixtures/declared-saga.js';
import { describeSaga } from '../../../saga/src/diagram.js';
import { declareSaga } from '../index.js';

const declared = (...steps: string[]) => declareSaga(withSteps(...steps));
const DEBIT =
  'debit: { message: { topic: bank.commands, type: Debit, payload: { amount: "{{ input.amount }}" }, headers: { tenant: "t-{{ input.tenant }}" }';
const REPLY = 'reply: { signal: bank-reply, timeout: 1h, reject: "$not(payload.ok)", result: payload.id }';
const UNDO =
  'compensate: { message: { topic: bank.commands, type: Credit, payload: { id: "{{ result }}" } } }';
const FAIL = 'fail: { exec: { command: [sh, -c, "exit 9"], reject: [9] } }';
const input = { amount: 12, tenant: 7 };

describe('a step with message', () => {
  test('publishes it with its checkpoint, once for any number of attempts', async () => {
    const saga = await declared(`${DEBIT} } }`);
    const report = await testOf(saga).everyFailure(input, ({ snapshot, published }) => {
      const isDone = snapshot.steps.some(({ status }) => status === 'completed');
      expect(published.map(({ topic }) => topic)).toEqual(isDone ? ['bank.commands'] : []);
    });
    expect(report.points.length).toBeGreaterThan(4);
  });

  test('fills topic, key, type, payload and headers', async () => {
    const saga = await declared(
      `${DEBIT.replace('type: Debit', 'type: "Debit{{ input.tenant }}", key: "{{ saga.correlationId }}"')} } }`,
    );
    const { published, id } = await testOf(saga).run(input);
    expect(published).toEqual([
      {
        ...{ topic: 'bank.commands', type: 'Debit7', key: id, payload: { amount: 12 } },
        headers: expect.objectContaining({ tenant: 't-7', 'saga-id': id }),
      },
    ]);
  });

  test('that cannot be stored fails, and names the part', async () => {
    const saga = await declared('note: { message: { topic: "{{ input.topic }}" }, retry: { attempts: 1 } }');
    const { outcome, published } = await testOf(saga).run({ topic: 'x'.repeat(300) });
    expect(outcome.failure?.error).toMatchObject({
      code: 'SAGA_PAYLOAD',
      message: expect.stringContaining('topic'),
    });
    expect(published).toEqual([]);
  });
});

describe('a message with a reply', () => {
  test('is the two steps that a class has for it', async () => {
    const { steps } = describeSaga(
      await declared(
        FAIL,
        `${DEBIT}, ${REPLY} }, ${UNDO}, pivot: true }`,
        'last: { exec: { command: [echo] } }',
      ),
    );
    expect(
      steps.map(({ name, after, kind, compensation, pivot }) => [name, after, kind, compensation, pivot]),
    ).toEqual([
      ['fail', [], 'step', undefined, false],
      ['debit.send', ['fail'], 'step', 'debit.send.compensate', false],
      ['debit', ['debit.send'], 'signal', undefined, true],
      ['last', ['debit'], 'step', undefined, false],
    ]);
  });

  test('has the reply as its result', async () => {
    const saga = await declared(
      `${DEBIT}, ${REPLY} } }`,
      'say: { exec: { command: [echo, "{{ results.debit }}"] } }',
    );
    const { outcome, published } = await testOf(saga)
      .signal('bank-reply', { ok: true, id: 'd-1' })
      .run(input);
    expect(outcome.results).toMatchObject({ debit: 'd-1', say: 'd-1' });
    expect(published).toHaveLength(1);
  });

  test('is compensated with the reply as the result', async () => {
    const saga = await declared(`${DEBIT}, ${REPLY} }, ${UNDO} }`, FAIL);
    const { outcome, published } = await testOf(saga)
      .signal('bank-reply', { ok: true, id: 'd-1' })
      .run(input);
    expect(outcome.status).toBe('compensated');
    expect(published.map(({ type, payload }) => [type, payload])).toEqual([
      ['Debit', { amount: 12 }],
      ['Credit', { id: 'd-1' }],
    ]);
  });

  test('whose reply does not come is compensated, without a result', async () => {
    const saga = await declared(`${DEBIT}, ${REPLY} }, ${UNDO} }`);
    const { outcome, published } = await testOf(saga).run(input);
    expect(outcome).toMatchObject({ status: 'compensated', failure: { kind: 'timeout', step: 'debit' } });
    expect(published.map(({ type, payload }) => [type, payload])).toEqual([
      ['Debit', { amount: 12 }],
      ['Credit', {}],
    ]);
  });

  test('whose reply rejects was without effect: it is not compensated', async () => {
    const saga = await declared(`${DEBIT}, ${REPLY} }, ${UNDO} }`);
    const { outcome, published } = await testOf(saga).signal('bank-reply', { ok: false }).run(input);
    expect(outcome).toMatchObject({ status: 'compensated', failure: { kind: 'rejected', step: 'debit' } });
    expect(published.map(({ type }) => type)).toEqual(['Debit']);
  });

  test('is skipped as a whole by when, and waits for nothing', async () => {
    const saga = await declared(
      `${DEBIT}, ${REPLY} }, when: input.amount > 100, ${UNDO} }`,
      'say: { exec: { command: [echo, end] } }',
    );
    const { outcome, published } = await testOf(saga).run(input);
    expect(outcome).toMatchObject({ status: 'completed', results: { say: 'end' } });
    expect(published).toEqual([]);
    const asked = await testOf(saga)
      .signal('bank-reply', { ok: true, id: 'd-1' })
      .run({ ...input, amount: 101 });
    expect(asked.outcome.results).toMatchObject({ debit: 'd-1', say: 'end' });
  });

  test('passes the failure matrix: what was debited is credited, or the saga completed', async () => {
    const saga = await declared(`${DEBIT}, ${REPLY} }, ${UNDO} }`, 'say: { exec: { command: [echo, end] } }');
    const test = testOf(saga).signal('bank-reply', { ok: true, id: 'd-1' });
    const report = await test.everyFailure(input, ({ outcome, published }) => {
      const types = published.map(({ type }) => type).join();
      if (outcome.status === 'completed') expect(types).toBe('Debit');
      else expect(['', 'Debit', 'Debit,Credit']).toContain(types);
    });
    expect(report.points.length).toBeGreaterThan(12);
  });

  test('has findings at the lines of its keys', async () => {
    const problems = await problemsIn(withSteps(`${DEBIT}, reply: { signal: "approval:x" } } }`));
    expect(problems).toEqual([expect.stringMatching(/^3:\d+: step 'debit': .*approval:/)]);
  });
});

describe('a message cannot contain', () => {
  test.each(['secrets.key', 'env.TOKEN'])('%s, because it is stored', async (name) => {
    for (const part of [
      'topic: "{{ X }}"',
      'topic: t, payload: "{{ X }}"',
      'topic: t, headers: { h: "{{ X }}" }',
    ]) {
      const message = `message: { ${part.replace('X', name)} }`;
      const owner = name.split('.')[0];
      const refused = `${owner} cannot be used here, because the value is stored; use it in http and exec only`;
      for (const step of [`a: { ${message} }`, `a: { exec: { command: [ls] }, compensate: { ${message} } }`])
        expect(await problemsIn(`secrets: { key: k }\n${withSteps(step)}`)).toEqual([
          expect.stringMatching(new RegExp(`^4:\\d+: ${refused}$`)),
        ]);
    }
  });

  test('a reply in a compensation, and a probe cannot be one', async () => {
    expect(
      await problemsIn(
        withSteps(
          'a: { exec: { command: [ls] }, compensate: { message: { topic: t, reply: { signal: s } } } }',
        ),
      ),
    ).toEqual([expect.stringContaining("message has the unknown key 'reply'")]);
    expect(
      await problemsIn(withSteps('a: { exec: { command: [ls] }, probe: { message: { topic: t } } }')),
    ).toEqual([expect.stringContaining("unknown key 'message'")]);
  });
});
