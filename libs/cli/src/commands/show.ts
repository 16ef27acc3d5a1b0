import type { SagaSnapshot } from 'nestjs-durable-saga';
import type { HistoryEntry } from 'nestjs-durable-saga/operators';
import { type SagaGraph, describeOperation, withoutGiven } from 'nestjs-durable-saga/internal';
import { option, shows } from '../command.js';
import { followSaga } from '../follow-saga.js';
import { type OperatorSession, readTarget, TARGET } from '../operator-session.js';
import { sagaCommand } from '../session.js';
import { columns } from '../text/columns.js';
import { exitOf } from '../text/format.js';
import { pageOf, withoutPayloads } from '../text/saga-page.js';
import { paintOn } from '../text/style.js';
import { readTime } from '../values.js';

const PAYLOADS_OPTION = {
  payloads: option.flag('also show inputs and results, which may contain secrets'),
} as const;

export const show = sagaCommand({
  words: 'show',
  operands: [TARGET],
  summary: 'Shows a saga: its status, what it waits for, its steps and its timeline',
  examples: [
    'saga show place-order/order-1234',
    'saga show 019aa7c4-8f3e-7a52-b1c3-5d0a4b7e9f10 --payloads --json',
  ],
  options: PAYLOADS_OPTION,
  run: async ({ operands: [written], values: { payloads }, terminal }, operated) => {
    const { sagas, operations, running } = operated;
    const target = readTarget(written!, operated);
    const found = await sagas.get(target);
    const { redactedSnapshot } = await import('nestjs-durable-saga-admin/internal');
    const saga = redactedSnapshot(found, ...graphsOf(found, operated));
    const history = await seenHistory(await operations.history(target), found, operated, payloads);
    const options = { paint: paintOn(terminal), now: running.engine.now(), payloads };
    return shows({ ...(payloads ? saga : withoutPayloads(saga)), history }, pageOf(saga, history, options));
  },
});

export const history = sagaCommand({
  words: 'history',
  operands: [TARGET],
  summary: 'Shows the operator actions on a saga: operator, time and reason',
  examples: ['saga history place-order/order-1234'],
  options: PAYLOADS_OPTION,
  run: async ({ operands: [written], values: { payloads } }, operated) => {
    const target = readTarget(written!, operated);
    const saga = await operated.sagas.get(target);
    const entries = await seenHistory(await operated.operations.history(target), saga, operated, payloads);
    const rows = entries.map((entry) => [entry.at.toISOString(), describeOperation(entry)]);
    const notes = rows.length === 0 ? ['No operator has acted on it'] : [];
    return { ...shows(entries, columns(rows)), notes };
  },
});

export const watch = sagaCommand({
  words: 'watch',
  operands: [TARGET],
  summary: 'Follows a saga until it ends or needs attention',
  details:
    'Exit code: 0 if it completed; 1 if it was compensated or aborted, or needs attention; 2 after --timeout. ' +
    '--json prints a line for each change.',
  examples: ['saga watch place-order/order-1234 --timeout 10m'],
  options: {
    timeout: option.text('<duration>', 'the maximum time to wait: 30s, 10m; default: no limit'),
    interval: option.text('<duration>', 'the time after which it is drawn again; default: 500ms'),
  },
  prepare: ({ values: { timeout, interval } }) => ({
    timeout: readTime(timeout, 'timeout'),
    interval: readTime(interval, 'interval'),
  }),
  run: async ({ operands: [written], values: { json }, terminal }, operated, times) =>
    exitOf(await followSaga(operated, readTarget(written!, operated), terminal, { json, ...times })),
});

/** What operators did, as it may be seen. */
async function seenHistory(
  entries: readonly HistoryEntry[],
  saga: SagaSnapshot,
  operated: OperatorSession,
  payloads = false,
): Promise<HistoryEntry[]> {
  if (!payloads) return entries.map(withoutGiven);
  const { redactedHistory } = await import('nestjs-durable-saga-admin/internal');
  return redactedHistory(entries, ...graphsOf(saga, operated));
}

/** The graph of a saga, if it is stored, and all graphs of a name: they say what of its payloads may be seen. */
function graphsOf(
  { saga, version }: SagaSnapshot,
  { running }: OperatorSession,
): [SagaGraph | undefined, (name: string) => SagaGraph[]] {
  const graphs = running.registry.all.map(({ graph }) => graph);
  return [
    graphs.find((one) => one.name === saga && one.version === version),
    (name) => graphs.filter((one) => one.name === name),
  ];
}
