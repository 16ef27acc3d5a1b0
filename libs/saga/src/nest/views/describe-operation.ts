import { oneLine } from '../../shared/one-line.js';
import type { HistoryEntry } from './saga-history.js';

const DONE: Record<HistoryEntry['action'], string> = {
  cancel: 'cancelled',
  abort: 'aborted',
  undo: 'undone',
  retry: 'retried',
  skip: 'skipped',
  complete: 'completed',
  abandonAttempt: 'abandoned',
  reschedule: 'rescheduled',
  pause: 'paused',
  resume: 'resumed',
  approve: 'approved',
  reject: 'rejected',
  signal: 'sent the signal',
  'put-back': 'put back',
};

/** An operator action in words: `cancelled by ann, while running: the customer called`. */
export function describeOperation(entry: HistoryEntry): string {
  const { action, by, reason, step, signal, from, proposed, newInput, to } = entry;
  const given = entry.input ?? entry.result;
  const what = proposed ? `${action} proposed` : DONE[action];
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
