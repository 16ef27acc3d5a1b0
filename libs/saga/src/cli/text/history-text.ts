import type { HistoryEntry } from '../../nest/views/saga-history.js';
import type { TimelineEntry } from './timeline.js';
import { oneLine } from './format.js';

const DONE: Record<HistoryEntry['action'], string> = {
  cancel: 'cancelled',
  abort: 'aborted',
  undo: 'undone',
  retry: 'retried',
  skip: 'skipped',
  pause: 'paused',
  resume: 'resumed',
  approve: 'approved',
  reject: 'rejected',
  signal: 'sent the signal',
};

/** What people did, for a saga's timeline. */
export function entriesOfHistory(history: readonly HistoryEntry[]): TimelineEntry[] {
  return history.map((entry) => ({ at: entry.at, text: textOf(entry), kind: 'person' }));
}

/** `cancelled by ann, while running: the customer called` */
export function textOf(entry: HistoryEntry): string {
  const { action, by, reason, step, signal, from, proposed, newInput } = entry;
  const given = entry.input ?? entry.result;
  const what = proposed ? `${action} proposed` : DONE[action];
  return [
    step === undefined ? '' : `${step} `,
    what,
    signal === undefined ? '' : ` '${signal}'`,
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
