import type { HistoryEntry } from '../../nest/views/saga-history.js';
import type { SagaSnapshot } from '../../nest/views/saga-snapshot.js';
import { command, EXIT, JSON_OPTION, option } from '../command.js';
import { withoutGiven } from '../../nest/views/describe-operation.js';
import { operating } from '../session.js';
import { type OperatorSession, SAGA_OPTIONS } from '../operator-session.js';
import { pageOf, withoutPayloads } from '../text/saga-page.js';
import { paintOn } from '../text/style.js';
import { readTarget, TARGET } from '../target.js';

export const PAYLOADS_OPTION = {
  payloads: option.flag('also show inputs and results, which may contain secrets'),
} as const;

export const show = command({
  words: 'show',
  operands: [TARGET],
  summary: 'Shows a saga: its status, what it waits for, its steps and its timeline',
  examples: [
    'saga show place-order/order-1234',
    'saga show 019aa7c4-8f3e-7a52-b1c3-5d0a4b7e9f10 --payloads --json',
  ],
  options: { ...SAGA_OPTIONS, ...JSON_OPTION, ...PAYLOADS_OPTION },
  run: async ({ operands: [written], values, terminal }) =>
    operating(values, terminal, async (operated) => {
      const { sagas, running } = operated;
      const target = readTarget(written!, operated);
      const found = await sagas.get(target);
      const saga = await redacted(found, operated);
      const { payloads } = values;
      const done = await sagas.history(target);
      const history = payloads ? await seenHistory(done, found, operated) : done.map(withoutGiven);
      if (values.json) {
        const whole = { ...(payloads ? saga : withoutPayloads(saga)), history };
        terminal.out(JSON.stringify(whole, undefined, 2));
        return EXIT.done;
      }
      const options = { paint: paintOn(terminal), now: running.engine.now(), payloads };
      terminal.out(pageOf(saga, history, options).join('\n'));
      return EXIT.done;
    }),
});

/** What operators did, as it may be seen. */
export async function seenHistory(
  history: readonly HistoryEntry[],
  { saga, version }: SagaSnapshot,
  { running }: OperatorSession,
): Promise<HistoryEntry[]> {
  const { redactedHistory } = await import('../../admin/redact-saga.js');
  const graphs = running.registry.all.map(({ graph }) => graph);
  const graph = graphs.find((one) => one.name === saga && one.version === version);
  return redactedHistory(history, graph, (name) => graphs.filter((one) => one.name === name));
}

/** As it may be seen; of a saga of which nothing is stored no payloads are, for what of them is secret is not known. */
async function redacted(saga: SagaSnapshot, { running }: OperatorSession): Promise<SagaSnapshot> {
  const { redactedSnapshot } = await import('../../admin/redact-saga.js');
  const graphs = running.registry.all.map(({ graph }) => graph);
  const graph = graphs.find(({ name, version }) => name === saga.saga && version === saga.version);
  return redactedSnapshot(saga, graph, (name) => graphs.filter((one) => one.name === name));
}
