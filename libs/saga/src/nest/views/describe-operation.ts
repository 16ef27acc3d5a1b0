import { factsOf } from '../../engine/ports/call-table.js';
import { oneLine } from '../../shared/one-line.js';
import type { HistoryEntry } from './saga-history.js';

/** An operator action in words: `cancelled by ann, while running: the customer called`. */
export function describeOperation(entry: HistoryEntry): string {
  const { action, by, reason, step, signal, from, proposed, newInput, to } = entry;
  const given = entry.input ?? entry.result;
  const done = action === 'put-back' ? 'put back' : factsOf(action).done;
  const what = proposed ? `${action} proposed` : done;
  return [
    step === undefined ? '' : `${step} `,
    what,
    signal === undefined ? '' : ` '${signal}'`,
    to === undefined ? '' : ` to ${to}`,
    newInput ? ' with another input' : '',
    given === undefined ? '' : `${newInput ? '' : ' with the result'} ${oneLine(JSON.stringify(given))}`,
    by === undefined ? '' : ` by ${by}`,
    from === undefined ? '' : `, while ${from}`,
    reason ? `: ${oneLine(reason)}` : '',
  ].join('');
}

/** Without what the call was given, which may be secret. */
export function withoutGiven({ input: _, result: __, ...entry }: HistoryEntry): HistoryEntry {
  return entry;
}
